/* How this module was built: what `python -m tensorlike info` prints, and the loader compares. */
#include "native.h"

/* setup.py defines both; the loader refuses a module that was compiled without them. */
#ifndef TENSORLIKE_VERSION
#define TENSORLIKE_VERSION ""
#endif
#ifndef TENSORLIKE_FINGERPRINT
#define TENSORLIKE_FINGERPRINT ""
#endif

#define AS_TEXT(value) #value
#define VALUE_AS_TEXT(value) AS_TEXT(value)

#if defined(__clang__)
#define COMPILER "Clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#elif defined(_MSC_VER)
#define COMPILER "MSVC " VALUE_AS_TEXT(_MSC_VER)
#else
#define COMPILER "unknown"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED " with sanitizers"
#else
#define SANITIZED ""
#endif

int
add_build(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "version", TENSORLIKE_VERSION) < 0 ||
        PyModule_AddStringConstant(module, "fingerprint", TENSORLIKE_FINGERPRINT) < 0 ||
        PyModule_AddStringConstant(module, "compiler", COMPILER SANITIZED) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "python", PY_VERSION);
}
