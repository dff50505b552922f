/* Calls of types that override: the order is that of dispatch/core.py, whose plans are read here.
 *
 * Note [Plans are Python's]
 * Which types are asked, and in which order, `core._make_plan` decides once for each tuple of operand types. C looks
 * the plan up in the same dict, and leaves types that it has no plan for to Python, which makes one. So there is one
 * place where the order is written, and clearing the dict is all that it takes when a class changes.
 */
#include "native.h"

#include <limits.h>

#define MOST_PLACES 8
#define MOST_OPERANDS 64 /* with those in sequences */
#define MOST_DEPTH 4     /* of sequences in a sequence of sizes */

typedef struct Dispatched {
    int required; /* positional arguments that must be given */
    int most;     /* and that may be given */
    int count;
    int places[MOST_PLACES];   /* of the operands among the positional parameters */
    bool many[MOST_PLACES];    /* a list or tuple there has operands in it */
    bool is_operator;          /* None is foreign to it */
    bool plain_form;           /* dispatched as another function where the left operand is plain */
    PyObject *key;             /* the `func` that types receive */
    PyObject *python_keywords; /* a frozenset of the keywords that Python has to look at: operands, NumPy's names */
    PyObject *reflected;       /* that of `core.dispatch`, None for functions */
    /* The plan that was found last, for one operand or two: see `known_plan`. All borrowed. */
    uint64_t plans_version;
    PyTypeObject *types[2];
    PyObject *plan;
} Dispatched;

enum { PLAN_TYPES, PLAN_POSITIONS, PLAN_DEFAULT, PLAN_ASKED };

/* Names, interned; made once, when the module is executed. */
static PyObject *handler_name, *attributes_name, *finalize_name;
/* How many handlers called from here are running in this thread. */
static _Thread_local int running;

void
free_dispatched(Dispatched *dispatched)
{
    if (dispatched != NULL) {
        Py_DECREF(dispatched->key);
        Py_DECREF(dispatched->python_keywords);
        Py_DECREF(dispatched->reflected);
        PyMem_Free(dispatched);
    }
}

int
traverse_dispatched(Dispatched *dispatched, visitproc visit, void *arg)
{
    Py_VISIT(dispatched->key);
    Py_VISIT(dispatched->python_keywords);
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
    PyObject *values[] = {NULL, asked, function, types, args, kwargs}; /* The first one is the callee's to use. */
    running++;
    PyObject *result = PyObject_VectorcallMethod(handler_name, values + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
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
ask_types(Dispatched *of, PyObject *plan, PyObject *const *operands, int count, PyObject *args, PyObject *kwargs,
          PyObject *mode)
{
    PyObject *types = PyTuple_GET_ITEM(plan, PLAN_TYPES), *positions = PyTuple_GET_ITEM(plan, PLAN_POSITIONS);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positions); i++) {
        long position = PyLong_AsLong(PyTuple_GET_ITEM(positions, i));
        if (position < 0 || position >= count) {
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
    PyObject *all = packed(operands, count);
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
ask_mode(Dispatched *of, PyObject *plan, PyObject *state, PyObject *activation, PyObject *const *operands, int count,
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
        Py_SETREF(result, ask_types(of, plan, operands, count, args, kwargs, mode));
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

/* A number that differs whenever the dict of plans has changed, 0 where the interpreter does not have one. */
static uint64_t
plans_version(void)
{
#if PY_VERSION_HEX < 0x030E0000
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
    return ((PyDictObject *)provided.plans)->ma_version_tag;
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#else
    return 0;
#endif
}

/* Whether the types of a plan that inherit the default implementation still do: one may have been given a
 * `__torch_function__` since. A look-up in the cache of methods takes 3 ns. */
static bool
is_current(PyObject *plan)
{
    if (PyTuple_GET_ITEM(plan, PLAN_DEFAULT) == Py_None) {
        return true;
    }
    PyObject *types = PyTuple_GET_ITEM(plan, PLAN_TYPES), *inherited = _PyType_Lookup(provided.tensor, handler_name);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        if (_PyType_Lookup((PyTypeObject *)PyTuple_GET_ITEM(types, i), handler_name) != inherited) {
            return false;
        }
    }
    return true;
}

/* Return the plan for the operands' types, a new reference; NULL without an exception where there is none that holds.
 *
 * The last plan of each function is remembered (35 ns less than the tuple of types and the dict) as long as the dict
 * has not changed: it keeps the types and the plan alive. */
static PyObject *
known_plan(Dispatched *of, PyObject *const *operands, int count)
{
    PyTypeObject *first = Py_TYPE(operands[0]), *second = count == 2 ? Py_TYPE(operands[1]) : NULL;
    uint64_t version = plans_version();
    if (of->plan != NULL && version != 0 && of->plans_version == version && of->types[0] == first &&
        of->types[1] == second && count <= 2) {
        return is_current(of->plan) ? Py_NewRef(of->plan) : NULL;
    }
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
    else if (!PyTuple_Check(plan) || PyTuple_GET_SIZE(plan) <= PLAN_ASKED || !is_current(plan)) {
        plan = NULL;
    }
    Py_XINCREF(plan);
    Py_DECREF(types);
    of->plan = count <= 2 ? plan : NULL;
    of->types[0] = first;
    of->types[1] = second;
    of->plans_version = version;
    return plan;
}

/* Whether a type never overrides: the common ones of `state.PLAIN_TYPES`. */
static inline bool
is_plain_type(PyTypeObject *type)
{
    return type == provided.tensor || type == provided.parameter || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyBool_Type || type == Py_TYPE(Py_None);
}

/* Store the operands of a call, borrowed: those in sequences as well, as `collect.collector` does. Returns how many
 * they are, -1 where they are too many. */
static int
collect(Dispatched *of, PyObject *const *args, Py_ssize_t given, PyObject **operands)
{
    int count = 0;
    for (int i = 0; i < of->count && of->places[i] < given; i++) {
        PyObject *value = args[of->places[i]];
        PyObject **items = &value;
        Py_ssize_t length = 1;
        if (of->many[i] && (PyList_Check(value) || PyTuple_Check(value))) {
            items = PySequence_Fast_ITEMS(value);
            length = PySequence_Fast_GET_SIZE(value);
        }
        if (count + length > MOST_OPERANDS) {
            return -1;
        }
        for (Py_ssize_t at = 0; at < length; at++) {
            operands[count++] = items[at];
        }
    }
    return count;
}

/* Whether an argument that is no operand is never asked, nor anything in it: Note [What overrides] in collect.py. Says no
 * where only Python can tell. */
static bool
is_ordinary(PyObject *value, int depth)
{
    if (is_plain_type(Py_TYPE(value))) {
        return true;
    }
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
            if (depth == 0 || !is_ordinary(PySequence_Fast_GET_ITEM(value, i), depth - 1)) {
                return false;
            }
        }
        return true;
    }
    /* Another metaclass may have a `__hash__` of its own, which would run here. */
    bool usual = Py_IS_TYPE((PyObject *)Py_TYPE(value), &PyType_Type);
    int found = usual ? PySet_Contains(provided.ordinary, (PyObject *)Py_TYPE(value)) : 0;
    if (found < 0) {
        PyErr_Clear();
    }
    return found == 1;
}

/* Whether every argument of a call that is no operand is an ordinary one. */
static bool
others_are_ordinary(const Dispatched *of, PyObject *const *args, Py_ssize_t given, Py_ssize_t by_name)
{
    int operand = 0;
    for (Py_ssize_t i = 0; i < given + by_name; i++) {
        if (i < given && operand < of->count && of->places[operand] == i) {
            operand++;
        }
        else if (!is_ordinary(args[i], MOST_DEPTH)) {
            return false;
        }
    }
    return true;
}

/* Whether the keywords of a call are handed on as they are. */
static bool
passes_keywords(const Dispatched *of, PyObject *keywords)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); i++) {
        int python_keywords = PySet_Contains(of->python_keywords, PyTuple_GET_ITEM(keywords, i));
        if (python_keywords != 0) {
            PyErr_Clear(); /* A name that cannot be looked up is Python's to refuse. */
            return false;
        }
    }
    return true;
}

/* Return the dict of the keywords of a call, whose values follow the positional arguments; NULL with an exception. */
static PyObject *
keywords_of(PyObject *const *values, PyObject *keywords)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict != NULL && keywords != NULL && i < PyTuple_GET_SIZE(keywords); i++) {
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keywords, i), values[i]) < 0) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

PyObject *
dispatch_call(FunctionObject *self, PyObject *const *args, Py_ssize_t given_count, PyObject *keywords)
{
    Dispatched *of = self->dispatched;
    bool by_name = keywords != NULL && PyTuple_GET_SIZE(keywords) > 0;
    /* Parameters that are no operands may be among the keywords. */
    if (provided.plans == NULL || given_count < (by_name ? 1 : of->required) || given_count > of->most) {
        return LEFT_TO_PYTHON;
    }
    PyObject *operands[MOST_OPERANDS];
    int count = collect(of, args, given_count, operands), held = 0;
    bool all_plain = true;
    for (int i = 0; i < count && all_plain; i++) {
        all_plain = is_plain_type(Py_TYPE(operands[i]));
    }
    if (count < 1 || (all_plain && PySet_GET_SIZE(provided.tensors) > 0) ||
        (of->is_operator && count > 1 && operands[1] == Py_None) || (by_name && !passes_keywords(of, keywords)) ||
        !others_are_ordinary(of, args, given_count, by_name ? PyTuple_GET_SIZE(keywords) : 0)) {
        return LEFT_TO_PYTHON;
    }
    PyObject *state = current_state(), *plan = NULL, *result = LEFT_TO_PYTHON, *given = NULL, *kwargs = NULL;
    if (state == NULL) {
        return LEFT_TO_PYTHON;
    }
    bool clear = slot_of(state, provided.slots.clear) == Py_True;
    PyObject *activation = clear ? NULL : innermost_mode(state);
    if ((!clear && activation == NULL) || (clear && of->plain_form && is_plain_type(Py_TYPE(operands[0])))) {
        goto done;
    }
    /* The collector and handlers may change the list that they come from. */
    for (int i = 0; i < count; i++) {
        Py_INCREF(operands[i]);
    }
    held = count;
    plan = known_plan(of, operands, count);
    if (plan == NULL) {
        goto done;
    }
    if (clear) {
        PyObject *inheriting = PyTuple_GET_ITEM(plan, PLAN_DEFAULT);
        if (inheriting != Py_None) {
            if (self->inherited != NULL && PyType_Check(inheriting)) {
                PyTypeObject *type = (PyTypeObject *)inheriting;
                result = by_name ? ask_by_name(self, type, args, given_count, keywords)
                                 : self->inherited(self, type, args, given_count);
            }
            goto done;
        }
        if (PyTuple_GET_ITEM(plan, PLAN_ASKED) != Py_True) {
            goto done;
        }
    }
    given = packed(args, given_count);
    kwargs = given == NULL ? NULL : keywords_of(args + given_count, keywords);
    if (kwargs == NULL) {
        result = NULL;
    }
    else if (clear) {
        result = ask_types(of, plan, operands, count, given, kwargs, NULL);
    }
    else {
        result = ask_mode(of, plan, state, activation, operands, count, given, kwargs);
    }
done:
    for (int i = 0; i < held; i++) {
        Py_DECREF(operands[i]);
    }
    Py_XDECREF(given);
    Py_XDECREF(kwargs);
    Py_XDECREF(plan);
    Py_DECREF(state);
    return result;
}

/* Whether a class has no attributes that results take over: see tensor/propagation.py. */
static bool
propagates_nothing(PyTypeObject *type)
{
    PyObject *names = PyObject_GetAttr((PyObject *)type, attributes_name);
    PyObject *finalize = names == NULL ? NULL : PyObject_GetAttr((PyObject *)type, finalize_name);
    bool nothing = finalize == Py_None && PyTuple_CheckExact(names) && PyTuple_GET_SIZE(names) == 0;
    if (finalize == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(names);
    Py_XDECREF(finalize);
    return nothing;
}

/* Answer `Tensor.__torch_function__(cls, func, types, args, kwargs)` for a function that the core
 * answers for classes which inherit it, in a call without keywords. */
static PyObject *
answer_default(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if ((count != 4 && count != 5) || (keywords != NULL && PyTuple_GET_SIZE(keywords) > 0) || !PyType_Check(args[0]) ||
        !Py_IS_TYPE(args[1], &FunctionType) || !PyTuple_CheckExact(args[2]) || !PyTuple_CheckExact(args[3])) {
        return LEFT_TO_PYTHON;
    }
    if (count == 5 && args[4] != Py_None && !(PyDict_CheckExact(args[4]) && PyDict_GET_SIZE(args[4]) == 0)) {
        return LEFT_TO_PYTHON;
    }
    PyTypeObject *type = (PyTypeObject *)args[0];
    FunctionObject *function = (FunctionObject *)args[1];
    if (function->inherited == NULL || PyTuple_GET_SIZE(args[3]) > function->most) {
        return LEFT_TO_PYTHON;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[2]); i++) {
        PyObject *other = PyTuple_GET_ITEM(args[2], i);
        if (!PyType_Check(other) || !PyType_IsSubtype(type, (PyTypeObject *)other)) {
            return LEFT_TO_PYTHON;
        }
    }
    if (!propagates_nothing(type) || !state_is_clear()) {
        return LEFT_TO_PYTHON;
    }
    PyObject *given = args[3];
    PyObject *result = function->inherited(function, type, ((PyTupleObject *)given)->ob_item, PyTuple_GET_SIZE(given));
    if (result == NULL) {
        shorten_traceback(function); /* An error leaves the function that was asked for, as if it had been called. */
    }
    return result;
}

/* default_implementation(function): has `Tensor.__torch_function__`, a function of the core, answered here. */
static PyObject *
default_implementation(PyObject *Py_UNUSED(module), PyObject *function)
{
    if (set_handler(function, answer_default, NULL, NULL, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* dispatched(function, key, places, many, python_keywords, required, most, reflected, is_operator, plain_form): has a
 * function ask types in C. `many` says of each place whether operands may come in a sequence there; `python_keywords` is
 * a frozenset of keywords with which calls are left to Python; `most` is -1 where any number of positional arguments may follow. */
static PyObject *
dispatched(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *key, *places, *many, *python_keywords, *reflected;
    int required, most, is_operator, plain_form;
    if (!PyArg_ParseTuple(args, "O!OO!O!O!iiOpp:dispatched", &FunctionType, &function, &key, &PyTuple_Type, &places,
                          &PyTuple_Type, &many, &PyFrozenSet_Type, &python_keywords, &required, &most, &reflected,
                          &is_operator, &plain_form)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(places);
    if (count < 1 || count > MOST_PLACES || PyTuple_GET_SIZE(many) != count || required < 1) {
        PyErr_Format(PyExc_ValueError, "dispatched(): expected 1 to %d operands", MOST_PLACES);
        return NULL;
    }
    Dispatched *of = PyMem_Calloc(1, sizeof(Dispatched));
    if (of == NULL) {
        return PyErr_NoMemory();
    }
    of->count = (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        of->places[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(places, i));
        of->many[i] = PyTuple_GET_ITEM(many, i) == Py_True;
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
    of->plain_form = plain_form;
    of->key = Py_NewRef(key);
    of->python_keywords = Py_NewRef(python_keywords);
    of->reflected = Py_NewRef(reflected);
    if (((FunctionObject *)function)->dispatched == NULL) {
        ((FunctionObject *)function)->dispatched = of;
    }
    else { /* An interrupt came in the first call: another call may be using what was found then, which is the same. */
        free_dispatched(of);
    }
    Py_RETURN_NONE;
}

/* is_handling(): whether a handler that was called from here is running in this thread. */
static PyObject *
is_handling(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(running > 0);
}

static PyMethodDef methods[] = {
    {"default_implementation", default_implementation, METH_O, NULL},
    {"dispatched", dispatched, METH_VARARGS, NULL},
    {"is_handling", is_handling, METH_NOARGS, NULL},
    {NULL},
};

int
add_dispatch(PyObject *module)
{
    if (handler_name == NULL) {
        handler_name = PyUnicode_InternFromString("__torch_function__");
        attributes_name = PyUnicode_InternFromString("__tensor_attributes__");
        finalize_name = PyUnicode_InternFromString("__tensor_finalize__");
    }
    if (handler_name == NULL || attributes_name == NULL || finalize_name == NULL) {
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
