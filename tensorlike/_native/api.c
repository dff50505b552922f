/* The table of functions that C++ extensions call: Note [The core's table] in include/tensorlike/core_api.h. */
#include "families.h"
#include "../include/tensorlike/core_api.h"

/* Larger ones are filled by Python, which has memory that is zeros already, and threads. */
#define MOST_FILLED ((npy_intp)1 << 16)

static int
is_plain(PyObject *object)
{
    return !is_paused() && is_plain_tensor(object);
}

/* Whether a tensor is a view, or C cannot tell. */
static bool
may_be_view(TensorObject *tensor)
{
    return is_set(tensor->meta) &&
           (!Py_IS_TYPE(tensor->meta, &MetaType) || is_set(((MetaObject *)tensor->meta)->view_base));
}

static int
requires_grad(PyObject *tensor)
{
    if (!is_plain(tensor)) {
        return -1;
    }
    return is_tracked(as_tensor(tensor)) && has_history(as_tensor(tensor));
}

static int
is_leaf(PyObject *tensor)
{
    if (!is_plain(tensor)) {
        return -1;
    }
    if (!is_tracked(as_tensor(tensor))) {
        return 1;
    }
    /* The history of a view may have to be made first. */
    return may_be_view(as_tensor(tensor)) ? -1 : !is_set(as_tensor(tensor)->edge);
}

static int64_t
version_of(PyObject *tensor)
{
    if (!is_plain(tensor) || is_inference(as_tensor(tensor))) {
        return -1;
    }
    PyObject *counter = as_tensor(tensor)->counter;
    if (!is_set(counter)) {
        return 0;
    }
    if (!PyList_CheckExact(counter) || PyList_GET_SIZE(counter) == 0) {
        return -1;
    }
    int64_t version = PyLong_AsLongLong(PyList_GET_ITEM(counter, 0));
    if (version < 0) {
        PyErr_Clear();
        return -1;
    }
    return version;
}

static PyObject *
gradient(PyObject *tensor)
{
    if (!is_plain(tensor)) {
        return NULL;
    }
    PyObject *meta = as_tensor(tensor)->meta;
    if (!is_set(meta)) {
        return Py_NewRef(Py_None);
    }
    return Py_IS_TYPE(meta, &MetaType) ? Py_XNewRef(((MetaObject *)meta)->grad_value) : NULL;
}

/* Store the shape of a new array, and its number of elements: false for what Python has to refuse. */
static bool
read_shape(int type, int dimensions, const int64_t *sizes, npy_intp *shape, npy_intp *count)
{
    if (type < 0 || type >= NPY_OBJECT || dimensions < 0 || dimensions > NPY_MAXDIMS) {
        return false;
    }
    npy_intp room = NPY_MAX_INTP / (npy_intp)sizeof(npy_clongdouble);
    *count = 1;
    for (int i = 0; i < dimensions; i++) {
        if (sizes[i] < 0 || (sizes[i] > 0 && *count > room / sizes[i])) {
            return false;
        }
        shape[i] = (npy_intp)sizes[i];
        *count *= shape[i];
    }
    return true;
}

static PyObject *
make(int type, int dimensions, const int64_t *sizes, int filling)
{
    npy_intp shape[NPY_MAXDIMS], count;
    if (is_paused() || provided.tensors == NULL || !(PySet_GET_SIZE(provided.tensors) > 0 || state_is_clear()) ||
        !read_shape(type, dimensions, sizes, shape, &count)) {
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    if (descr == NULL) {
        return NULL;
    }
    npy_intp bytes = count * PyDataType_ELSIZE(descr);
    if (filling != TENSORLIKE_UNFILLED && bytes > MOST_FILLED) {
        Py_DECREF(descr);
        return NULL;
    }
    PyArrayObject *array = new_result(descr, dimensions, shape, 0);
    if (array == NULL) {
        return NULL;
    }
    if (filling == TENSORLIKE_ZEROS) {
        memset(PyArray_DATA(array), 0, (size_t)bytes);
    }
    else if (filling == TENSORLIKE_ONES && PyArray_FillWithScalar(array, Py_True) < 0) {
        Py_CLEAR(array);
    }
    return new_tensor((PyObject *)array);
}

static PyObject *
on_memory(void *memory, int type, int dimensions, const int64_t *sizes, const int64_t *strides, PyObject *owner)
{
    npy_intp shape[NPY_MAXDIMS], steps[NPY_MAXDIMS], count;
    if (is_paused() || provided.tensor == NULL || memory == NULL ||
        !read_shape(type, dimensions, sizes, shape, &count) || count == 0) {
        return NULL;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    if (descr == NULL) {
        return NULL;
    }
    npy_intp item = PyDataType_ELSIZE(descr);
    for (int i = 0; i < dimensions; i++) {
        if (strides[i] < 0 || strides[i] > NPY_MAX_INTP / item) {
            Py_DECREF(descr);
            return NULL;
        }
        steps[i] = (npy_intp)strides[i] * item;
    }
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, dimensions, shape, steps, memory, NPY_ARRAY_WRITEABLE, NULL);
    if (array != NULL && owner != Py_None && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(owner)) < 0) {
        Py_CLEAR(array);
    }
    return new_tensor(array);
}

static const TensorlikeCore table = {
    .version = TENSORLIKE_CORE_API_VERSION,
    .is_plain = is_plain,
    .requires_grad = requires_grad,
    .is_leaf = is_leaf,
    .version_of = version_of,
    .gradient = gradient,
    .make = make,
    .on_memory = on_memory,
};

int
add_api(PyObject *module)
{
    PyObject *capsule = PyCapsule_New((void *)&table, TENSORLIKE_CORE_API_NAME, NULL);
    int added = capsule == NULL ? -1 : PyModule_AddObjectRef(module, "_C_API", capsule);
    Py_XDECREF(capsule);
    return added;
}
