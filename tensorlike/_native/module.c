/* The module tensorlike._native.core: see docs/decisions/0014 and docs/architecture.md. */
#define TENSORLIKE_IMPORTS_NUMPY
#include "families.h"

Provided provided;

/* provide(tensor=, parameter=, tensors=, state=, clear=, missing=): takes what C needs of the Python side. */
static PyObject *
provide(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"tensor", "parameter", "tensors", "state", "clear", "missing", NULL};
    Provided given;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$O!O!O!O!OO:provide", names, &PyType_Type, &given.tensor,
                                     &PyType_Type, &given.parameter, &PySet_Type, &given.tensors, &PyContextVar_Type,
                                     &given.state, &given.clear, &given.missing)) {
        return NULL;
    }
    /* They live as long as the process: the module cannot be unloaded. */
    Py_INCREF(given.tensor);
    Py_INCREF(given.parameter);
    Py_INCREF(given.tensors);
    Py_INCREF(given.state);
    Py_INCREF(given.clear);
    Py_INCREF(given.missing);
    provided = given;
    Py_RETURN_NONE;
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
        add_tensor, add_function, add_node, add_record, add_program, add_engine, add_meta, add_families, add_views,
        add_reductions, add_products, add_joining, add_copies,
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
