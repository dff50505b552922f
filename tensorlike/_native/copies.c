/* The same elements without the history: on the same memory, in a copy, and as a Python number. */
#include "families.h"

/* `detached` in tensor/memory/views.py. */
static PyObject *
handle_detached(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    PyArrayObject *array = count == 1 ? plain_array(args[0]) : NULL;
    if (array == NULL) {
        return LEFT_TO_PYTHON;
    }
    TensorObject *source = as_tensor(args[0]);
    if (is_set(source->meta) &&
        (!Py_IS_TYPE(source->meta, &MetaType) || ((MetaObject *)source->meta)->inference != Py_False)) {
        return LEFT_TO_PYTHON;
    }
    if (!is_set(source->counter)) {
        PyObject *counter = new_counter();
        if (counter == NULL) {
            return NULL;
        }
        Py_XSETREF(source->counter, counter);
    }
    PyObject *result = new_tensor(Py_NewRef((PyObject *)array));
    if (result != NULL) {
        Py_XSETREF(as_tensor(result)->counter, Py_NewRef(source->counter));
    }
    return result;
}

static PyObject *
handle_number(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    PyArrayObject *array = count == 1 ? plain_array(args[0]) : NULL;
    if (array == NULL || PyArray_SIZE(array) != 1 || !PyTypeNum_ISNUMBER(PyArray_TYPE(array))) {
        return LEFT_TO_PYTHON;
    }
    return PyArray_GETITEM(array, PyArray_DATA(array));
}

static PyObject *
handle_copy(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    PyArrayObject *array = count == 1 ? plain_array(args[0]) : NULL;
    if (array == NULL || !is_tidy(array) || PyArray_SIZE(array) == 0 || PyArray_NBYTES(array) > 1 << 16) {
        return LEFT_TO_PYTHON;
    }
    Result how = result_of(self->data, args[0], UNRECORDED);
    if (how == LEFT) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *result = new_array(PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array));
    if (result != NULL) {
        memcpy(PyArray_DATA(result), PyArray_DATA(array), PyArray_NBYTES(array));
    }
    return finish(self->data, how, result, args, 1);
}

static const struct {
    const char *name;
    handler_t handler;
} kinds[] = {
    {"detached", handle_detached},
    {"number", handle_number},
    {"copied", handle_copy},
};

static void
free_copy(void *data)
{
    clear_recording(data);
    PyMem_Free(data);
}

/* attach_copy(function, kind, recording): gives a function the handler of a kind of copy. */
static PyObject *
attach_copy(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *make;
    const char *name;
    if (!PyArg_ParseTuple(args, "OsO:attach_copy", &function, &name, &make)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            Recording *data = PyMem_Calloc(1, sizeof(Recording));
            if (data == NULL) {
                return PyErr_NoMemory();
            }
            set_recording(data, make);
            if (set_handler(function, kinds[i].handler, data, free_copy, NULL) < 0) {
                return NULL;
            }
            Py_RETURN_NONE;
        }
    }
    PyErr_Format(PyExc_ValueError, "there is no kind of copy %R", PyTuple_GET_ITEM(args, 1));
    return NULL;
}

static PyMethodDef methods[] = {
    {"attach_copy", attach_copy, METH_VARARGS, NULL},
    {NULL},
};

int
add_copies(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
