/* The type of public functions: a call goes to a handler in C, then to dispatch in C, and to the Python function where
 * both leave it.
 *
 * Note [One function, two objects]
 * A public function is an object of this type around the Python function that answers what C leaves. Names, signature
 * and attributes are those of the Python function, and the dict is the same object, so that the two never differ.
 *
 * Note [Handlers are found at the first call]
 * A library of thousands of public functions must not pay for the handlers of all of them at import. So a new function
 * has a handler that asks the Python side once, with `provided.prepare`, which sets the handler, the dispatch data and
 * the recorder of this function, or none of them.
 *
 * Note [Keywords become places]
 * Handlers know places, not names. In front of them a call with keywords takes the form of a call by position, by
 * the description that Python binds by, `Form.parameters`: keywords go to the places of their names, NumPy's among
 * them, gaps get the defaults, and parameters that are keywords alone stand behind the others. What has its default at
 * the end is as if it had not been passed. So `add(a, b, alpha=2)` has three places, which no call by position has: one
 * with more arguments than there may be is Python's, as is one with a name that is not known, or twice. Types and modes
 * see `args` and `kwargs` as they were passed, for dispatch gets the call as it was.
 */
#include "native.h"

PyObject left_to_python; /* Only its address is used. */

/* While it is not 0 every call is left to Python, for tools that watch Python's frames. */
static int paused;

bool
is_paused(void)
{
    return paused > 0;
}

/* Whether an error comes out of code that is not the library's, as far as `tracebacks.FILES` knows its file. */
static bool
is_of_others(PyObject *traceback)
{
    PyCodeObject *code = PyFrame_GetCode(((PyTracebackObject *)traceback)->tb_frame);
    PyObject *kind = PyDict_GetItemWithError(provided.files, code->co_filename);
    Py_DECREF(code);
    return kind != NULL && PyObject_Not(kind) == 1;
}

/* Take the library's frames out of the traceback of the error that is set, and have its message name the function: see
 * Note [Whose frames are shown] and Note [Whose name is in front] in dispatch/tracebacks.py. */
void
shorten_traceback(FunctionObject *self)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    /* What C raised has no frames yet; interrupts and exits keep theirs. */
    if (traceback == NULL || provided.shorten == NULL || !PyErr_GivenExceptionMatches(kind, PyExc_Exception) ||
        is_of_others(traceback)) {
        PyErr_Restore(kind, error, traceback);
        return;
    }
    PyErr_NormalizeException(&kind, &error, &traceback);
    PyException_SetTraceback(error, traceback);
    PyObject *result = PyObject_CallFunctionObjArgs(provided.shorten, error, self->python, NULL);
    Py_DECREF(traceback);
    if (result == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
        Py_DECREF(kind); /* An interrupt takes its place. */
        Py_DECREF(error);
        return;
    }
    PyErr_Clear(); /* The error itself matters more than how it looks. */
    Py_XDECREF(result);
    PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

/* The parameters of a public function, in their order. */
typedef struct Parameters {
    PyObject *names;    /* a tuple of interned strings: aliases too */
    PyObject *defaults; /* a tuple with one of each parameter, MISSING for what must be given */
    int positional;     /* how many of them may be passed by position */
    int spread;         /* the place of the one that takes any number of arguments, or -1 */
    int places[];       /* of the names */
} Parameters;

static void
free_parameters(Parameters *parameters)
{
    if (parameters != NULL) {
        Py_DECREF(parameters->names);
        Py_DECREF(parameters->defaults);
        PyMem_Free(parameters);
    }
}

Py_ssize_t
bind_arguments(const FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
               PyObject **places)
{
    const Parameters *known = self->parameters;
    if (known == NULL || count > known->positional) {
        return -1;
    }
    Py_ssize_t most = PyTuple_GET_SIZE(known->defaults), named = PyTuple_GET_SIZE(known->names);
    for (Py_ssize_t i = 0; i < most; i++) {
        places[i] = i < count ? args[i] : NULL;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); k++) {
        /* Names in a call are interned, as these are: one that is not is left to Python. */
        PyObject *name = PyTuple_GET_ITEM(keywords, k);
        Py_ssize_t i = 0;
        while (i < named && PyTuple_GET_ITEM(known->names, i) != name) {
            i++;
        }
        if (i == named || places[known->places[i]] != NULL) {
            return -1;
        }
        places[known->places[i]] = args[count + k];
    }
    Py_ssize_t last = most;
    while (last > 0 && (places[last - 1] == NULL || places[last - 1] == PyTuple_GET_ITEM(known->defaults, last - 1))) {
        last--;
    }
    if (known->spread >= 0 && last > known->spread) {
        /* Nothing can stand behind any number of arguments; Python makes a tuple of another sequence. */
        if (last > known->spread + 1 || !PyTuple_CheckExact(places[known->spread])) {
            return -1;
        }
    }
    for (Py_ssize_t i = count; i < last; i++) {
        if (places[i] == NULL) {
            places[i] = PyTuple_GET_ITEM(known->defaults, i);
            if (places[i] == provided.missing) {
                return -1;
            }
        }
    }
    return last;
}

/* Apart, since the places would burden the frame of every call. */
Py_NO_INLINE PyObject *
ask_by_name(FunctionObject *self, PyTypeObject *type, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *places[MOST_PARAMETERS];
    count = bind_arguments(self, args, count, keywords, places);
    return count < 0      ? LEFT_TO_PYTHON
           : type == NULL ? self->handler(self, places, count, NULL)
                          : self->inherited(self, type, places, count);
}

static inline PyObject *
ask_handler(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (self->parameters == NULL || keywords == NULL || PyTuple_GET_SIZE(keywords) == 0) {
        return count > self->most ? LEFT_TO_PYTHON : self->handler(self, args, count, keywords);
    }
    return ask_by_name(self, NULL, args, count, keywords);
}

/* Apart, as `ask_by_name` is. Types are asked before general.c, for which a look at the operands is little. */
Py_NO_INLINE static PyObject *
answer_others(FunctionObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (self->dispatched != NULL) {
        PyObject *result = dispatch_call(self, args, PyVectorcall_NARGS(flags), keywords);
        if (result != LEFT_TO_PYTHON) {
            return result;
        }
    }
    if (self->general != NULL) {
        PyObject *result = self->general(self, args, PyVectorcall_NARGS(flags), keywords);
        if (result != LEFT_TO_PYTHON) {
            return result;
        }
    }
    return PyObject_Vectorcall(self->python, args, flags, keywords);
}

static PyObject *
answer(FunctionObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (paused > 0) {
        return PyObject_Vectorcall(self->python, args, flags, keywords);
    }
    if (self->handler != NULL) {
        PyObject *result = ask_handler(self, args, PyVectorcall_NARGS(flags), keywords);
        if (result != LEFT_TO_PYTHON) {
            return result;
        }
    }
    return answer_others(self, args, flags, keywords);
}

static PyObject *
function_vectorcall(FunctionObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    PyObject *result = answer(self, args, flags, keywords);
    if (result == NULL && !self->is_inner) {
        shorten_traceback(self);
    }
    return result;
}

static PyObject *
prepare_and_answer(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (provided.prepare == NULL) {
        return LEFT_TO_PYTHON;
    }
    self->handler = NULL; /* Another thread's calls meanwhile are answered by Python. */
    PyObject *result = PyObject_CallOneArg(provided.prepare, (PyObject *)self);
    if (result == NULL) {
        if (self->handler == NULL) {
            self->handler = prepare_and_answer; /* An interrupt: the next call begins anew. */
        }
        return NULL;
    }
    Py_DECREF(result);
    return self->handler == NULL ? LEFT_TO_PYTHON : ask_handler(self, args, count, keywords);
}

static PyObject *
function_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"python", "inner", NULL};
    PyObject *python;
    int inner = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|p:Function", names, &PyFunction_Type, &python, &inner)) {
        return NULL;
    }
    PyObject *dict = PyObject_GenericGetDict(python, NULL);
    if (dict == NULL) {
        return NULL;
    }
    FunctionObject *self = (FunctionObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(dict);
        return NULL;
    }
    self->vectorcall = (vectorcallfunc)function_vectorcall;
    self->handler = prepare_and_answer;
    self->most = PY_SSIZE_T_MAX;
    self->is_inner = inner;
    self->python = Py_NewRef(python);
    self->dict = dict;
    return (PyObject *)self;
}

static int
function_traverse(FunctionObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->python);
    Py_VISIT(self->dict);
    if (self->parameters != NULL) {
        Py_VISIT(self->parameters->defaults);
    }
    if (self->dispatched != NULL) {
        int stopped = traverse_dispatched(self->dispatched, visit, arg);
        if (stopped != 0) {
            return stopped;
        }
    }
    if (self->general != NULL && self->general_data->traverse != NULL) {
        int stopped = self->general_data->traverse(self->general_data, visit, arg);
        if (stopped != 0) {
            return stopped;
        }
    }
    return self->traverse_data == NULL ? 0 : self->traverse_data(self->data, visit, arg);
}

static void
drop_data(FunctionObject *self)
{
    void *data = self->data;
    void (*free_data)(void *) = self->free_data;
    self->handler = NULL;
    self->inherited = NULL;
    self->data = NULL;
    self->free_data = NULL;
    self->traverse_data = NULL;
    if (free_data != NULL) {
        free_data(data);
    }
}

static void
drop_recorder(FunctionObject *self)
{
    void *data = self->recorder_data;
    void (*free_data)(void *) = self->free_recorder_data;
    self->recorder = NULL;
    self->recorder_data = NULL;
    self->free_recorder_data = NULL;
    if (free_data != NULL) {
        free_data(data);
    }
}

static int
function_clear(FunctionObject *self)
{
    drop_data(self);
    drop_recorder(self);
    if (self->general != NULL) {
        General *general = self->general_data;
        self->general = NULL;
        self->general_data = NULL;
        general->free(general);
    }
    struct Dispatched *dispatched = self->dispatched;
    self->dispatched = NULL;
    free_dispatched(dispatched);
    Parameters *parameters = self->parameters;
    self->parameters = NULL;
    free_parameters(parameters);
    Py_CLEAR(self->dict);
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
    PyObject *name = PyObject_GetAttrString(self->python, "__qualname__");
    if (name == NULL) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("<function %S at %p>", name, self);
    Py_DECREF(name);
    return text;
}

/* Pickled and copied by name, as functions are. */
static PyObject *
function_reduce(FunctionObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(self->python, "__qualname__");
}

/* Attributes of the Python function: the closure is the name. */
static PyObject *
function_attribute(FunctionObject *self, void *name)
{
    return PyObject_GetAttrString(self->python, name);
}

static int
function_set_attribute(FunctionObject *self, PyObject *value, void *name)
{
    return PyObject_SetAttrString(self->python, name, value);
}

/* A docstring that is composed when it is first asked for. */
static PyObject *
function_doc(FunctionObject *self, void *name)
{
    PyObject *doc = function_attribute(self, name);
    if (doc == NULL || !PyCallable_Check(doc)) {
        return doc;
    }
    PyObject *text = PyObject_CallNoArgs(doc);
    Py_DECREF(doc);
    if (text != NULL && function_set_attribute(self, text, name) < 0) {
        Py_CLEAR(text);
    }
    return text;
}

static PyObject *
function_dict(FunctionObject *self, void *Py_UNUSED(name))
{
    return self->dict == NULL ? PyDict_New() : Py_NewRef(self->dict);
}

/* `__wrapped__` of a function that wraps nothing is the Python function behind it, for `inspect` to find the source. */
static PyObject *
function_wrapped(FunctionObject *self, void *name)
{
    PyObject *wrapped = self->dict == NULL ? NULL : PyDict_GetItemString(self->dict, name);
    return Py_NewRef(wrapped == NULL ? self->python : wrapped);
}

static PyMethodDef function_methods[] = {
    {"__reduce__", (PyCFunction)function_reduce, METH_NOARGS, NULL},
    {NULL},
};

static PyMemberDef function_members[] = {
    {"_tl_python", T_OBJECT, offsetof(FunctionObject, python), READONLY, NULL},
    {NULL},
};

#define OF_PYTHON(name) {name, (getter)function_attribute, (setter)function_set_attribute, NULL, name}

static PyGetSetDef function_getset[] = {
    OF_PYTHON("__name__"),
    OF_PYTHON("__qualname__"),
    OF_PYTHON("__module__"),
    {"__doc__", (getter)function_doc, (setter)function_set_attribute, NULL, "__doc__"},
    OF_PYTHON("__annotations__"),
    OF_PYTHON("__defaults__"),
    OF_PYTHON("__kwdefaults__"),
    OF_PYTHON("__code__"),
    OF_PYTHON("__globals__"),
    OF_PYTHON("__builtins__"),
    OF_PYTHON("__closure__"),
#if PY_VERSION_HEX >= 0x030C0000
    OF_PYTHON("__type_params__"),
#endif
    {"__wrapped__", (getter)function_wrapped, (setter)function_set_attribute, NULL, "__wrapped__"},
    {"__dict__", (getter)function_dict, NULL, NULL, NULL},
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

/* Raise TypeError (-1) for what is no function of the core. */
static int
check_function(PyObject *function)
{
    if (Py_IS_TYPE(function, &FunctionType)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "expected a function of the native core, not %.200s", Py_TYPE(function)->tp_name);
    return -1;
}

int
set_handler(PyObject *function, handler_t handler, void *data, void (*free_data)(void *),
            int (*traverse_data)(void *, visitproc, void *))
{
    if (check_function(function) < 0) {
        if (free_data != NULL) {
            free_data(data);
        }
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
set_general(PyObject *function, handler_t handler, General *data)
{
    FunctionObject *self = (FunctionObject *)function;
    int checked = check_function(function);
    if (checked < 0 || self->general != NULL) { /* An interrupt came in the first call, as in `dispatched`. */
        data->free(data);
        return checked;
    }
    self->general_data = data;
    self->general = handler;
    if (self->handler == prepare_and_answer) {
        self->handler = NULL;
    }
    return 0;
}

int
set_recorder(PyObject *function, recorder_t recorder, void *data, void (*free_data)(void *))
{
    if (check_function(function) < 0) {
        free_data(data);
        return -1;
    }
    FunctionObject *self = (FunctionObject *)function;
    drop_recorder(self);
    self->recorder_data = data;
    self->free_recorder_data = free_data;
    self->recorder = recorder;
    return 0;
}

/* binds(function, names, places, defaults, positional, spread): describes the parameters of a function to the core.
 * `places` are those of the names, of which a parameter may have several; `spread` is the place of the parameter that
 * takes any number of arguments, or -1. */
static PyObject *
binds(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *names, *places, *defaults;
    int positional, spread;
    if (!PyArg_ParseTuple(args, "O!O!O!O!ii:binds", &FunctionType, &function, &PyTuple_Type, &names, &PyTuple_Type,
                          &places, &PyTuple_Type, &defaults, &positional, &spread)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(names), most = PyTuple_GET_SIZE(defaults);
    Parameters *known = PyMem_Calloc(1, sizeof(Parameters) + (size_t)count * sizeof(int));
    if (known == NULL) {
        return PyErr_NoMemory();
    }
    known->names = Py_NewRef(names);
    known->defaults = Py_NewRef(defaults);
    known->positional = positional;
    known->spread = spread;
    bool fits = PyTuple_GET_SIZE(places) == count && most <= MOST_PARAMETERS && positional >= 0 && positional <= most &&
                spread < most;
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        Py_ssize_t place = PyNumber_AsSsize_t(PyTuple_GET_ITEM(places, i), NULL);
        known->places[i] = (int)place;
        fits = place >= 0 && place < most;
    }
    FunctionObject *self = (FunctionObject *)function;
    if (!fits || self->parameters != NULL) { /* An interrupt came in the first call, as in `dispatched`. */
        free_parameters(known);
        if (!fits && !PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "binds(): expected a place for each name, of %d at most", MOST_PARAMETERS);
        }
        return fits ? Py_NewRef(Py_None) : NULL;
    }
    self->parameters = known;
    self->most = spread < 0 ? positional : PY_SSIZE_T_MAX;
    Py_RETURN_NONE;
}

static void
end_pause(PyObject *Py_UNUSED(capsule))
{
    paused--;
}

/* pause(): has every call answered by Python as long as the returned object lives, so that no interrupt leaves it so. */
static PyObject *
pause_core(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *capsule = PyCapsule_New(&paused, "pause", end_pause);
    paused += capsule != NULL;
    return capsule;
}

static PyMethodDef module_methods[] = {
    {"binds", binds, METH_VARARGS, NULL},
    {"pause", pause_core, METH_NOARGS, NULL},
    {NULL},
};

int
add_function(PyObject *module)
{
    if (PyModule_AddFunctions(module, module_methods) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &FunctionType);
}
