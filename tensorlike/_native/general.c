/* The calls of any declaration, and of any function written in Python: what no family of handlers answers.
 *
 * Note [One frame a call]
 * A kernel on arrays, or a function of tensors, is a Python function. What a call does around it is the same for all:
 * look at the arguments, take the arrays of the tensors, promote, run, wrap, record. This is done here by what
 * operations/native_general.py says of the parameters, so that one frame of Python runs: the kernel. A kernel that
 * raises is run again by Python, which knows what to say of the error.
 */
#include "families.h"

/* What may stand at the place of a parameter; other arguments are left to Python. */
typedef enum {
    TENSOR = '1',       /* a plain tensor */
    TENSORS = '*',      /* a list or a tuple of them */
    ONE_OF_MANY = 'V',  /* either, of any number */
    ANY_PLAIN = 'P',    /* a value of a plain type */
    BOOLEAN = 'b',      /* a bool */
    INTEGER = 'i',      /* an int */
    NUMBER = 'n',       /* an int, a float or the default */
    ANY_NUMBER = 'N',   /* a number */
    TEXT = 'w',         /* a string */
    SIZES = 's',        /* a list or a tuple of ints */
    SIZES_OR_ONE = 'S', /* the same, or an int */
    ORDINARY = 'o',     /* anything that no type is asked about */
    ANYTHING = 'a',     /* anything */
    OUT = 'u',          /* None, or the plain tensor or tensors that are written */
} Sort;

typedef struct {
    char sort;
    bool number; /* an int or a float stands for the operand, too */
    bool none;   /* so does None */
    bool loose;  /* an argument that fits may be of a wrong type still */
    PyObject *name, *standard;
} Place;

typedef struct {
    int count, positional, spread;
    Place places[MOST_PARAMETERS];
} Places;

static void
clear_places(Places *places)
{
    for (int i = 0; i < places->count; i++) {
        Py_XDECREF(places->places[i].name);
        Py_XDECREF(places->places[i].standard);
    }
}

static int
traverse_places(const Places *places, visitproc visit, void *arg)
{
    for (int i = 0; i < places->count; i++) {
        Py_VISIT(places->places[i].standard);
    }
    return 0;
}

static bool
is_plain_number(PyObject *value)
{
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value);
}

static bool
is_any_number(PyObject *value)
{
    return is_plain_number(value) || PyBool_Check(value) || PyComplex_CheckExact(value);
}

static bool
are_plain_tensors(PyObject *value)
{
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        if (plain_array(PySequence_Fast_GET_ITEM(value, i)) == NULL) {
            return false;
        }
    }
    return true;
}

static bool
are_sizes(PyObject *value)
{
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value) && Py_TYPE(value) != families.size) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        if (!PyLong_CheckExact(PySequence_Fast_GET_ITEM(value, i))) {
            return false;
        }
    }
    return true;
}

/* Whether an argument is one that C knows how to hand on. */
static bool
fits(const Place *place, PyObject *value)
{
    if (value == Py_None && place->none) {
        return true;
    }
    switch (place->sort) {
    case TENSOR: return place->number && is_any_number(value) ? true : plain_array(value) != NULL;
    case TENSORS: return are_plain_tensors(value);
    case ONE_OF_MANY: return plain_array(value) != NULL || are_plain_tensors(value);
    case ANY_PLAIN: return value == Py_None || is_any_number(value) || is_plain_tensor(value);
    case BOOLEAN: return PyBool_Check(value);
    case INTEGER: return PyLong_CheckExact(value);
    case NUMBER: return is_plain_number(value) || value == place->standard;
    case ANY_NUMBER: return is_any_number(value);
    case TEXT: return PyUnicode_CheckExact(value);
    case SIZES: return are_sizes(value);
    case SIZES_OR_ONE: return PyLong_CheckExact(value) || are_sizes(value);
    case ORDINARY: return is_ordinary(value);
    case ANYTHING: return true;
    case OUT: return value == Py_None || plain_array(value) != NULL || are_plain_tensors(value);
    default: return false;
    }
}

/* Whether no mode is on in any thread. Otherwise calls are Python's, which fills the sets of plain types again where an
 * interrupt has left them empty: `refill_sets` in dispatch/state.py. */
static bool
is_quiet(void)
{
    return provided.plain != NULL && PySet_GET_SIZE(provided.plain) > 0;
}

/* ---- kernels on arrays */

typedef struct {
    General general;
    Places places;
    PyObject *kernel, *namespace, *silent; /* `silent` is the Context that it runs in */
    bool is_ufunc;                         /* it takes no namespace */
    PyObject *promote;                     /* promote(namespace, values) or NULL */
    PyObject *finish;                      /* finish(values, result, tracked): makes the result */
    PyObject *write; /* write(values, arrays, tracked, dtype): answers an in-place call, or NULL */
    PyObject *fit;   /* fit(values): whether all options are of the right types */
    Recording recording;
    int recorded;      /* the number of parameters that the recorder takes, which are the first ones */
    bool records;      /* a result has a history where an operand has one */
    char numbers;      /* beside such operands numbers are cast, 'c', or stay, 's'; else Python brings them together */
    bool keeps_floats; /* operands of one real floating-point dtype need no promotion */
    bool contiguous, plain_result;
    PyTypeObject *packed; /* the type of several results: tuple, or a subclass; NULL where Python makes them */
    bool differentiable;
    bool copies;   /* a call may write the kernel's result as it is */
    bool finishes; /* C makes the result, unless it is written to `out` */
    bool has_out;  /* the last parameter */
    bool random;
    bool elementwise; /* large operands are left to Python, which may use more threads */
    int leading;      /* arguments of the kernel by position, */
    int order[MOST_PARAMETERS];
    int named; /* and by name */
    int options[MOST_PARAMETERS];
} KernelData;

static void
free_kernel(General *general)
{
    KernelData *data = (KernelData *)general;
    clear_places(&data->places);
    clear_recording(&data->recording);
    Py_XDECREF(data->kernel);
    Py_XDECREF(data->namespace);
    Py_XDECREF(data->silent);
    Py_XDECREF(data->promote);
    Py_XDECREF(data->finish);
    Py_XDECREF(data->write);
    Py_XDECREF(data->fit);
    Py_XDECREF(data->packed);
    PyMem_Free(data);
}

/* Leave a call to Python because of an error that Python will find again; NULL for interrupts and exits. */
static PyObject *
left_after_error(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyErr_Clear();
    return LEFT_TO_PYTHON;
}

/* Put the arguments of a call, which has them by place, to the places of the parameters, as new references. Returns how
 * many it filled in, -1 for a call that is Python's. */
static int
place_all(const Places *places, PyObject *const *args, Py_ssize_t count, PyObject **values)
{
    int filled = 0;
    for (int i = 0; i < places->count; i++, filled++) {
        const Place *place = &places->places[i];
        PyObject *value = i < count ? args[i] : place->standard;
        if (i == places->spread) {
            if (count <= i) {
                goto left;
            }
            if (count > i + 1 || PyLong_Check(value)) {
                PyObject *rest = PyTuple_New(count - i);
                for (Py_ssize_t j = i; rest != NULL && j < count; j++) {
                    PyTuple_SET_ITEM(rest, j - i, Py_NewRef(args[j]));
                }
                if (rest == NULL) {
                    PyErr_Clear();
                    goto left;
                }
                values[i] = rest;
                count = i + 1;
                if (!fits(place, rest)) {
                    filled++;
                    goto left;
                }
                continue;
            }
        }
        if (value == provided.missing || !fits(place, value)) {
            goto left;
        }
        values[i] = Py_NewRef(value);
    }
    if (count <= places->count) {
        return filled;
    }
left:
    for (int i = 0; i < filled; i++) {
        Py_DECREF(values[i]);
    }
    return -1;
}

/* Promote the arrays of a call in place: 1, 0 when Python has to, -1 with an exception. */
static int
promote(const KernelData *data, PyObject **given, int count)
{
    PyObject *list = PyList_New(count);
    if (list == NULL) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(given[i]));
    }
    PyObject *args[] = {data->namespace, list};
    PyObject *done = PyObject_Vectorcall(data->promote, args, 2, NULL);
    if (done == NULL || PyList_GET_SIZE(list) != count) {
        Py_XDECREF(done);
        Py_DECREF(list);
        return done != NULL || left_after_error() != NULL ? 0 : -1;
    }
    for (int i = 0; i < count; i++) {
        Py_SETREF(given[i], Py_NewRef(PyList_GET_ITEM(list, i)));
    }
    Py_DECREF(done);
    Py_DECREF(list);
    return 1;
}

/* Run the kernel with floating-point warnings off. `entered` says whether that was possible. */
static PyObject *
run_quietly(const KernelData *data, PyObject *const *given, bool *entered)
{
    PyObject *args[2 * MOST_PARAMETERS + 1], *names = NULL;
    int count = 0, named = 0;
    if (!data->is_ufunc) {
        args[count++] = data->namespace;
    }
    for (int i = 0; i < data->leading; i++) {
        args[count++] = given[data->order[i]];
    }
    int chosen[MOST_PARAMETERS];
    for (int i = 0; i < data->named; i++) {
        /* The kernel has the same defaults. */
        int place = data->options[i];
        if (given[place] != data->places.places[place].standard) {
            args[count + named] = given[place];
            chosen[named++] = place;
        }
    }
    if (named > 0) {
        names = PyTuple_New(named);
        if (names == NULL) {
            return NULL;
        }
        for (int i = 0; i < named; i++) {
            PyTuple_SET_ITEM(names, i, Py_NewRef(data->places.places[chosen[i]].name));
        }
    }
    PyObject *result = NULL;
    *entered = PyContext_Enter(data->silent) == 0; /* Another thread may be in it, which is an error. */
    if (*entered) {
        result = PyObject_Vectorcall(data->kernel, args, (size_t)count, names);
        PyObject *kind, *error, *traceback;
        PyErr_Fetch(&kind, &error, &traceback);
        int left = PyContext_Exit(data->silent);
        if (left < 0) {
            Py_CLEAR(result);
        }
        if (kind != NULL) {
            PyErr_Restore(kind, error, traceback);
        }
    }
    Py_XDECREF(names);
    return result;
}

/* The dtype of the operands if all are arrays of one, and how the result is made of them. */
typedef struct {
    PyArray_Descr *dtype; /* borrowed */
    bool are_alike, tracked;
    bool has_numbers, has_nones; /* ints and floats, and None, among the operands */
    int arrays;                  /* how many operands are arrays */
    npy_intp largest;
    Result how;
} Operands;

static void
read_history(const KernelData *data, PyObject *tensor, Operands *read)
{
    read->tracked = read->tracked || is_tracked(as_tensor(tensor));
    if (data->records) {
        read->how = result_of(&data->recording, tensor, read->how);
    }
}

/* Return the list of the arrays of the tensors in a sequence; NULL with an exception. */
static PyObject *
arrays_of(const KernelData *data, PyObject *sequence, Operands *read)
{
    Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
    PyObject *list = PyList_New(size);
    for (Py_ssize_t i = 0; list != NULL && i < size; i++) {
        PyObject *tensor = PySequence_Fast_GET_ITEM(sequence, i);
        read_history(data, tensor, read);
        PyList_SET_ITEM(list, i, Py_NewRef(as_tensor(tensor)->data));
    }
    return list;
}

/* Take the arrays of the tensors among the values of a call, as new references; -1 with an exception. */
static int
take_arrays(const KernelData *data, PyObject *const *values, PyObject **given, Operands *read)
{
    *read = (Operands){.dtype = NULL, .are_alike = true, .how = UNRECORDED};
    for (int i = 0; i < data->places.count; i++) {
        char sort = data->places.places[i].sort;
        given[i] = Py_NewRef(values[i]);
        if (sort == TENSORS) {
            read->are_alike = false;
            Py_SETREF(given[i], arrays_of(data, values[i], read));
            if (given[i] == NULL) {
                while (i-- > 0) {
                    Py_DECREF(given[i]);
                }
                return -1;
            }
        }
        else if (sort == TENSOR && !is_tensor(values[i])) {
            read->has_nones = read->has_nones || values[i] == Py_None;
            read->has_numbers = read->has_numbers || values[i] != Py_None;
            read->are_alike = read->are_alike && (values[i] == Py_None || is_plain_number(values[i]));
        }
        else if (sort == TENSOR) {
            PyArrayObject *array = (PyArrayObject *)as_tensor(values[i])->data;
            Py_SETREF(given[i], Py_NewRef((PyObject *)array));
            read->are_alike = read->are_alike && (read->dtype == NULL || read->dtype == PyArray_DESCR(array));
            read->dtype = PyArray_DESCR(array);
            read->arrays++;
            read_history(data, values[i], read);
            npy_intp size = PyArray_SIZE(array);
            read->largest = size > read->largest ? size : read->largest;
        }
    }
    return 0;
}

/* Return the result of a kernel as the array of a tensor, taking it over; NULL with an exception. It is contiguous from
 * `least` dimensions on. */
static PyObject *
as_result(const KernelData *data, PyObject *result, int least)
{
    if (!PyArray_CheckExact(result)) {
        if (!PyArray_IsScalar(result, Generic) && !PyFloat_Check(result) && !PyLong_Check(result) &&
            !PyComplex_Check(result)) {
            return result; /* An array of another library. */
        }
        Py_SETREF(result, PyArray_FROM_O(result));
    }
    if (result != NULL && data->contiguous && PyArray_NDIM((PyArrayObject *)result) >= least &&
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)result)) {
        Py_SETREF(result, PyArray_NewCopy((PyArrayObject *)result, NPY_CORDER));
    }
    return result;
}

static PyObject *
tuple_of(PyObject *const *values, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    }
    return tuple;
}

/* Leave a call to Python that failed where Python answers it, if an option is of a wrong type, of which it will tell;
 * NULL with the error that is set otherwise. */
static PyObject *
error_or_left(const KernelData *data, PyObject *const *values)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyObject *tuple = tuple_of(values, data->places.count);
    PyObject *fit = tuple == NULL ? NULL : PyObject_CallOneArg(data->fit, tuple);
    Py_XDECREF(tuple);
    if (fit == Py_False) {
        Py_DECREF(fit);
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return LEFT_TO_PYTHON;
    }
    if (fit == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) { /* An interrupt takes its place. */
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return NULL;
    }
    PyErr_Clear();
    Py_XDECREF(fit);
    PyErr_Restore(kind, error, traceback);
    return NULL;
}

/* Return what Python makes of a result, which is taken over. */
static PyObject *
finish_in_python(const KernelData *data, PyObject *const *values, PyObject *result, bool tracked)
{
    PyObject *tuple = tuple_of(values, data->places.count), *made = NULL;
    if (tuple != NULL) {
        PyObject *args[] = {tuple, result, tracked ? Py_True : Py_False};
        made = PyObject_Vectorcall(data->finish, args, 3, NULL);
        Py_DECREF(tuple);
    }
    Py_DECREF(result);
    return made;
}

/* Answer a call that writes its first operand. */
static PyObject *
write_in_python(const KernelData *data, PyObject *const *values, PyObject *const *given, const Operands *read)
{
    PyObject *tuple = tuple_of(values, data->places.count), *list = PyList_New(data->places.count), *made = NULL;
    if (tuple != NULL && list != NULL) {
        for (int i = 0; i < data->places.count; i++) {
            PyList_SET_ITEM(list, i, Py_NewRef(given[i]));
        }
        bool are_arrays = read->are_alike && !read->has_numbers && !read->has_nones && read->dtype != NULL;
        PyObject *dtype = are_arrays ? (PyObject *)read->dtype : Py_None;
        PyObject *args[] = {tuple, list, read->tracked ? Py_True : Py_False, dtype};
        made = PyObject_Vectorcall(data->write, args, 4, NULL);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(list);
    return made == NULL ? error_or_left(data, values) : made;
}

static PyObject *
record_in_python(KernelData *data, PyObject *result, PyObject *const *values)
{
    PyObject *args[1 + MOST_PARAMETERS] = {result}, *recorder = recorder_of(&data->recording);
    memcpy(args + 1, values, (size_t)data->recorded * sizeof(PyObject *));
    return recorder == NULL ? NULL : PyObject_Vectorcall(recorder, args, (size_t)data->recorded + 1, NULL);
}

/* Make arrays of one floating-point dtype of the numbers among the operands: 1, 0 when Python has to, -1 with an
 * exception. */
static int
cast_numbers(const KernelData *data, PyObject **given, PyArray_Descr *dtype)
{
    for (int i = 0; i < data->places.count; i++) {
        if (data->places.places[i].sort != TENSOR || PyArray_Check(given[i])) {
            continue;
        }
        /* A larger one may overflow, which is no error. */
        if (PyFloat_CheckExact(given[i]) && !(fabs(PyFloat_AS_DOUBLE(given[i])) <= 65504.0)) {
            return 0;
        }
        Py_INCREF(dtype);
        PyObject *array = PyArray_FromAny(given[i], dtype, 0, 0, 0, NULL);
        if (array == NULL) {
            return left_after_error() == NULL ? -1 : 0;
        }
        Py_SETREF(given[i], array);
    }
    return 1;
}

/* Bring the operands to one dtype: 1, 0 when Python has to, -1 with an exception. */
static int
bring_together(const KernelData *data, PyObject **given, const Operands *read)
{
    bool is_floating = read->are_alike && read->dtype != NULL && read->dtype->kind == 'f';
    if (data->promote == NULL) {
        return 1;
    }
    if (data->keeps_floats && is_floating) {
        if (!read->has_numbers && !read->has_nones) {
            return 1;
        }
        if (data->numbers == 's' && read->arrays == 1 && PyArray_Check(given[data->order[0]])) {
            return 1;
        }
        if (data->numbers == 'c' && !read->has_nones) {
            int cast = cast_numbers(data, given, read->dtype);
            if (cast != 0) {
                return cast;
            }
        }
    }
    return promote(data, given, data->places.count);
}

/* Return what the kernel returns; NULL with an exception, or LEFT_TO_PYTHON. */
static PyObject *
compute(const KernelData *data, PyObject *const *values, PyObject **given, const Operands *read)
{
    int together = bring_together(data, given, read);
    if (together <= 0) {
        return together < 0 ? NULL : LEFT_TO_PYTHON;
    }
    bool entered = false;
    PyObject *result = run_quietly(data, given, &entered);
    if (result == NULL) {
        /* Run again, a random kernel would draw again. */
        return entered && data->random ? error_or_left(data, values) : left_after_error();
    }
    return result;
}

/* Return the tensors of several results, which have no history, in their tuple. */
static PyObject *
pack(const KernelData *data, PyObject *results)
{
    PyObject *tensors = PySequence_List(results), *packed = NULL;
    for (Py_ssize_t i = 0; tensors != NULL && i < PyList_GET_SIZE(tensors); i++) {
        PyObject *array = as_result(data, Py_NewRef(PyList_GET_ITEM(tensors, i)), 1);
        if (array != NULL && !PyArray_CheckExact(array)) {
            PyErr_SetString(PyExc_TypeError, "the result of a kernel is no array");
            Py_CLEAR(array);
        }
        PyObject *tensor = new_tensor(array);
        if (tensor == NULL) {
            Py_CLEAR(tensors);
            break;
        }
        PyList_SetItem(tensors, i, tensor);
    }
    PyObject *args = tensors == NULL ? NULL : PyTuple_Pack(1, tensors);
    if (args != NULL) { /* As the `__new__` of a named result does, in Python. */
        packed = PyTuple_Type.tp_new((PyTypeObject *)data->packed, args, NULL);
    }
    Py_XDECREF(args);
    Py_XDECREF(tensors);
    return packed == NULL ? left_after_error() : packed;
}

/* Whether a tensor may be written without a look in Python: `writing` in tensor/declarations/calls.py and `write_out` in
 * runtime.py. */
static bool
may_write(const KernelData *data, PyObject *target, PyObject *const *values, const Operands *read)
{
    PyArrayObject *array = plain_array(target);
    if (array == NULL || !data->copies || !PyArray_ISWRITEABLE(array) || is_inference(as_tensor(target)) ||
        ((read->tracked || is_tracked(as_tensor(target))) && is_recording())) {
        return false;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (PyArray_STRIDE(array, i) == 0 && PyArray_DIM(array, i) > 1) {
            return false;
        }
    }
    PyObject *counter = as_tensor(target)->counter;
    for (int i = 0; i < data->places.count; i++) {
        char sort = data->places.places[i].sort;
        if (sort == TENSORS || (sort == TENSOR && values[i] != target && is_tensor(values[i]) && is_set(counter) &&
                                as_tensor(values[i])->counter == counter)) {
            return false;
        }
    }
    return true;
}

/* Write an array into a tensor of its shape, and return that; LEFT_TO_PYTHON if it has another one or another dtype. */
static PyObject *
write_array(PyObject *target, PyObject *result, bool casts)
{
    PyArrayObject *former = plain_array(target), *array = (PyArrayObject *)result;
    PyObject *made = LEFT_TO_PYTHON;
    int ndim = PyArray_NDIM(array);
    if (former == NULL) { /* Another thread gave the tensor other data while the kernel ran. */
        return LEFT_TO_PYTHON;
    }
    Py_INCREF(former);
    bool fits = PyArray_DESCR(array) == PyArray_DESCR(former) ||
                (casts && PyArray_ISBOOL(array) && PyArray_ISNOTSWAPPED(former));
    if (fits && ndim == PyArray_NDIM(former) && same_sizes(PyArray_DIMS(array), PyArray_DIMS(former), ndim)) {
        bool written = PyArray_CopyInto(former, array) == 0 && count_version(as_tensor(target)) == 0;
        made = written ? Py_NewRef(target) : NULL;
    }
    Py_DECREF(former);
    return made;
}

/* Write what the kernel returned into the first operand, and return that. */
static PyObject *
write_result(const KernelData *data, PyObject *const *values, PyObject *result)
{
    result = as_result(data, result, 2);
    PyObject *made = result == NULL               ? left_after_error()
                     : PyArray_CheckExact(result) ? write_array(values[0], result, true)
                                                  : LEFT_TO_PYTHON;
    Py_XDECREF(result);
    return made;
}

/* Return the tensor, or the tensors, of what the kernel returned. */
static PyObject *
answer_with(KernelData *data, PyObject *const *values, PyObject *result, const Operands *read)
{
    if (data->plain_result) {
        return result;
    }
    bool is_written = data->has_out && values[data->places.count - 1] != Py_None;
    if (data->packed != NULL && !is_written && !(read->tracked && data->differentiable)) {
        PyObject *packed = pack(data, result);
        Py_DECREF(result);
        return packed;
    }
    if (is_written && data->finishes && PyArray_CheckExact(result)) {
        PyObject *out = values[data->places.count - 1];
        PyObject *made = may_write(data, out, values, read) ? write_array(out, result, false) : LEFT_TO_PYTHON;
        if (made != LEFT_TO_PYTHON) {
            Py_DECREF(result);
            return made;
        }
    }
    if (!data->finishes || is_written) {
        result = finish_in_python(data, values, result, read->tracked);
        return result == NULL ? error_or_left(data, values) : result;
    }
    result = as_result(data, result, 2);
    if (result == NULL || !PyArray_CheckExact(result)) {
        Py_XDECREF(result);
        return result == NULL ? left_after_error() : LEFT_TO_PYTHON;
    }
    if (read->how == UNRECORDED) {
        return new_tensor(result);
    }
    PyObject *made = finish(&data->recording, read->how, (PyArrayObject *)Py_NewRef(result), values, data->recorded);
    if (made == LEFT_TO_PYTHON) { /* Only the recording is. */
        made = record_in_python(data, result, values);
    }
    Py_DECREF(result);
    return made == NULL ? error_or_left(data, values) : made;
}

static PyObject *
answer_kernel(KernelData *data, PyObject *const *values, PyObject **given, const Operands *read)
{
    if (read->how == LEFT || (data->elementwise && read->largest >= provided.large)) {
        return LEFT_TO_PYTHON;
    }
    bool in_place = data->write != NULL;
    if (in_place && !may_write(data, values[0], values, read)) {
        return write_in_python(data, values, given, read);
    }
    PyObject *result = compute(data, values, given, read);
    if (result == NULL || result == LEFT_TO_PYTHON) {
        return result;
    }
    return in_place ? write_result(data, values, result) : answer_with(data, values, result, read);
}

static PyObject *
handle_kernel(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    KernelData *data = (KernelData *)self->general_data;
    PyObject *values[MOST_PARAMETERS], *given[MOST_PARAMETERS];
    if (!is_quiet()) {
        return LEFT_TO_PYTHON;
    }
    if (keywords != NULL && PyTuple_GET_SIZE(keywords) > 0) {
        count = bind_arguments(self, args, count, keywords, given);
        args = given;
    }
    else if (count > self->most) {
        count = -1; /* An order that `positional.excess` knows, or an error. */
    }
    int filled = count < 0 ? -1 : place_all(&data->places, args, count, values);
    if (filled < 0) {
        return LEFT_TO_PYTHON;
    }
    Operands read;
    PyObject *result = NULL;
    if (take_arrays(data, values, given, &read) == 0) {
        result = answer_kernel(data, values, given, &read);
        for (int i = 0; i < filled; i++) {
            Py_DECREF(given[i]);
        }
    }
    for (int i = 0; i < filled; i++) {
        Py_DECREF(values[i]);
    }
    return result;
}

/* ---- functions written in Python */

typedef struct {
    General general;
    Places places;
    PyObject *implementation;
    PyObject *explain; /* explain(args, keywords): raises a better error than the one that is handled; or NULL */
} PythonData;

static void
free_python(General *general)
{
    PythonData *data = (PythonData *)general;
    clear_places(&data->places);
    Py_XDECREF(data->implementation);
    Py_XDECREF(data->explain);
    PyMem_Free(data);
}

static int
traverse_python(General *general, visitproc visit, void *arg)
{
    PythonData *data = (PythonData *)general;
    Py_VISIT(data->implementation);
    return traverse_places(&data->places, visit, arg);
}

/* Let Python replace the error that is set by one about a type of the arguments, as `except` would. */
static void
explain_error(const PythonData *data, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    PyObject *given = PyTuple_New(count), *by_name = PyDict_New(), *result = NULL;
    bool filled = given != NULL && by_name != NULL;
    for (Py_ssize_t i = 0; filled && i < count; i++) {
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; filled && keywords != NULL && i < PyTuple_GET_SIZE(keywords); i++) {
        filled = PyDict_SetItem(by_name, PyTuple_GET_ITEM(keywords, i), args[count + i]) == 0;
    }
    if (filled) {
        result = PyObject_CallFunctionObjArgs(data->explain, given, by_name, NULL);
    }
    Py_XDECREF(given);
    Py_XDECREF(by_name);
    if (result != NULL) {
        Py_DECREF(result);
        PyErr_Restore(kind, error, traceback);
        return;
    }
    PyObject *better_kind, *better, *better_traceback;
    PyErr_Fetch(&better_kind, &better, &better_traceback);
    PyErr_NormalizeException(&better_kind, &better, &better_traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyException_SetContext(better, error);
    Py_DECREF(kind);
    Py_XDECREF(traceback);
    PyErr_Restore(better_kind, better, better_traceback);
}

/* Whether the arguments of a call are ones that no type and no mode is asked about, and that need no other look. */
static bool
all_fit(const Places *places, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (!is_quiet() || (count > places->positional && places->spread < 0)) {
        return false;
    }
    bool loose = false, checked = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        const Place *place = &places->places[places->spread >= 0 && i > places->spread ? places->spread : i];
        if (!fits(place, args[i])) {
            return false;
        }
        loose = loose || place->loose;
    }
    for (Py_ssize_t k = 0; keywords != NULL && k < PyTuple_GET_SIZE(keywords); k++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, k);
        int i = 0;
        while (i < places->count && places->places[i].name != name) {
            i++;
        }
        if (i == places->count || !fits(&places->places[i], args[count + k])) {
            return false;
        }
        /* With an operand by name Python checks all options: `operand_check` in declarations/python_forms.py. */
        char sort = places->places[i].sort;
        checked = checked || sort == TENSOR || sort == TENSORS || sort == ANY_PLAIN || sort == ONE_OF_MANY;
        loose = loose || places->places[i].loose;
    }
    return !(loose && checked);
}

static PyObject *
handle_python(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PythonData *data = (PythonData *)self->general_data;
    if (!all_fit(&data->places, args, count, keywords)) {
        return LEFT_TO_PYTHON;
    }
    PyObject *result = PyObject_Vectorcall(data->implementation, args, (size_t)count, keywords);
    if (result == NULL && data->explain != NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        explain_error(data, args, count, keywords);
    }
    return result;
}

/* ---- reading descriptions */

/* Read a tuple of (sort, takes numbers, takes None, is loose, name, default) for each parameter: -1 with an exception. */
static int
read_places(Places *places, PyObject *given, int positional, int spread)
{
    places->positional = positional;
    places->spread = spread;
    if (PyTuple_GET_SIZE(given) > MOST_PARAMETERS || positional > PyTuple_GET_SIZE(given) ||
        spread >= PyTuple_GET_SIZE(given)) {
        PyErr_Format(PyExc_ValueError, "expected %d parameters at most", MOST_PARAMETERS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        Place *place = &places->places[i];
        int sort, number, none, loose;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "CpppUO", &sort, &number, &none, &loose, &place->name,
                              &place->standard)) {
            return -1;
        }
        place->sort = (char)sort;
        place->number = number;
        place->none = none;
        place->loose = loose;
        Py_INCREF(place->name);
        Py_INCREF(place->standard);
        places->count++;
    }
    return 0;
}

/* Read a tuple of places: how many they are, -1 with an exception. */
static int
read_order(const Places *places, PyObject *given, int *order)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
        Py_ssize_t place = PyNumber_AsSsize_t(PyTuple_GET_ITEM(given, i), NULL);
        if (place < 0 || place >= places->count || i >= MOST_PARAMETERS) {
            PyErr_SetString(PyExc_ValueError, "expected places of parameters");
            return -1;
        }
        order[i] = (int)place;
    }
    return (int)PyTuple_GET_SIZE(given);
}

static PyObject *
or_null(PyObject *value)
{
    return value == Py_None ? NULL : Py_NewRef(value);
}

/* attach_kernel(function, places, spread=, kernel=, ...): gives a function the handler of calls that a kernel on arrays
 * answers. See `KernelData`. */
static PyObject *
attach_kernel(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"function", "places",       "spread",     "kernel",       "namespace", "silent",
                            "promote",  "finish",       "write",      "fit",          "packed",    "differentiable",
                            "copies",   "finishes",     "recording",  "recorded",     "records",   "is_ufunc",
                            "numbers",  "keeps_floats", "contiguous", "plain_result", "random",    "elementwise",
                            "order",    "options",      NULL};
    PyObject *function, *places, *kernel, *namespace, *silent, *promoting, *finishing, *writing, *fit, *packed,
        *recording, *order, *options;
    int spread, differentiable, copies, finishes, recorded, records, is_ufunc, numbers, keeps_floats, contiguous,
        plain_result, random, elementwise;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "OO!$iOOO!OOOOOpppOippCpppppO!O!:attach_kernel", names, &function, &PyTuple_Type, &places,
            &spread, &kernel, &namespace, &PyContext_Type, &silent, &promoting, &finishing, &writing, &fit, &packed,
            &differentiable, &copies, &finishes, &recording, &recorded, &records, &is_ufunc, &numbers, &keeps_floats,
            &contiguous, &plain_result, &random, &elementwise, &PyTuple_Type, &order, &PyTuple_Type, &options)) {
        return NULL;
    }
    KernelData *data = PyMem_Calloc(1, sizeof(KernelData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    data->general.free = free_kernel;
    data->kernel = Py_NewRef(kernel);
    data->namespace = Py_NewRef(namespace);
    data->silent = Py_NewRef(silent);
    data->promote = or_null(promoting);
    data->finish = or_null(finishing);
    data->write = or_null(writing);
    data->fit = Py_NewRef(fit);
    data->packed = (PyTypeObject *)or_null(packed);
    data->differentiable = differentiable;
    data->copies = copies;
    data->finishes = finishes;
    set_recording(&data->recording, recording);
    data->recorded = recorded;
    data->records = records;
    data->is_ufunc = is_ufunc;
    data->numbers = (char)numbers;
    data->keeps_floats = keeps_floats;
    data->contiguous = contiguous;
    data->plain_result = plain_result;
    data->random = random;
    data->elementwise = elementwise;
    if (read_places(&data->places, places, (int)PyTuple_GET_SIZE(places), spread) < 0 ||
        (data->leading = read_order(&data->places, order, data->order)) < 0 ||
        (data->named = read_order(&data->places, options, data->options)) < 0) {
        free_kernel(&data->general);
        return NULL;
    }
    data->has_out = data->places.count > 0 && data->places.places[data->places.count - 1].sort == OUT;
    if (recorded < 0 || recorded > data->places.count) {
        free_kernel(&data->general);
        PyErr_SetString(PyExc_ValueError, "attach_kernel(): 'recorded' counts parameters");
        return NULL;
    }
    if (set_general(function, handle_kernel, &data->general) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* attach_python(function, places, positional, spread, implementation, explain): gives a function the handler of calls that a
 * function written in Python answers. It gets keywords as they are. */
static PyObject *
attach_python(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *places, *implementation, *explain;
    int positional, spread;
    if (!PyArg_ParseTuple(args, "OO!iiOO:attach_python", &function, &PyTuple_Type, &places, &positional, &spread,
                          &implementation, &explain)) {
        return NULL;
    }
    PythonData *data = PyMem_Calloc(1, sizeof(PythonData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    data->general = (General){free_python, traverse_python};
    data->implementation = Py_NewRef(implementation);
    data->explain = or_null(explain);
    if (read_places(&data->places, places, positional, spread) < 0) {
        free_python(&data->general);
        return NULL;
    }
    if (set_general(function, handle_python, &data->general) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach_kernel", (PyCFunction)(void (*)(void))attach_kernel, METH_VARARGS | METH_KEYWORDS, NULL},
    {"attach_python", attach_python, METH_VARARGS, NULL},
    {NULL},
};

int
add_general(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
