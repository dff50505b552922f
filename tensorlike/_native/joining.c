/* Tensors of one dtype put together: chosen by a mask, joined along a dimension or a new one. Only bytes are copied. */
#include "families.h"

/* The most bytes of a result; larger ones are NumPy's. */
#define LARGEST (1 << 16)

typedef struct {
    bool is_new; /* the dimension is a new one */
    Recording recording;
} JoinData;

static void
free_join(void *pointer)
{
    JoinData *data = pointer;
    clear_recording(&data->recording);
    PyMem_Free(data);
}

static bool
same_shape(PyArrayObject *first, PyArrayObject *second)
{
    return PyArray_NDIM(first) == PyArray_NDIM(second) &&
           same_sizes(PyArray_DIMS(first), PyArray_DIMS(second), PyArray_NDIM(first));
}

/* Whether elements are numbers that NumPy itself defines. */
static bool
is_number_type(PyArrayObject *array)
{
    return PyTypeNum_ISBOOL(PyArray_TYPE(array)) || PyTypeNum_ISNUMBER(PyArray_TYPE(array));
}

/* ---- joining */

/* Fill in the shape of the result, and the bytes that lie before and behind a step along the joined dimension. */
static bool
join_shape(const JoinData *data, PyObject *const *tensors, Py_ssize_t number, PyObject *where, npy_intp *shape,
           int *dim, npy_intp *outer, npy_intp *inner, Result *how)
{
    PyArrayObject *first = plain_array(tensors[0]);
    int ndim = first == NULL ? 0 : PyArray_NDIM(first);
    *dim = 0;
    /* Joined images keep the memory format that all of them have. */
    if (first == NULL || !is_number_type(first) || (data->is_new ? ndim >= NPY_MAXDIMS : ndim == 0 || ndim > 3) ||
        (where != NULL && !read_dim(where, ndim + data->is_new, dim))) {
        return false;
    }
    npy_intp steps = 0, item = PyArray_ITEMSIZE(first);
    *outer = 1;
    *inner = item;
    for (Py_ssize_t i = 0; i < number; i++) {
        PyArrayObject *array = plain_array(tensors[i]);
        if (array == NULL || PyArray_DESCR(array) != PyArray_DESCR(first) || !is_tidy(array) ||
            PyArray_NDIM(array) != ndim || PyArray_SIZE(array) == 0) {
            return false;
        }
        *how = result_of(&data->recording, tensors[i], *how);
        for (int d = 0; d < ndim; d++) {
            if ((data->is_new || d != *dim) && PyArray_DIM(array, d) != PyArray_DIM(first, d)) {
                return false;
            }
        }
        steps += data->is_new ? 1 : PyArray_DIM(array, *dim);
    }
    for (int d = 0; d < ndim; d++) {
        npy_intp n = PyArray_DIM(first, d);
        shape[d + (data->is_new && d >= *dim)] = n;
        if (d < *dim) {
            *outer *= n;
        }
        else if (data->is_new || d > *dim) {
            *inner *= n;
        }
    }
    shape[*dim] = steps;
    return *how != LEFT && *inner <= LARGEST / *outer / steps;
}

/* Return the tensor of a result with its node, which the Python function makes that records sequences of operands. */
static PyObject *
record_join(JoinData *data, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    PyObject *recorder = recorder_of(&data->recording), *result = NULL;
    PyObject *dim = count < 2 ? PyLong_FromLong(0) : Py_NewRef(args[1]);
    if (recorder != NULL && dim != NULL) {
        PyObject *given[] = {(PyObject *)array, args[0], dim};
        result = PyObject_Vectorcall(recorder, given, 3, NULL);
    }
    Py_XDECREF(dim);
    Py_DECREF(array);
    return result;
}

static PyObject *
handle_join(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    JoinData *data = self->data;
    Result how = UNRECORDED;
    if (count < 1 || count > 2 || (!PyList_CheckExact(args[0]) && !PyTuple_CheckExact(args[0]))) {
        return LEFT_TO_PYTHON;
    }
    Py_ssize_t number = PySequence_Fast_GET_SIZE(args[0]);
    PyObject **tensors = PySequence_Fast_ITEMS(args[0]), *where = count < 2 ? NULL : args[1];
    npy_intp shape[NPY_MAXDIMS], outer, inner;
    int dim;
    if (number == 0 || !join_shape(data, tensors, number, where, shape, &dim, &outer, &inner, &how)) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *first = (PyArrayObject *)as_tensor(tensors[0])->data;
    PyArrayObject *result = new_array(PyArray_DESCR(first), PyArray_NDIM(first) + data->is_new, shape);
    if (result == NULL) {
        return NULL;
    }
    char *to = PyArray_DATA(result);
    for (npy_intp i = 0; i < outer; i++) {
        for (Py_ssize_t k = 0; k < number; k++) {
            PyArrayObject *array = (PyArrayObject *)as_tensor(tensors[k])->data;
            npy_intp bytes = data->is_new ? inner : inner * PyArray_DIM(array, dim);
            memcpy(to, PyArray_BYTES(array) + i * bytes, bytes);
            to += bytes;
        }
    }
    return how == RECORDED ? record_join(data, result, args, count) : new_tensor((PyObject *)result);
}

/* ---- choosing */

/* A value to choose: the elements of an array, or one number over and over. */
typedef struct {
    const char *data;
    npy_intp stride;
    npy_double number;
    npy_float single;
} Source;

/* Read an array of the shape of `mask`, or without dimensions; a float becomes a number of the dtype of `like`. */
static bool
read_source(Source *source, PyObject *value, PyArrayObject *mask, PyArrayObject *like, const Recording *recording,
            Result *how)
{
    if (PyFloat_CheckExact(value) && like != NULL && PyArray_TYPE(like) == NPY_DOUBLE) {
        source->number = PyFloat_AS_DOUBLE(value);
        source->data = (const char *)&source->number;
        source->stride = 0;
        return true;
    }
    if (PyFloat_CheckExact(value) && like != NULL && PyArray_TYPE(like) == NPY_FLOAT) {
        source->single = (npy_float)PyFloat_AS_DOUBLE(value);
        source->data = (const char *)&source->single;
        source->stride = 0;
        return true;
    }
    PyArrayObject *array = plain_array(value);
    if (array == NULL || (like != NULL && PyArray_DESCR(array) != PyArray_DESCR(like)) || !is_tidy(array)) {
        return false;
    }
    *how = result_of(recording, value, *how);
    source->data = PyArray_DATA(array);
    source->stride = PyArray_NDIM(array) == 0 ? 0 : PyArray_ITEMSIZE(array);
    return PyArray_NDIM(array) == 0 || same_shape(array, mask);
}

static PyObject *
handle_choice(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    if (count != 3) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *mask = plain_array(args[0]), *like = plain_array(args[1]);
    Recording *recording = self->data;
    Result how = UNRECORDED;
    Source first, second;
    if (mask == NULL || like == NULL || PyArray_TYPE(mask) != NPY_BOOL || !is_tidy(mask) || !is_number_type(like) ||
        PyArray_SIZE(mask) == 0 || PyArray_SIZE(mask) > LARGEST / PyArray_ITEMSIZE(like) ||
        !read_source(&first, args[1], mask, NULL, recording, &how) ||
        !read_source(&second, args[2], mask, like, recording, &how) || how == LEFT) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *result = new_array(PyArray_DESCR(like), PyArray_NDIM(mask), PyArray_DIMS(mask));
    if (result == NULL) {
        return NULL;
    }
    const npy_bool *chosen = PyArray_DATA(mask);
    npy_intp size = PyArray_SIZE(mask), item = PyArray_ITEMSIZE(like);
    char *to = PyArray_DATA(result);
    for (npy_intp i = 0; i < size; i++, to += item) {
        const char *from = chosen[i] ? first.data + i * first.stride : second.data + i * second.stride;
        switch (item) {
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        default: memcpy(to, from, item);
        }
    }
    return finish(recording, how, result, args, 3);
}

/* ---- attaching */

/* attach_join(function, is_new, recording): gives a function the handler that joins a sequence of tensors along a
 * dimension, or a new one. */
static PyObject *
attach_join(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *recording;
    int is_new;
    if (!PyArg_ParseTuple(args, "OpO:attach_join", &function, &is_new, &recording)) {
        return NULL;
    }
    JoinData *data = PyMem_Calloc(1, sizeof(JoinData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    set_recording(&data->recording, recording);
    data->is_new = is_new;
    if (set_handler(function, handle_join, data, free_join, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static void
free_choice(void *data)
{
    clear_recording(data);
    PyMem_Free(data);
}

/* attach_choice(function, recording): gives a function the handler that chooses elements of two operands by a mask. */
static PyObject *
attach_choice(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *make;
    if (!PyArg_ParseTuple(args, "OO:attach_choice", &function, &make)) {
        return NULL;
    }
    Recording *data = PyMem_Calloc(1, sizeof(Recording));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    set_recording(data, make);
    if (set_handler(function, handle_choice, data, free_choice, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach_join", attach_join, METH_VARARGS, NULL},
    {"attach_choice", attach_choice, METH_VARARGS, NULL},
    {NULL},
};

int
add_joining(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
