/* Calls of types that override: the order is that of dispatch/core.py, whose plans are read here.
 *
 * Note [Plans are Python's]
 * Which types are asked, and in which order, `core._make_plan` decides once for each tuple of operand types. C looks the
 * plan up in the same dict, and leaves types that it has no plan for to Python, which makes one. So there is one place
 * where the order is written, and clearing the dict is all that it takes when a class changes.
 */
#include "native.h"

#include <limits.h>

#define MOST_OPERANDS 8

typedef struct Dispatched {
    int required;  /* positional arguments that must be given */
    int most;      /* and that may be given */
    int operands;
    int places[MOST_OPERANDS]; /* of the operands among the positional parameters */
    bool is_operator; /* None is foreign to it */
    bool of_plain;    /* dispatched as another function where the left operand is plain */
    PyObject *key;    /* the `func` that types receive */
    PyObject *reflected; /* that of `core.dispatch`, None for functions */
} Dispatched;

enum { PLAN_TYPES, PLAN_POSITIONS, PLAN_DEFAULT, PLAN_ASKED };

static PyObject *handler_name; /* "__torch_function__", interned; made once, when the module is executed */
/* How many handlers called from here are running in this thread. */
static _Thread_local int running;

void
free_dispatched(Dispatched *dispatched)
{
    if (dispatched != NULL) {
        Py_DECREF(dispatched->key);
        Py_DECREF(dispatched->reflected);
        PyMem_Free(dispatched);
    }
}

int
traverse_dispatched(Dispatched *dispatched, visitproc visit, void *arg)
{
    Py_VISIT(dispatched->key);
    return 0;
}

static PyObject *
packed(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    if (tuple != NULL) {
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
        }
    }
    return tuple;
}

/* Return the result of `asked.__torch_function__(function, types, args, kwargs)`. */
static PyObject *
call_handler(PyObject *asked, PyObject *function, PyObject *types, PyObject *args, PyObject *kwargs)
{
    PyObject *values[] = {asked, function, types, args, kwargs};
    running++;
    PyObject *result = PyObject_VectorcallMethod(handler_name, values, 5, NULL);
    running--;
    return result;
}

/* Replace a RecursionError by what `core.went_in_circles` raises for it. */
static void
explain_recursion(PyObject *function, PyObject *types)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    PyObject *result = PyObject_CallFunctionObjArgs(provided.went_in_circles, error, function, types, NULL);
    if (result != NULL) { /* It always raises. */
        Py_DECREF(result);
        PyErr_Restore(kind, error, traceback);
        return;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

/* The same as `core.ask_types`. */
static PyObject *
ask_types(Dispatched *of, PyObject *plan, PyObject *const *operands, PyObject *args, PyObject *kwargs, PyObject *mode)
{
    PyObject *types = PyTuple_GET_ITEM(plan, PLAN_TYPES), *positions = PyTuple_GET_ITEM(plan, PLAN_POSITIONS);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (position < 0 || position >= of->operands) {
            PyErr_SetString(PyExc_SystemError, "the plan of a call is about other operands");
            return NULL;
        }
        PyObject *result = call_handler(operands[position], of->key, types, args, kwargs);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_RecursionError)) {
            explain_recursion(of->key, types);
        }
        if (result != Py_NotImplemented) {
            return result;
        }
        Py_DECREF(result);
    }
    PyObject *all = packed(operands, of->operands);
    if (all == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_CallFunctionObjArgs(provided.unanswered, of->key, plan, all, args, kwargs,
                                                    mode == NULL ? Py_None : mode, of->reflected, NULL);
    Py_DECREF(all);
    return result;
}

/* The same as `core._ask_mode`, for a State whose innermost mode is `activation`. */
static PyObject *
ask_mode(Dispatched *of, PyObject *plan, PyObject *state, PyObject *activation, PyObject *const *operands,
         PyObject *args, PyObject *kwargs)
{
    PyObject *mode = slot_of(activation, provided.slots.mode), *below = slot_of(state, provided.slots.without_mode);
    if (mode == NULL) {
        return LEFT_TO_PYTHON;
    }
    if (is_set(below)) {
        Py_INCREF(below);
    }
    else {
        below = PyObject_CallMethod(state, "without_mode", NULL);
        if (below == NULL) {
            return NULL;
        }
    }
    Py_INCREF(mode);
    PyObject *result = NULL;
    PyObject *token = PyContextVar_Set(provided.state, below);
    Py_DECREF(below);
    if (token != NULL) {
        Py_DECREF(token);
        result = call_handler(mode, of->key, PyTuple_GET_ITEM(plan, PLAN_TYPES), args, kwargs);
        PyObject *kind, *error, *traceback;
        PyErr_Fetch(&kind, &error, &traceback);
        token = PyContextVar_Set(provided.state, state);
        if (token == NULL) {
            Py_CLEAR(result);
            Py_XDECREF(kind);
            Py_XDECREF(error);
            Py_XDECREF(traceback);
        }
        else {
            Py_DECREF(token);
            PyErr_Restore(kind, error, traceback);
        }
    }
    if (result == Py_NotImplemented) {
        Py_SETREF(result, ask_types(of, plan, operands, args, kwargs, mode));
    }
    Py_DECREF(mode);
    return result;
}

/* Return the activation of the mode that answers under a State, borrowed; NULL where Python has to look. */
static PyObject *
innermost_mode(PyObject *state)
{
    PyObject *modes = slot_of(state, provided.slots.modes);
    if (slot_of(state, provided.slots.trace) != Py_None || slot_of(state, provided.slots.all_disabled) != Py_False ||
        slot_of(state, provided.slots.subclasses_disabled) != Py_False || modes == NULL || !PyTuple_CheckExact(modes) ||
        PyTuple_GET_SIZE(modes) == 0) {
        return NULL;
    }
    PyObject *activation = PyTuple_GET_ITEM(modes, PyTuple_GET_SIZE(modes) - 1);
    if (!Py_IS_TYPE(activation, (PyTypeObject *)provided.activation) ||
        slot_of(activation, provided.slots.over) != Py_False) {
        return NULL;
    }
    return activation;
}

/* Return the plan for operands of these types, a new reference; NULL without an exception where there is none yet. */
static PyObject *
known_plan(PyObject *const *operands, int count)
{
    PyObject *types = PyTuple_New(count);
    if (types == NULL) {
        PyErr_Clear();
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        PyTuple_SET_ITEM(types, i, Py_NewRef(Py_TYPE(operands[i])));
    }
    PyObject *plan = PyDict_GetItemWithError(provided.plans, types);
    if (plan == NULL) {
        PyErr_Clear();
    }
    else if (!PyTuple_Check(plan) || PyTuple_GET_SIZE(plan) <= PLAN_ASKED) {
        plan = NULL;
    }
    Py_XINCREF(plan);
    Py_DECREF(types);
    return plan;
}

/* Whether a type never overrides: the common ones of `state.PLAIN_TYPES`. */
static inline bool
is_plain_type(PyTypeObject *type)
{
    return type == provided.tensor || type == provided.parameter || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyBool_Type || type == Py_TYPE(Py_None) || type == Py_TYPE(provided.missing);
}

PyObject *
dispatch_call(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    Dispatched *of = self->dispatched;
    if (provided.plans == NULL || count < of->required || count > of->most ||
        (keywords != NULL && PyTuple_GET_SIZE(keywords) > 0) || args[count - 1] == provided.missing) {
        return LEFT_TO_PYTHON;
    }
    PyObject *operands[MOST_OPERANDS];
    bool all_plain = true;
    for (int i = 0; i < of->operands; i++) {
        operands[i] = of->places[i] < count ? args[of->places[i]] : provided.missing;
        all_plain = all_plain && is_plain_type(Py_TYPE(operands[i]));
    }
    if (all_plain && PySet_GET_SIZE(provided.tensors) > 0) {
        return LEFT_TO_PYTHON;
    }
    if (of->is_operator && of->operands > 1 && operands[1] == Py_None) {
        return LEFT_TO_PYTHON;
    }
    PyObject *state = current_state(), *plan = NULL, *result = LEFT_TO_PYTHON, *given = NULL, *kwargs = NULL;
    if (state == NULL) {
        return LEFT_TO_PYTHON;
    }
    bool clear = slot_of(state, provided.slots.clear) == Py_True;
    PyObject *activation = clear ? NULL : innermost_mode(state);
    if ((!clear && activation == NULL) || (clear && of->of_plain && is_plain_type(Py_TYPE(operands[0])))) {
        goto done;
    }
    plan = known_plan(operands, of->operands);
    if (plan == NULL) {
        goto done;
    }
    if (clear) {
        PyObject *inheriting = PyTuple_GET_ITEM(plan, PLAN_DEFAULT);
        if (inheriting != Py_None) {
            if (self->inherited != NULL && PyType_Check(inheriting)) {
                result = self->inherited(self, (PyTypeObject *)inheriting, args, count);
            }
            goto done;
        }
        if (PyTuple_GET_ITEM(plan, PLAN_ASKED) != Py_True) {
            goto done;
        }
    }
    given = packed(args, count);
    kwargs = given == NULL ? NULL : PyDict_New();
    if (kwargs == NULL) {
        result = NULL;
        goto done;
    }
    result = clear ? ask_types(of, plan, operands, given, kwargs, NULL)
                   : ask_mode(of, plan, state, activation, operands, given, kwargs);
done:
    Py_XDECREF(given);
    Py_XDECREF(kwargs);
    Py_XDECREF(plan);
    Py_DECREF(state);
    return result;
}

/* dispatched(function, key, places, required, most, reflected, is_operator, of_plain): has a function ask types in C.
 * `most` is -1 where any number of positional arguments may follow. */
static PyObject *
dispatched(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *key, *places, *reflected;
    int required, most, is_operator, of_plain;
    if (!PyArg_ParseTuple(args, "O!OO!iiOpp:dispatched", &FunctionType, &function, &key, &PyTuple_Type, &places,
                          &required, &most, &reflected, &is_operator, &of_plain)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(places);
    if (count < 1 || count > MOST_OPERANDS || required < 1) {
        PyErr_Format(PyExc_ValueError, "dispatched(): expected 1 to %d operands", MOST_OPERANDS);
        return NULL;
    }
    Dispatched *of = PyMem_Calloc(1, sizeof(Dispatched));
    if (of == NULL) {
        return PyErr_NoMemory();
    }
    of->operands = (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        of->places[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        if (of->places[i] < 0) {
            PyMem_Free(of);
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "dispatched(): a place must not be negative");
            }
            return NULL;
        }
    }
    of->required = required;
    of->most = most < 0 ? INT_MAX : most;
    of->is_operator = is_operator;
    of->of_plain = of_plain;
    of->key = Py_NewRef(key);
    of->reflected = Py_NewRef(reflected);
    Dispatched *former = ((FunctionObject *)function)->dispatched;
    ((FunctionObject *)function)->dispatched = of;
    free_dispatched(former);
    Py_RETURN_NONE;
}

/* is_handling(): whether a handler that was called from here is running in this thread. */
static PyObject *
is_handling(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(running > 0);
}

static PyMethodDef methods[] = {
    {"dispatched", dispatched, METH_VARARGS, NULL},
    {"is_handling", is_handling, METH_NOARGS, NULL},
    {NULL},
};

int
add_dispatch(PyObject *module)
{
    if (handler_name == NULL) {
        handler_name = PyUnicode_InternFromString("__torch_function__");
        if (handler_name == NULL) {
            return -1;
        }
    }
    return PyModule_AddFunctions(module, methods);
}
