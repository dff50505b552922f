/* What context.c and custom.c share: custom Functions. */
#ifndef TENSORLIKE_CUSTOM_H
#define TENSORLIKE_CUSTOM_H

#include "families.h"

/* The names of attributes that C reads. Those of the node lie in its dict if they are set at all. */
#define NAMES(each)                                                                                                    \
    each(_node_class) each(forward) each(setup_context) each(_tl_function) each(vjp) each(backward) each(recording_as) \
        each(apply_transformed) each(_tl_zeros_maker) each(_tl_checked) each(_tl_dirty) each(_tl_non_differentiable)   \
            each(_tl_saved_for_forward) each(_tl_tensor_hooks) each(_tl_retained) each(_tl_pre_hooks)                  \
                each(_tl_post_hooks)

#define DECLARE(name) PyObject *name;

typedef struct {
    NAMES(DECLARE)
} CustomNames;

extern CustomNames names;

/* What C needs of the Python side, given once by `core.provide_custom(...)`; strong references. */
typedef struct {
    PyObject *setup_context, *no_backward; /* of the class Function: those that nobody has overridden */
    PyObject *finished;                    /* function._finished */
    PyObject *base;                        /* TensorBase */
    PyObject *above;                       /* tensor_base.PROVIDED */
    PyObject *cpu;                         /* the device of NumPy's arrays */
    PyObject *make_zeros; /* what makes zeros beside any plain tensor of NumPy's, once it was asked for */
    PyTypeObject *saved_input, *saved_output;
    /* Where a State, a SavedInput and a SavedOutput have their slots. */
    struct {
        Py_ssize_t observers, off, caller;
    } state;
    struct {
        Py_ssize_t array, counter, version, kind, packed, edge, leaf;
    } input;
    struct {
        Py_ssize_t array, counter, version, kind, packed, number, place;
    } output;
} Custom;

extern Custom custom;

#define MOST_ARGUMENTS 16 /* of calls that need no memory for them */

/* Whether a node has any of several attributes in its dict: 1, 0 or -1 with an exception. */
int has_any(ContextObject *node, PyObject *const *wanted, int count);

/* Return SavedOutput(tensor, number) or, for a negative number, SavedInput(tensor). */
PyObject *saved_of(PyObject *value, Py_ssize_t number);

/* Call a function with `first` and further arguments. */
PyObject *call_with(PyObject *function, PyObject *first, PyObject *const *args, Py_ssize_t count);

/* The handlers of `save_for_backward` and of the property `saved_tensors`. */
PyObject *save_for_backward(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
PyObject *read_saved(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

#endif
