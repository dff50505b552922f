/* Updates of parameters in place by rules that are lists of ufunc calls: `Steps` in optim/steps.py.
 *
 * Note [Updates in pieces]
 * A rule of twelve calls on whole arrays reads and writes each of them several times. So each piece of the arrays goes
 * through all calls before the next one, and lies in the first cache meanwhile. The calls are the inner loops of the
 * same ufuncs, in the same order, on the same elements: what is left to Python gives the same results.
 */
#include "families.h"

enum { WEIGHT, GRADIENT, WORK, SPARE, STATES }; /* The places of operands; numbers follow the states. */

#define MOST_STATES 4
#define MOST_NUMBERS 16
#define MOST_CALLS 32
#define MOST_ARRAYS (2 + MOST_STATES)
#define PIECE 4096 /* bytes of each array that go through all calls */
#define RELEASE_SIZE 500

typedef struct {
    PyUFuncObject *ufunc; /* keeps the loops alive */
    int places[3];        /* of the operands, then of the result */
    Loop loops[2];        /* of float32 and float64 */
} Call;

typedef struct {
    PyObject_HEAD
    PyObject *states; /* the names of entries of a parameter's state */
    PyObject *count;  /* the name of the entry that counts steps, or None */
    int number_count, call_count;
    Call calls[MOST_CALLS];
} UpdateObject;

/* The numbers of a rule, for the count of steps that they were asked for. */
typedef struct {
    PyObject *give; /* borrowed; called with a count */
    bool are_known;
    double count;
    double wide[MOST_NUMBERS];
    npy_float narrow[MOST_NUMBERS];
} Numbers;

/* What is updated at a time, held while the loops run. */
typedef struct {
    TensorObject *tensors[MOST_ARRAYS]; /* the weight, the gradient, the states */
    PyArrayObject *arrays[MOST_ARRAYS];
    int held;
} Operands;

static void
let_go(Operands *operands)
{
    for (int i = 0; i < operands->held; i++) {
        Py_DECREF(operands->tensors[i]);
        Py_DECREF(operands->arrays[i]);
    }
    operands->held = 0;
}

/* ---- what may be updated: `in_blocks` in optim/blocks.py */

/* Return the array of a plain tensor that may be written, borrowed; NULL, without an exception, for anything else. */
static PyArrayObject *
writable_array(PyObject *value)
{
    PyArrayObject *array = value == NULL ? NULL : plain_array(value);
    if (array == NULL || !is_tidy(array) || !PyArray_ISWRITEABLE(array)) {
        return NULL;
    }
    PyObject *meta = as_tensor(value)->meta;
    if (is_set(meta) && (!Py_IS_TYPE(meta, &MetaType) || ((MetaObject *)meta)->inference != Py_False)) {
        return NULL;
    }
    return array;
}

/* Whether elements of two arrays share memory, other than each with the one at its own place. */
static bool
are_shifted(PyArrayObject *a, PyArrayObject *b)
{
    const char *first = PyArray_BYTES(a), *second = PyArray_BYTES(b);
    npy_intp size = PyArray_NBYTES(a);
    return first != second && first < second + size && second < first + size;
}

static bool
hold(Operands *operands, PyObject *value)
{
    PyArrayObject *array = writable_array(value);
    if (array == NULL) {
        return false;
    }
    int held = operands->held;
    PyArrayObject *weight = held > 0 ? operands->arrays[0] : array;
    if (PyArray_DESCR(array) != PyArray_DESCR(weight) || PyArray_NDIM(array) != PyArray_NDIM(weight) ||
        !same_sizes(PyArray_DIMS(array), PyArray_DIMS(weight), PyArray_NDIM(weight))) {
        return false;
    }
    for (int i = 0; i < held; i++) {
        if (are_shifted(operands->arrays[i], array)) {
            return false;
        }
    }
    operands->tensors[held] = as_tensor(Py_NewRef(value));
    Py_INCREF(array);
    operands->arrays[held] = array;
    operands->held++;
    return true;
}

/* Whether the inner loops take an array's elements. */
static bool
is_known_dtype(PyArrayObject *array)
{
    int type = PyArray_TYPE(array);
    if (type != NPY_FLOAT && type != NPY_DOUBLE) {
        return false;
    }
    PyArray_Descr *own = PyArray_DescrFromType(type);
    bool known = own == PyArray_DESCR(array); /* Not one with metadata. */
    Py_XDECREF(own);
    return known;
}

/* Return the gradient of a tensor, borrowed: None where there is none, NULL for what C cannot read. */
static PyObject *
gradient_of(PyObject *parameter)
{
    PyObject *meta = as_tensor(parameter)->meta;
    if (!is_set(meta)) {
        return meta;
    }
    return Py_IS_TYPE(meta, &MetaType) ? ((MetaObject *)meta)->grad_value : NULL;
}

/* ---- counting steps */

/* Hold a tensor without dimensions, and read the count of steps that follows the one in it: false for anything else.
 */
static bool
hold_count(Operands *counted, PyObject *value, double *next)
{
    if (!hold(counted, value) || PyArray_NDIM(counted->arrays[0]) != 0 || !is_known_dtype(counted->arrays[0])) {
        return false;
    }
    PyArrayObject *array = counted->arrays[0];
    *next = PyArray_TYPE(array) == NPY_FLOAT ? (double)(*(npy_float *)PyArray_DATA(array) + 1.0f)
                                             : *(npy_double *)PyArray_DATA(array) + 1.0;
    return true;
}

static int
write_count(const Operands *counted, double count)
{
    PyArrayObject *array = counted->arrays[0];
    if (PyArray_TYPE(array) == NPY_FLOAT) {
        *(npy_float *)PyArray_DATA(array) = (npy_float)count;
    }
    else {
        *(npy_double *)PyArray_DATA(array) = count;
    }
    return count_version(counted->tensors[0]);
}

/* Have the numbers for a count of steps: -1 with an exception. */
static int
find_numbers(const UpdateObject *self, Numbers *numbers, double count)
{
    if (numbers->are_known && numbers->count == count) {
        return 0;
    }
    PyObject *number = PyFloat_FromDouble(count);
    PyObject *given = number == NULL ? NULL : PyObject_CallOneArg(numbers->give, number);
    Py_XDECREF(number);
    if (given == NULL) {
        return -1;
    }
    int result = -1;
    if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) != self->number_count) {
        PyErr_Format(PyExc_TypeError, "apply(): expected a tuple of %d numbers, not %R", self->number_count, given);
        goto done;
    }
    for (int i = 0; i < self->number_count; i++) {
        numbers->wide[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(given, i));
        if (numbers->wide[i] == -1.0 && PyErr_Occurred()) {
            goto done;
        }
        numbers->narrow[i] = (npy_float)numbers->wide[i];
    }
    numbers->count = count;
    numbers->are_known = true;
    result = 0;
done:
    Py_DECREF(given);
    return result;
}

/* ---- running the calls */

static void
run_calls(const UpdateObject *self, PyArrayObject *const *arrays, Numbers *numbers, char *scratch)
{
    bool wide = PyArray_TYPE(arrays[0]) == NPY_DOUBLE;
    npy_intp item = wide ? 8 : 4, size = PyArray_SIZE(arrays[0]), most = PIECE / item;
    int state_count = (int)PyTuple_GET_SIZE(self->states);
    for (npy_intp start = 0; start < size; start += most) {
        char *at[STATES + MOST_STATES + MOST_NUMBERS];
        at[WEIGHT] = PyArray_BYTES(arrays[0]) + start * item;
        at[GRADIENT] = PyArray_BYTES(arrays[1]) + start * item;
        at[WORK] = scratch;
        at[SPARE] = scratch + PIECE;
        for (int i = 0; i < state_count; i++) {
            at[STATES + i] = PyArray_BYTES(arrays[2 + i]) + start * item;
        }
        for (int i = 0; i < self->number_count; i++) {
            at[STATES + state_count + i] = wide ? (char *)&numbers->wide[i] : (char *)&numbers->narrow[i];
        }
        for (int i = 0; i < self->call_count; i++) {
            const Call *call = &self->calls[i];
            char *places[3];
            npy_intp strides[3], length = size - start < most ? size - start : most;
            for (int j = 0; j < call->ufunc->nargs; j++) {
                places[j] = at[call->places[j]];
                strides[j] = call->places[j] < STATES + state_count ? item : 0;
            }
            call->loops[wide].run(places, &length, strides, call->loops[wide].data);
        }
    }
}

/* Update one parameter: 1, 0 when Python has to, -1 with an exception. */
static int
update_parameter(const UpdateObject *self, PyObject *parameter, PyObject *states, Numbers *numbers, char *scratch)
{
    if (plain_array(parameter) == NULL) {
        return 0;
    }
    PyObject *gradient = gradient_of(parameter);
    if (gradient == NULL || gradient == Py_None) {
        return gradient == NULL ? 0 : 1;
    }
    PyObject *state = PyDict_GetItemWithError(states, parameter);
    bool has_states = PyTuple_GET_SIZE(self->states) > 0 || self->count != Py_None;
    if (state == NULL ? has_states : !PyDict_CheckExact(state)) {
        return PyErr_Occurred() ? -1 : 0;
    }
    Operands operands = {.held = 0}, counted = {.held = 0};
    int result = 0;
    if (!hold(&operands, parameter) || !hold(&operands, gradient) || !is_known_dtype(operands.arrays[0]) ||
        PyArray_SIZE(operands.arrays[0]) >= provided.large) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->states); i++) {
        PyObject *value = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(self->states, i));
        if (value == NULL || !hold(&operands, value)) {
            result = PyErr_Occurred() ? -1 : 0;
            goto done;
        }
    }
    double count = 0;
    if (self->count != Py_None) {
        PyObject *value = PyDict_GetItemWithError(state, self->count);
        if (value == NULL || !hold_count(&counted, value, &count)) {
            result = PyErr_Occurred() ? -1 : 0;
            goto done;
        }
    }
    result = find_numbers(self, numbers, count);
    if (result == 0 && counted.held > 0) {
        result = write_count(&counted, count);
    }
    if (result < 0) {
        goto done;
    }
    if (PyArray_SIZE(operands.arrays[0]) < RELEASE_SIZE) {
        run_calls(self, operands.arrays, numbers, scratch);
    }
    else {
        Py_BEGIN_ALLOW_THREADS
        run_calls(self, operands.arrays, numbers, scratch);
        Py_END_ALLOW_THREADS
    }
    result = 1;
    for (int i = 0; i < operands.held; i++) {
        if (i != GRADIENT && count_version(operands.tensors[i]) < 0) {
            result = -1;
        }
    }
done:
    let_go(&operands);
    let_go(&counted);
    return result;
}

/* apply(parameters, position, states, numbers): updates parameters from a position on, those without a gradient
 * excepted, and returns the position of the first one that is left to Python, or the length of the list. */
static PyObject *
update_apply(UpdateObject *self, PyObject *args)
{
    PyObject *parameters, *states;
    Py_ssize_t position;
    Numbers numbers = {.are_known = false};
    if (!PyArg_ParseTuple(args, "O!nO!O:apply", &PyList_Type, &parameters, &position, &PyDict_Type, &states,
                          &numbers.give)) {
        return NULL;
    }
    if (position < 0) {
        PyErr_SetString(PyExc_ValueError, "apply(): a position is not negative");
        return NULL;
    }
    char *scratch = PyMem_Malloc(2 * PIECE);
    if (scratch == NULL) {
        return PyErr_NoMemory();
    }
    int done = 1;
    while (position < PyList_GET_SIZE(parameters)) {
        PyObject *parameter = Py_NewRef(PyList_GET_ITEM(parameters, position));
        done = update_parameter(self, parameter, states, &numbers, scratch);
        Py_DECREF(parameter);
        if (done != 1) {
            break;
        }
        position++;
    }
    PyMem_Free(scratch);
    return done < 0 ? NULL : PyLong_FromSsize_t(position);
}

/* ---- reading a rule from Python */

static void
update_dealloc(UpdateObject *self)
{
    for (int i = 0; i < self->call_count; i++) {
        Py_XDECREF(self->calls[i].ufunc);
    }
    Py_XDECREF(self->states);
    Py_XDECREF(self->count);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Read (ufunc, place, ..., place of the result) into the next call: -1 with an exception. */
static int
add_call(UpdateObject *self, PyObject *given)
{
    Py_ssize_t count = PyTuple_CheckExact(given) ? PyTuple_GET_SIZE(given) - 2 : 0;
    if (count < 1 || count > 2) {
        PyErr_Format(PyExc_ValueError, "Update(): %R is no call of a ufunc", given);
        return -1;
    }
    PyUFuncObject *ufunc = as_ufunc(PyTuple_GET_ITEM(given, 0), (int)count);
    if (ufunc == NULL) {
        return -1;
    }
    Call *call = &self->calls[self->call_count++];
    Py_INCREF(ufunc);
    call->ufunc = ufunc;
    Py_ssize_t arrays = STATES + PyTuple_GET_SIZE(self->states);
    for (Py_ssize_t i = 0; i <= count; i++) {
        Py_ssize_t place;
        if (!read_int(PyTuple_GET_ITEM(given, i + 1), &place) || place < 0 || place >= arrays + self->number_count ||
            (i == count && (place >= arrays || place == GRADIENT))) {
            PyErr_Format(PyExc_ValueError, "Update(): %R has a place that is none", given);
            return -1;
        }
        call->places[i] = (int)place;
    }
    if (ufunc->core_enabled || !find_loop(ufunc, NPY_FLOAT, NPY_FLOAT, &call->loops[0]) ||
        !find_loop(ufunc, NPY_DOUBLE, NPY_DOUBLE, &call->loops[1])) {
        PyErr_Format(PyExc_ValueError, "Update(): %s has no loop for a floating-point dtype", ufunc->name);
        return -1;
    }
    return 0;
}

/* Update(states, count, numbers, calls): a rule. `states` are the names of entries of a parameter's state, `count` that
 * of the count of steps or None, `numbers` says how many numbers there are, and `calls` are tuples of a ufunc and the
 * places of its operands and result, in the order of the enum above. */
static PyObject *
update_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *states, *count, *calls;
    int numbers;
    if (!PyArg_ParseTuple(args, "O!OiO!:Update", &PyTuple_Type, &states, &count, &numbers, &PyTuple_Type, &calls)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(states) > MOST_STATES || numbers < 0 || numbers > MOST_NUMBERS ||
        PyTuple_GET_SIZE(calls) > MOST_CALLS || (keywords != NULL && PyDict_GET_SIZE(keywords) > 0)) {
        PyErr_SetString(PyExc_ValueError, "Update(): a rule of so many states, numbers or calls is not known");
        return NULL;
    }
    UpdateObject *self = (UpdateObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->states = Py_NewRef(states);
    self->count = Py_NewRef(count);
    self->number_count = numbers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        if (add_call(self, PyTuple_GET_ITEM(calls, i)) < 0) {
            Py_CLEAR(self);
            break;
        }
    }
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"apply", (PyCFunction)update_apply, METH_VARARGS, "Update parameters by this rule until one is left to Python."},
    {NULL},
};

static PyTypeObject UpdateType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.Update",
    .tp_doc = "A rule by which parameters are updated in place.",
    .tp_basicsize = sizeof(UpdateObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = update_new,
    .tp_dealloc = (destructor)update_dealloc,
    .tp_methods = methods,
};

int
add_updates(PyObject *module)
{
    return PyModule_AddType(module, &UpdateType);
}
