/* What the files of the native core share.
 *
 * Note [Leaving a call to Python]
 * Every rule of a call is written in Python. A handler in C answers the calls that it knows and returns LEFT_TO_PYTHON
 * for every other one, before it has changed anything; the Python function behind it then runs as if there were no C.
 */
#ifndef TENSORLIKE_NATIVE_H
#define TENSORLIKE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_ARRAY_UNIQUE_SYMBOL tensorlike_native_array_api
#define PY_UFUNC_UNIQUE_SYMBOL tensorlike_native_ufunc_api
#ifndef TENSORLIKE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* ---- tensor.c: the state of a tensor, the base of TensorBase in tensorlike/autograd/tensor_base.py */

typedef struct {
    PyObject_HEAD
    PyObject *data;    /* _tl_data: the array */
    PyObject *edge;    /* _tl_edge: (node, number), or None */
    PyObject *counter; /* _tl_counter: a list of one integer, or None */
    PyObject *meta;    /* _tl_meta: an AutogradMeta, or None */
    char tracked;      /* _tl_tracked */
} TensorObject;

extern PyTypeObject StorageType;

/* Return a new plain tensor around an array, whose reference it takes over; NULL with an exception (the reference is
 * gone then, too). `array` may be NULL, for an exception that is passed on. */
PyObject *new_tensor(PyObject *array);
/* The same of a subclass of Tensor. */
PyObject *new_tensor_of(PyTypeObject *type, PyObject *array);

/* ---- module.c: objects of the Python side, given once by `core.provide(...)`; strong references */

typedef struct {
    PyTypeObject *tensor;    /* tensorlike.Tensor */
    PyTypeObject *parameter; /* tensorlike.nn.Parameter: plain as well */
    PyObject *tensors;       /* the set state.TENSORS, empty while a mode is on anywhere: Note [The plain set is the mode flag] */
    PyObject *state;         /* the ContextVar state.STATE */
    PyObject *clear;         /* state.CLEAR: nothing is switched, and calls are recorded */
    PyObject *missing;       /* core.MISSING */
} Provided;

extern Provided provided;

/* Whether a value is a plain tensor, and no mode is on anywhere. */
static inline bool
is_plain_tensor(PyObject *value)
{
    return (Py_TYPE(value) == provided.tensor || Py_TYPE(value) == provided.parameter) && provided.tensors != NULL &&
           PySet_GET_SIZE(provided.tensors) > 0;
}

static inline TensorObject *
as_tensor(PyObject *value)
{
    return (TensorObject *)value;
}

/* ---- function.c: public functions */

typedef struct FunctionObject FunctionObject;

/* Answer a call, with the arguments of a vectorcall: a new reference, NULL with an exception, or LEFT_TO_PYTHON. */
typedef PyObject *(*handler_t)(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

struct FunctionObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python; /* the Python function that answers what C leaves */
    PyObject *dict;
    PyObject *weak_references;
    PyObject *name;
    PyObject *qualname;
    PyObject *module;
    PyObject *doc;
    handler_t handler; /* or NULL */
    void *data;        /* what the handler knows of the operation */
    void (*free_data)(void *data);
    int (*traverse_data)(void *data, visitproc visit, void *arg); /* or NULL */
};

extern PyTypeObject FunctionType;
extern PyObject left_to_python;
#define LEFT_TO_PYTHON (&left_to_python)

/* Give a function its handler. Raises TypeError (-1) for what is no function of the core. Takes `data` over, also when
 * it fails. */
int set_handler(PyObject *function, handler_t handler, void *data, void (*free_data)(void *),
                int (*traverse_data)(void *, visitproc, void *));

/* ---- what each file adds to the module; -1 with an exception */

int add_tensor(PyObject *module);
int add_function(PyObject *module);
int add_node(PyObject *module);
int add_record(PyObject *module);
int add_program(PyObject *module);
int add_engine(PyObject *module);

#endif
