/* Reductions of small contiguous arrays by a ufunc: over everything, and over one dimension.
 *
 * The inner loop of the ufunc runs as `ufunc.reduce` runs it, in the same order and from the same start, so that every
 * bit is the same. What NumPy adds around it, checking and iterating, takes ten times as long.
 */
#include "families.h"

/* How elements of one dtype are reduced. */
typedef struct {
    PyArray_Descr *dtype; /* of the result, to which elements are cast first; NULL for what is left to Python */
    Loop loop;
    bool has_start;
    char start[sizeof(npy_cdouble)]; /* the identity of the ufunc; without one it is the first element */
} Accumulation;

typedef struct {
    PyObject *ufunc;
    Py_ssize_t parameters;  /* the operand, the dimension, whether it is kept; or the operand alone */
    npy_intp largest;       /* the most elements of an operand */
    npy_intp largest_along; /* the same over a dimension that is not kept */
    bool divides;           /* by the number of elements reduced to one: a mean */
    Recording recording;
    Accumulation by_type[NPY_NTYPES_LEGACY];
} ReductionData;

static void
free_reduction(void *pointer)
{
    ReductionData *data = pointer;
    for (int i = 0; i < NPY_NTYPES_LEGACY; i++) {
        Py_XDECREF(data->by_type[i].dtype);
    }
    clear_recording(&data->recording);
    Py_XDECREF(data->ufunc);
    PyMem_Free(data);
}

/* Reduce the middle of three dimensions of `from` into `to`, both in C order. */
static void
reduce(const Accumulation *how, char *from, char *to, npy_intp outer, npy_intp count, npy_intp inner)
{
    npy_intp item = PyDataType_ELSIZE(how->dtype), row = item * inner;
    npy_intp first = how->has_start ? 0 : 1, rest = count - first;
    for (npy_intp i = 0; i < outer; i++, from += count * row, to += row) {
        if (how->has_start) {
            for (npy_intp j = 0; j < inner; j++) {
                memcpy(to + j * item, how->start, item);
            }
        }
        else {
            memcpy(to, from, row);
        }
        if (inner == 1) {
            char *operands[] = {to, from + first * item, to};
            npy_intp strides[] = {0, item, 0};
            if (rest > 0) {
                how->loop.run(operands, &rest, strides, how->loop.data);
            }
            continue;
        }
        for (npy_intp k = first; k < count; k++) {
            char *operands[] = {to, from + k * row, to};
            npy_intp strides[] = {item, item, item}, size = inner;
            how->loop.run(operands, &size, strides, how->loop.data);
        }
    }
}

static void
divide(PyArrayObject *array, npy_intp count)
{
    npy_intp size = PyArray_SIZE(array);
    if (PyArray_TYPE(array) == NPY_FLOAT) {
        for (npy_float *x = PyArray_DATA(array), *end = x + size; x < end; x++) {
            *x /= (npy_float)count;
        }
    }
    else {
        for (npy_double *x = PyArray_DATA(array), *end = x + size; x < end; x++) {
            *x /= (npy_double)count;
        }
    }
}

static PyObject *
handle_reduction(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    ReductionData *data = self->data;
    if (count < 1 || count > data->parameters) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *array = plain_array(args[0]);
    if (array == NULL || !is_tidy(array) || PyArray_TYPE(array) >= NPY_NTYPES_LEGACY) {
        return LEFT_TO_PYTHON;
    }
    const Accumulation *how = &data->by_type[PyArray_TYPE(array)];
    npy_intp size = PyArray_SIZE(array);
    int ndim = PyArray_NDIM(array), dim = -1;
    bool keeps = count > 2 && args[2] == Py_True;
    if (how->dtype == NULL || size == 0 || size > data->largest || (count > 2 && !PyBool_Check(args[2])) ||
        (count > 1 && (ndim == 0 || !read_dim(args[1], ndim, &dim))) ||
        (dim >= 0 && !keeps && size > data->largest_along)) {
        return LEFT_TO_PYTHON;
    }
    Result how_made = result_of(&data->recording, args[0], UNRECORDED);
    if (how_made == LEFT) {
        return LEFT_TO_PYTHON;
    }
    npy_intp shape[NPY_MAXDIMS], outer = 1, number = size, inner = 1;
    int kept = 0;
    if (dim >= 0) {
        number = PyArray_DIM(array, dim);
        for (int i = 0; i < ndim; i++) {
            npy_intp n = PyArray_DIM(array, i);
            if (i < dim) {
                outer *= n;
            }
            else if (i > dim) {
                inner *= n;
            }
            if (i != dim || keeps) {
                shape[kept++] = i == dim ? 1 : n;
            }
        }
    }
    PyArrayObject *operand = array;
    if (PyArray_DESCR(array) != how->dtype && PyArray_TYPE(array) != how->dtype->type_num) {
        Py_INCREF(how->dtype);
        operand = (PyArrayObject *)PyArray_CastToType(array, how->dtype, 0);
        if (operand == NULL) {
            return NULL;
        }
    }
    else {
        Py_INCREF(operand);
    }
    PyArrayObject *result = new_array(how->dtype, kept, shape);
    if (result != NULL) {
        reduce(how, PyArray_DATA(operand), PyArray_DATA(result), outer, number, inner);
        if (data->divides) {
            divide(result, number);
        }
    }
    Py_DECREF(operand);
    return finish(&data->recording, how_made, result, args, count);
}

/* Fill in how elements of one dtype are reduced to another. */
static int
add_accumulation(ReductionData *data, PyObject *from, PyObject *to, PyObject *identity)
{
    if (!PyArray_DescrCheck(from) || !PyArray_DescrCheck(to)) {
        PyErr_SetString(PyExc_TypeError, "attach_reduction(): argument 'dtypes' must be a dict of dtypes");
        return -1;
    }
    int in = ((PyArray_Descr *)from)->type_num, out = ((PyArray_Descr *)to)->type_num;
    if (in >= NPY_NTYPES_LEGACY || out >= NPY_NTYPES_LEGACY ||
        (data->divides && out != NPY_FLOAT && out != NPY_DOUBLE) ||
        PyDataType_ELSIZE((PyArray_Descr *)to) > (npy_intp)sizeof(npy_cdouble)) {
        PyErr_Format(PyExc_ValueError, "attach_reduction(): %R cannot be reduced to %R", from, to);
        return -1;
    }
    Accumulation *how = &data->by_type[in];
    if (!find_loop((PyUFuncObject *)data->ufunc, out, out, &how->loop)) {
        PyErr_Format(PyExc_ValueError, "attach_reduction(): %R has no loop for %R", data->ufunc, to);
        return -1;
    }
    if (identity != Py_None) {
        Py_INCREF(to);
        int flags = NPY_ARRAY_CARRAY | NPY_ARRAY_FORCECAST;
        PyObject *start = PyArray_FromAny(identity, (PyArray_Descr *)to, 0, 0, flags, NULL);
        if (start == NULL) {
            return -1;
        }
        memcpy(how->start, PyArray_DATA((PyArrayObject *)start), PyDataType_ELSIZE((PyArray_Descr *)to));
        how->has_start = true;
        Py_DECREF(start);
    }
    how->dtype = (PyArray_Descr *)Py_NewRef(to);
    return 0;
}

/* attach_reduction(function, parameters, ufunc, dtypes, largest, largest_along, divides, recording): gives a function
 * the handler of reductions by a ufunc, which reads so many parameters. `dtypes` has the dtype of the result for each
 * dtype of operands. */
static PyObject *
attach_reduction(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *ufunc, *dtypes, *recording;
    Py_ssize_t parameters, largest, largest_along;
    int divides;
    if (!PyArg_ParseTuple(args, "OnOO!nnpO:attach_reduction", &function, &parameters, &ufunc, &PyDict_Type, &dtypes,
                          &largest, &largest_along, &divides, &recording)) {
        return NULL;
    }
    if (as_ufunc(ufunc, 2) == NULL) {
        return NULL;
    }
    ReductionData *data = PyMem_Calloc(1, sizeof(ReductionData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    set_recording(&data->recording, recording);
    data->parameters = parameters;
    data->ufunc = Py_NewRef(ufunc);
    data->largest = largest;
    data->largest_along = largest_along;
    data->divides = divides;
    PyObject *identity = PyObject_GetAttrString(ufunc, "identity");
    PyObject *from, *to;
    Py_ssize_t position = 0;
    bool filled = identity != NULL;
    while (filled && PyDict_Next(dtypes, &position, &from, &to)) {
        filled = add_accumulation(data, from, to, identity) == 0;
    }
    Py_XDECREF(identity);
    if (!filled) {
        free_reduction(data);
        return NULL;
    }
    if (set_handler(function, handle_reduction, data, free_reduction, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach_reduction", attach_reduction, METH_VARARGS, NULL},
    {NULL},
};

int
add_reductions(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
