/* What the files of the native core share. */
#ifndef TENSORLIKE_NATIVE_H
#define TENSORLIKE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_ARRAY_UNIQUE_SYMBOL tensorlike_native_array_api
#define PY_UFUNC_UNIQUE_SYMBOL tensorlike_native_ufunc_api
#ifndef TENSORLIKE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>


#endif
