/* The type of public functions: a call goes to a handler in C, and to the Python function where that leaves it. */
#include "native.h"

PyObject left_to_python; /* Only its address is used. */

static PyObject *
function_vectorcall(FunctionObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (self->handler != NULL) {
        PyObject *result = self->handler(self, args, PyVectorcall_NARGS(flags), keywords);
        if (result != LEFT_TO_PYTHON) {
            return result;
        }
    }
    return PyObject_Vectorcall(self->python, args, flags, keywords);
}

static PyObject *
function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"python", NULL};
    PyObject *python;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Function", names, &python)) {
        return NULL;
    }
    if (!PyCallable_Check(python)) {
        PyErr_Format(PyExc_TypeError, "Function(): argument 'python' must be callable, not %.200s",
                     Py_TYPE(python)->tp_name);
        return NULL;
    }
    FunctionObject *self = (FunctionObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = (vectorcallfunc)function_vectorcall;
    self->python = Py_NewRef(python);
    return (PyObject *)self;
}

static int
function_traverse(FunctionObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->python);
    Py_VISIT(self->dict);
    Py_VISIT(self->name);
    Py_VISIT(self->qualname);
    Py_VISIT(self->module);
    Py_VISIT(self->doc);
    return self->traverse_data == NULL ? 0 : self->traverse_data(self->data, visit, arg);
}

static void
drop_data(FunctionObject *self)
{
    void *data = self->data;
    void (*free_data)(void *) = self->free_data;
    self->handler = NULL;
    self->data = NULL;
    self->free_data = NULL;
    self->traverse_data = NULL;
    if (free_data != NULL) {
        free_data(data);
    }
}

static int
function_clear(FunctionObject *self)
{
    drop_data(self);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->name);
    Py_CLEAR(self->qualname);
    Py_CLEAR(self->module);
    Py_CLEAR(self->doc);
    /* A function may be called while a cycle that it is in is cleared. */
    Py_XSETREF(self->python, Py_NewRef(Py_None));
    return 0;
}

static void
function_dealloc(FunctionObject *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    function_clear(self);
    Py_CLEAR(self->python);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
function_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type))
{
    if (instance == NULL || instance == Py_None) {
        return Py_NewRef(self);
    }
    return PyMethod_New(self, instance);
}

static PyObject *
function_repr(FunctionObject *self)
{
    if (self->qualname == NULL) {
        return PyUnicode_FromFormat("<function of %R>", self->python);
    }
    return PyUnicode_FromFormat("<function %U at %p>", self->qualname, self);
}

/* Pickled and copied by name, as functions are. */
static PyObject *
function_reduce(FunctionObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString((PyObject *)self, "__qualname__");
}

static PyMethodDef function_methods[] = {
    {"__reduce__", (PyCFunction)function_reduce, METH_NOARGS, NULL},
    {NULL},
};

static PyMemberDef function_members[] = {
    {"__name__", T_OBJECT, offsetof(FunctionObject, name), 0, NULL},
    {"__qualname__", T_OBJECT, offsetof(FunctionObject, qualname), 0, NULL},
    {"__module__", T_OBJECT, offsetof(FunctionObject, module), 0, NULL},
    {"__doc__", T_OBJECT, offsetof(FunctionObject, doc), 0, NULL},
    {"_tl_python", T_OBJECT, offsetof(FunctionObject, python), READONLY, NULL},
    {NULL},
};

static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.Function",
    .tp_basicsize = sizeof(FunctionObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = function_new,
    .tp_dealloc = (destructor)function_dealloc,
    .tp_traverse = (traverseproc)function_traverse,
    .tp_clear = (inquiry)function_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(FunctionObject, vectorcall),
    .tp_dictoffset = offsetof(FunctionObject, dict),
    .tp_weaklistoffset = offsetof(FunctionObject, weak_references),
    .tp_descr_get = function_get,
    .tp_repr = (reprfunc)function_repr,
    .tp_methods = function_methods,
    .tp_members = function_members,
    .tp_getset = function_getset,
};

int
set_handler(PyObject *function, handler_t handler, void *data, void (*free_data)(void *),
            int (*traverse_data)(void *, visitproc, void *))
{
    if (!Py_IS_TYPE(function, &FunctionType)) {
        PyErr_Format(PyExc_TypeError, "expected a function of the native core, not %.200s", Py_TYPE(function)->tp_name);
        free_data(data);
        return -1;
    }
    FunctionObject *self = (FunctionObject *)function;
    drop_data(self);
    self->data = data;
    self->free_data = free_data;
    self->traverse_data = traverse_data;
    self->handler = handler;
    return 0;
}

int
add_function(PyObject *module)
{
    return PyModule_AddType(module, &FunctionType);
}
