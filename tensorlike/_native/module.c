/* The module tensorlike._native.core: see docs/decisions/0014 and docs/architecture.md. */
#define TENSORLIKE_IMPORTS_NUMPY
#include "native.h"

Provided provided;

/* Return where instances of a type have the slot `name`; -1 with an exception. */
static Py_ssize_t
slot_offset(PyObject *type, const char *name)
{
    PyObject *found = PyObject_GetAttrString(type, name);
    if (found == NULL) {
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        offset = ((PyMemberDescrObject *)found)->d_member->offset;
    }
    else {
        PyErr_Format(PyExc_TypeError, "provide(): %R has no slot '%s'", type, name);
    }
    Py_DECREF(found);
    return offset;
}

/* provide(**objects): takes what C needs of the Python side. */
static PyObject *
provide(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"tensor",  "parameter", "tensors",    "plain",   "state",      "clear",
                            "missing", "ordinary",  "plans",      "prepare", "unanswered", "went_in_circles",
                            "shorten", "files",     "activation", "large",   NULL};
    Provided given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$O!O!O!O!O!OOO!O!OOOOO!O!n:provide", names, &PyType_Type,
                                     &given.tensor, &PyType_Type, &given.parameter, &PySet_Type, &given.tensors,
                                     &PySet_Type, &given.plain, &PyContextVar_Type, &given.state, &given.clear,
                                     &given.missing, &PySet_Type, &given.ordinary, &PyDict_Type, &given.plans,
                                     &given.prepare, &given.unanswered, &given.went_in_circles, &given.shorten,
                                     &PyDict_Type, &given.files, &PyType_Type, &given.activation, &given.large)) {
        return NULL;
    }
    PyObject *state = (PyObject *)Py_TYPE(given.clear);
    const struct {
        PyObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {state, "clear", &given.slots.clear},
        {state, "recording", &given.slots.recording},
        {state, "modes", &given.slots.modes},
        {state, "trace", &given.slots.trace},
        {state, "all_disabled", &given.slots.all_disabled},
        {state, "subclasses_disabled", &given.slots.subclasses_disabled},
        {state, "_without_mode", &given.slots.without_mode},
        {given.activation, "mode", &given.slots.mode},
        {given.activation, "over", &given.slots.over},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) {
        *slots[i].offset = slot_offset(slots[i].type, slots[i].name);
        if (*slots[i].offset < 0) {
            return NULL;
        }
    }
    /* They live as long as the process: the module cannot be unloaded. */
    Py_INCREF(given.tensor);
    Py_INCREF(given.parameter);
    Py_INCREF(given.tensors);
    Py_INCREF(given.plain);
    Py_INCREF(given.state);
    Py_INCREF(given.clear);
    Py_INCREF(given.missing);
    Py_INCREF(given.ordinary);
    Py_INCREF(given.plans);
    Py_INCREF(given.prepare);
    Py_INCREF(given.unanswered);
    Py_INCREF(given.went_in_circles);
    Py_INCREF(given.shorten);
    Py_INCREF(given.files);
    Py_INCREF(given.activation);
    provided = given;
    Py_RETURN_NONE;
}

PyObject *
current_state(void)
{
    PyObject *state;
    if (provided.state == NULL || PyContextVar_Get(provided.state, provided.clear, &state) < 0) {
        PyErr_Clear();
        return NULL;
    }
    if (!Py_IS_TYPE(state, Py_TYPE(provided.clear))) {
        Py_CLEAR(state);
    }
    return state;
}

static bool
state_flag(Py_ssize_t offset)
{
    PyObject *state = current_state();
    bool flag = state != NULL && slot_of(state, offset) == Py_True;
    Py_XDECREF(state);
    return flag;
}

bool
state_is_clear(void)
{
    return state_flag(provided.slots.clear);
}

bool
is_recording(void)
{
    return state_flag(provided.slots.recording);
}

static PyMethodDef methods[] = {
    {"provide", (PyCFunction)(void (*)(void))provide, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL},
};

static int
execute(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    int (*const added[])(PyObject *) = {
        add_build,  add_allocator,  add_tensor,   add_function, add_elementwise, add_dispatch,
        add_node,   add_record,     add_program,  add_engine,   add_meta,        add_families,
        add_views,  add_reductions, add_products, add_joining,  add_copies,      add_context,
        add_custom, add_updates,    add_api,      add_general,
    };
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
        if (added[i](module) < 0) {
            return -1;
        }
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tensorlike._native.core",
    .m_doc = "The native core of tensorlike, which answers plain calls without running Python.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_core(void)
{
    return PyModuleDef_Init(&definition);
}
