/* What the headers of C++ ask the native core directly, where it is used: the one declaration for both, in C.
 *
 * Note [The core's table]
 * The module of the core has a capsule `_C_API` with a table of functions. Extensions look for it when they are first
 * used, not when they are compiled, so that one binary works with the core and without. Whatever it does not answer, and
 * all of it in pure mode, is asked of Python as before. A table of another version is one that is not there: the number
 * changes with the members of the table and with what they mean.
 */
#ifndef TENSORLIKE_CORE_API_H
#define TENSORLIKE_CORE_API_H

#include <Python.h>
#include <stdint.h>

#define TENSORLIKE_CORE_API_VERSION 1
#define TENSORLIKE_CORE_API_NAME "tensorlike._native.core._C_API"

/* With what the elements of a new tensor are filled. */
enum { TENSORLIKE_UNFILLED, TENSORLIKE_ZEROS, TENSORLIKE_ONES };

/* The caller holds the lock of the interpreter. Tensors are objects of any type: what is no plain tensor, or may be seen
 * by a mode, is left to Python, by -1 and by NULL without an exception. */
typedef struct {
    int64_t version;

    /* Whether an object is a plain tensor that no mode of this thread sees: 1 or 0. */
    int (*is_plain)(PyObject *object);
    /* The properties of these names: 1, 0 or -1. */
    int (*requires_grad)(PyObject *tensor);
    int (*is_leaf)(PyObject *tensor);
    /* `_version`, or -1. */
    int64_t (*version_of)(PyObject *tensor);
    /* `grad`: a new reference, which may be None, or NULL. */
    PyObject *(*gradient)(PyObject *tensor);

    /* Return a new plain tensor on the CPU in C order, as the factories of Python do. `type` is a type number of NumPy
     * below NPY_OBJECT. NULL with an exception where there is no memory. */
    PyObject *(*make)(int type, int dimensions, const int64_t *sizes, int filling);
    /* Return a plain tensor on memory that is not ours, which lives as long as `owner`, as `library.cpp.from_blob` does;
     * strides are in elements. */
    PyObject *(*on_memory)(void *memory, int type, int dimensions, const int64_t *sizes, const int64_t *strides,
                           PyObject *owner);
} TensorlikeCore;

#endif
