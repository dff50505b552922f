/* What the handlers of views, reductions, products and joins share: see families.h. */
#include "families.h"

Families families;

static PyObject *name_recording;
static PyObject *name_inference;

bool
has_history(TensorObject *tensor)
{
    if (is_set(tensor->edge)) {
        return true;
    }
    if (!is_set(tensor->meta)) {
        return false;
    }
    if (!Py_IS_TYPE(tensor->meta, &MetaType)) {
        return true;
    }
    MetaObject *meta = (MetaObject *)tensor->meta;
    if (meta->requires_grad != Py_False) {
        return true;
    }
    if (!is_set(meta->view_base)) {
        return false;
    }
    if (!PyObject_TypeCheck(meta->view_base, &StorageType)) {
        return true;
    }
    TensorObject *base = as_tensor(meta->view_base);
    if (is_set(base->edge)) {
        return true;
    }
    if (!is_set(base->meta)) {
        return false;
    }
    return !Py_IS_TYPE(base->meta, &MetaType) || ((MetaObject *)base->meta)->requires_grad != Py_False;
}

/* Whether a field of a State is true: 1 or 0, -1 for what is neither, without an exception. */
static int
field_of(PyObject *state, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(state, name);
    if (value == NULL) {
        PyErr_Clear();
        return -1;
    }
    int found = value == Py_True ? 1 : value == Py_False ? 0 : -1;
    Py_DECREF(value);
    return found;
}

int
recording(void)
{
    PyObject *state;
    if (PyContextVar_Get(provided.state, NULL, &state) < 0 || state == NULL) {
        PyErr_Clear();
        return -1;
    }
    int found = 1;
    if (state != provided.clear) {
        found = field_of(state, name_recording);
        /* Results in inference mode are marked. */
        if (found == 0 && field_of(state, name_inference) != 0) {
            found = -1;
        }
    }
    Py_DECREF(state);
    return found;
}

void
set_recording(Recording *recording, PyObject *make)
{
    recording->make = make == Py_None ? NULL : Py_NewRef(make);
    recording->recorder = NULL;
}

void
clear_recording(Recording *recording)
{
    Py_CLEAR(recording->make);
    Py_CLEAR(recording->recorder);
}

Result
result_of(const Recording *recorded, PyObject *tensor, Result answer)
{
    if (answer == LEFT || !is_tracked(as_tensor(tensor)) || !has_history(as_tensor(tensor))) {
        return answer;
    }
    int now = recording();
    return now == 0 ? answer : now == 1 && recorded->make != NULL ? RECORDED : LEFT;
}

PyObject *
recorder_of(Recording *recording)
{
    if (recording->recorder == NULL) {
        PyObject *recorder = PyObject_CallNoArgs(recording->make);
        if (recorder == NULL) {
            return NULL;
        }
        Py_XSETREF(recording->recorder, recorder);
    }
    return recording->recorder;
}

PyObject *
finish(Recording *recording, Result how, PyArrayObject *array, PyObject *const *parameters, Py_ssize_t count)
{
    if (how == UNRECORDED || array == NULL) {
        return new_tensor((PyObject *)array);
    }
    PyObject *recorder = recorder_of(recording);
    PyObject *result = NULL;
    if (recorder != NULL) {
        result = record_result(recorder, provided.tensor, (PyObject *)array, parameters, count);
    }
    Py_DECREF(array);
    return result;
}

PyObject *
new_counter(void)
{
    PyObject *zero = PyLong_FromLong(0), *counter = zero == NULL ? NULL : PyList_New(1);
    if (counter == NULL) {
        Py_XDECREF(zero);
        return NULL;
    }
    PyList_SET_ITEM(counter, 0, zero);
    PyObject_GC_UnTrack(counter); /* It holds integers alone: Note [Nodes at rest] in node.c. */
    return counter;
}

bool
find_loop(PyUFuncObject *ufunc, int in, int out, Loop *loop)
{
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        bool found = types[ufunc->nin] == out;
        for (int j = 0; j < ufunc->nin && found; j++) {
            found = types[j] == in;
        }
        if (found) {
            loop->run = ufunc->functions[i];
            loop->data = ufunc->data == NULL ? NULL : ((void **)ufunc->data)[i];
            return true;
        }
    }
    return false;
}

PyUFuncObject *
as_ufunc(PyObject *value, int operands)
{
    if (!PyObject_TypeCheck(value, &PyUFunc_Type)) {
        PyErr_Format(PyExc_TypeError, "expected a ufunc, not %.200s", Py_TYPE(value)->tp_name);
        return NULL;
    }
    PyUFuncObject *ufunc = (PyUFuncObject *)value;
    if (ufunc->nin != operands || ufunc->nout != 1) {
        PyErr_Format(PyExc_TypeError, "expected a ufunc of %d operands and one result", operands);
        return NULL;
    }
    return ufunc;
}

/* provide_families(size=, under_no_grad=): takes what C needs of the Python side. */
static PyObject *
provide_families(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"size", "under_no_grad", NULL};
    Families given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$O!U:provide_families", names, &PyType_Type, &given.size,
                                     &given.under_no_grad)) {
        return NULL;
    }
    /* They live as long as the process: the module cannot be unloaded. */
    Py_INCREF(given.size);
    Py_INCREF(given.under_no_grad);
    families = given;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"provide_families", (PyCFunction)(void (*)(void))provide_families, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL},
};

int
add_families(PyObject *module)
{
    name_recording = PyUnicode_InternFromString("recording");
    name_inference = PyUnicode_InternFromString("inference");
    if (name_recording == NULL || name_inference == NULL || PyModule_AddFunctions(module, methods) < 0) {
        return -1;
    }
    return 0;
}
