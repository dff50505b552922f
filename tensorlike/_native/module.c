/* The module tensorlike._native.core: see docs/decisions/0014 and docs/architecture.md. */
#define TENSORLIKE_IMPORTS_NUMPY
#include "native.h"

static int
execute(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    (void)module;
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
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_core(void)
{
    return PyModuleDef_Init(&definition);
}
