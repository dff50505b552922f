/* What the handlers of views, reductions, products and joins share.
 *
 * Note [Handlers are kinds]
 * A handler knows a kind of operation, not an operation: which ufunc reduces, which dtypes it takes, up to which size
 * it pays, are data that tensor/native_families.py hands over.
 */
#ifndef TENSORLIKE_FAMILIES_H
#define TENSORLIKE_FAMILIES_H

#include "record.h"

/* ---- meta.c: the state that few tensors have, AutogradMeta in tensorlike/autograd/tensor_base.py */

typedef struct {
    PyObject_HEAD
    PyObject *requires_grad;
    PyObject *view_base;
    PyObject *view_version;
    PyObject *view_refuses;
    PyObject *grad_value;
    PyObject *grad_dtype;
    PyObject *leaf_edge;
    PyObject *hooks;
    PyObject *post_accumulate_hooks;
    PyObject *retains_grad;
    PyObject *inference;
} MetaObject;

extern PyTypeObject MetaType;

MetaObject *new_meta(void);

/* ---- families.c: objects of the Python side, and what all handlers ask */

typedef struct {
    PyTypeObject *size;      /* tensorlike.Size */
    PyObject *under_no_grad; /* the reason why a view made under no_grad refuses in-place operations */
} Families;

extern Families families;

/* Return the array of a plain tensor, borrowed; NULL, without an exception, for anything else. */
static inline PyArrayObject *
plain_array(PyObject *value)
{
    if (!is_plain_tensor(value)) {
        return NULL;
    }
    PyObject *data = as_tensor(value)->data;
    return data != NULL && PyArray_CheckExact(data) ? (PyArrayObject *)data : NULL;
}

/* Whether calls are recorded: 1, 0, or -1 for what C leaves to Python. There is never an exception. */
int recording(void);

/* What makes the tensors and nodes of recorded calls of an operation. */
typedef struct {
    PyObject *make;     /* called at the first recorded call it returns the recorder; NULL where C records nothing */
    PyObject *recorder; /* once it was asked for */
} Recording;

/* Take `make`, a callable without parameters, or None. */
void set_recording(Recording *recording, PyObject *make);
void clear_recording(Recording *recording);

/* How the result of a call with this operand is made. `answer` is that of the operands before it. */
typedef enum { UNRECORDED, RECORDED, LEFT } Result;
Result result_of(const Recording *recording, PyObject *tensor, Result answer);

/* Return the tensor of an array, whose reference it takes over, with its node if it is RECORDED: a new reference, NULL
 * with an exception, or LEFT_TO_PYTHON. `array` may be NULL, for an exception that is passed on. `parameters` are those
 * of the operation; those at the end that have their default need not be there, unless some of the operands come in a
 * sequence. */
PyObject *finish(Recording *recording, Result how, PyArrayObject *array, PyObject *const *parameters, Py_ssize_t count);

/* Return the recorder, borrowed; NULL with an exception. */
PyObject *recorder_of(Recording *recording);

/* Return a new version counter, at zero; NULL with an exception. */
PyObject *new_counter(void);

/* Whether the elements of an array lie one after the other, as the machine reads them. */
static inline bool
is_tidy(PyArrayObject *array)
{
    int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    return (PyArray_FLAGS(array) & wanted) == wanted && PyArray_ISNOTSWAPPED(array);
}

/* Sizes or strides, of which there may be none, and then no memory that `memcpy` could be handed. */
static inline void
copy_sizes(npy_intp *to, const npy_intp *from, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
    }
}

static inline bool
same_sizes(const npy_intp *first, const npy_intp *second, int count)
{
    for (int i = 0; i < count; i++) {
        if (first[i] != second[i]) {
            return false;
        }
    }
    return true;
}

/* Return a new array of the same dtype in C order. */
static inline PyArrayObject *
new_array(PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    Py_INCREF(dtype);
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL, 0, NULL);
}

/* Read an integer that is nothing but an int; false, without an exception, for anything else. */
static inline bool
read_int(PyObject *value, Py_ssize_t *number)
{
    if (!PyLong_CheckExact(value)) {
        return false;
    }
    *number = PyLong_AsSsize_t(value);
    if (*number == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* Read a dimension as a number from 0 on; false for anything else. A tensor without dimensions counts as having one. */
static inline bool
read_dim(PyObject *value, int ndim, int *dim)
{
    Py_ssize_t number, reach = ndim > 0 ? ndim : 1;
    if (!read_int(value, &number) || number < -reach || number >= reach) {
        return false;
    }
    *dim = (int)(number < 0 ? number + reach : number);
    return true;
}

/* The inner loop of a ufunc for operands and a result of given dtypes. */
typedef struct {
    PyUFuncGenericFunction run;
    void *data;
} Loop;

/* Find the loop of a ufunc whose operands have the type number `in`, and its result `out`; false if there is none. */
bool find_loop(PyUFuncObject *ufunc, int in, int out, Loop *loop);

/* Check that an argument is a ufunc with one result; NULL with an exception for anything else. */
PyUFuncObject *as_ufunc(PyObject *value, int operands);

#endif
