/* The context of a custom Function, which is its node: its state, the tensors that it saves, and its backward. The twin
 * of autograd/function_node.py: see Note [Custom Functions in C] in custom.c.
 */
#include "custom.h"

CustomNames names;
Custom custom;

/* ---- the state of a node */

#define FIELDS(each)                                                                                                   \
    each(needs_input_grad) each(to_save) each(saved) each(positions) each(arguments) each(devices) each(outputs)       \
        each(special) each(make_zeros) each(recorded)

#define VISIT(name) Py_VISIT(self->name);
#define CLEAR(name) Py_CLEAR(self->name);
#define MEMBER(name) {"_tl_" #name, T_OBJECT_EX, offsetof(ContextObject, name), 0, NULL},

static int
context_traverse(ContextObject *self, visitproc visit, void *arg)
{
    FIELDS(VISIT)
    return NodeStateType.tp_traverse((PyObject *)self, visit, arg);
}

static int
context_clear(ContextObject *self)
{
    PyObject *saved[] = {self->saved, self->to_save};
    self->saved = self->to_save = NULL;
    FIELDS(CLEAR)
    NodeStateType.tp_clear((PyObject *)self);
    drop_later(saved, 2);
    return 0;
}

static void
context_dealloc(ContextObject *self)
{
    PyObject_GC_UnTrack(self);
    /* They may have the last reference to a chain of nodes. */
    PyObject *saved[] = {self->saved, self->to_save};
    self->saved = self->to_save = NULL;
    FIELDS(CLEAR)
    NodeStateType.tp_dealloc((PyObject *)self);
    drop_later(saved, 2);
}

/* Give a new node the defaults that the class has in Python. */
static bool
set_defaults(ContextObject *self)
{
    PyObject *zero = PyLong_FromLong(0), *nothing = PyTuple_New(0);
    if (zero == NULL || nothing == NULL) {
        Py_XDECREF(zero);
        Py_XDECREF(nothing);
        return false;
    }
    self->needs_input_grad = nothing;
    self->saved = Py_NewRef(nothing);
    self->positions = Py_NewRef(nothing);
    self->devices = Py_NewRef(nothing);
    self->arguments = zero;
    self->to_save = Py_NewRef(Py_None);
    self->outputs = Py_NewRef(Py_None);
    self->make_zeros = Py_NewRef(Py_None);
    self->special = Py_NewRef(Py_True);
    self->recorded = Py_NewRef(Py_False);
    return true;
}

static PyObject *
context_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(args) > 0 || (keywords != NULL && PyDict_GET_SIZE(keywords) > 0)) {
        PyErr_Format(PyExc_TypeError, "%.200s() takes no arguments", type->tp_name);
        return NULL;
    }
    ContextObject *self = (ContextObject *)type->tp_alloc(type, 0);
    if (self != NULL && !set_defaults(self)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyMemberDef context_members[] = {
    {"needs_input_grad", T_OBJECT_EX, offsetof(ContextObject, needs_input_grad), 0,
     "One boolean for each argument of `apply`: whether it requires grad. It may be assigned to."},
    MEMBER(to_save) MEMBER(saved) MEMBER(positions) MEMBER(arguments) MEMBER(devices) MEMBER(outputs) MEMBER(special)
        MEMBER(make_zeros) MEMBER(recorded){NULL},
};

PyTypeObject ContextType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.ContextState",
    .tp_doc = "The state of the node of a custom Function.",
    .tp_basicsize = sizeof(ContextObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_base = &NodeStateType,
    .tp_new = context_new,
    .tp_dealloc = (destructor)context_dealloc,
    .tp_traverse = (traverseproc)context_traverse,
    .tp_clear = (inquiry)context_clear,
    .tp_members = context_members,
};

/* Whether a node has an attribute in its dict: -1 with an exception. */
static int
has_attribute(ContextObject *node, PyObject *name)
{
    PyObject *dict = node->node.dict;
    return dict == NULL || PyDict_GET_SIZE(dict) == 0 ? 0 : PyDict_Contains(dict, name);
}

int
has_any(ContextObject *node, PyObject *const *wanted, int count)
{
    int found = 0;
    for (int i = 0; i < count && found == 0; i++) {
        found = has_attribute(node, wanted[i]);
    }
    return found;
}

int
is_hooked(PyObject *node)
{
    PyObject *hooks[] = {names._tl_tensor_hooks, names._tl_retained, names._tl_pre_hooks, names._tl_post_hooks};
    return has_any(as_context(node), hooks, 4);
}

/* ---- saved tensors */

static inline bool
is_counter(PyObject *counter)
{
    return PyList_CheckExact(counter) && PyList_GET_SIZE(counter) == 1;
}

static inline void
fill_slot(PyObject *instance, Py_ssize_t offset, PyObject *value)
{
    *slot_at(instance, offset) = Py_NewRef(value);
}

PyObject *
saved_of(PyObject *value, Py_ssize_t number)
{
    PyTypeObject *type = number < 0 ? custom.saved_input : custom.saved_output;
    TensorObject *tensor = as_tensor(value);
    if (!is_tensor(value) || tensor->data == NULL || (is_set(tensor->counter) && !is_counter(tensor->counter)) ||
        (is_set(tensor->meta) && !Py_IS_TYPE(tensor->meta, &MetaType))) {
        return number < 0 ? PyObject_CallOneArg((PyObject *)type, value)
                          : PyObject_CallFunction((PyObject *)type, "On", value, number);
    }
    PyObject *edge = NULL, *made = NULL, *place = NULL;
    bool is_leaf = !is_set(tensor->edge);
    if (!is_set(tensor->counter)) {
        PyObject *counter = new_counter();
        if (counter == NULL) {
            return NULL;
        }
        Py_XSETREF(tensor->counter, counter);
    }
    if (number < 0) {
        edge = is_tracked(tensor) ? edge_of(tensor) : Py_NewRef(Py_None);
        if (edge == NULL) {
            return NULL;
        }
        is_leaf = is_leaf && !(is_set(tensor->meta) && is_set(((MetaObject *)tensor->meta)->view_base));
    }
    else if ((place = PyLong_FromSsize_t(number)) == NULL) {
        goto done;
    }
    made = type->tp_alloc(type, 0);
    if (made == NULL) {
        goto done;
    }
    if (number < 0) {
        fill_slot(made, custom.input.array, tensor->data);
        fill_slot(made, custom.input.counter, tensor->counter);
        fill_slot(made, custom.input.version, PyList_GET_ITEM(tensor->counter, 0));
        fill_slot(made, custom.input.kind, (PyObject *)Py_TYPE(value));
        fill_slot(made, custom.input.packed, Py_None);
        fill_slot(made, custom.input.edge, edge);
        fill_slot(made, custom.input.leaf, is_leaf ? value : Py_None);
    }
    else {
        fill_slot(made, custom.output.array, tensor->data);
        fill_slot(made, custom.output.counter, tensor->counter);
        fill_slot(made, custom.output.version, PyList_GET_ITEM(tensor->counter, 0));
        fill_slot(made, custom.output.kind, (PyObject *)Py_TYPE(value));
        fill_slot(made, custom.output.packed, Py_None);
        fill_slot(made, custom.output.number, place);
        fill_slot(made, custom.output.place, Py_None);
    }
done:
    Py_XDECREF(edge);
    Py_XDECREF(place);
    return made;
}

/* Whether the memory of a saved value is as it was. */
static bool
is_unchanged(PyObject *counter, PyObject *version)
{
    if (counter == NULL || version == NULL || !is_counter(counter)) {
        return false;
    }
    PyObject *now = PyList_GET_ITEM(counter, 0);
    if (now == version) {
        return true;
    }
    int overflow;
    return PyLong_CheckExact(now) && PyLong_CheckExact(version) &&
           PyLong_AsLongLongAndOverflow(now, &overflow) == PyLong_AsLongLongAndOverflow(version, &overflow);
}

/* Return a saved tensor: `_unpack_saved` in function_node.py. A new reference, NULL with an exception, or
 * LEFT_TO_PYTHON for one that was packed or modified, or is of a subclass. */
static PyObject *
unpack_saved(PyObject *item, PyObject *node)
{
    if (item == Py_None) {
        return Py_NewRef(item);
    }
    bool is_input = Py_IS_TYPE(item, custom.saved_input);
    if (!is_input && !Py_IS_TYPE(item, custom.saved_output)) {
        return LEFT_TO_PYTHON;
    }
    PyObject *packed = slot_of(item, is_input ? custom.input.packed : custom.output.packed);
    PyObject *counter = slot_of(item, is_input ? custom.input.counter : custom.output.counter);
    PyObject *version = slot_of(item, is_input ? custom.input.version : custom.output.version);
    if (packed != Py_None || !is_unchanged(counter, version)) {
        return LEFT_TO_PYTHON;
    }
    if (is_input && is_set(slot_of(item, custom.input.leaf))) {
        return Py_NewRef(slot_of(item, custom.input.leaf));
    }
    PyObject *array = slot_of(item, is_input ? custom.input.array : custom.output.array);
    PyObject *kind = slot_of(item, is_input ? custom.input.kind : custom.output.kind);
    PyObject *edge = is_input ? slot_of(item, custom.input.edge) : slot_of(item, custom.output.number);
    if (array == NULL || edge == NULL || kind != (PyObject *)provided.tensor ||
        (!is_input && slot_of(item, custom.output.place) != Py_None)) {
        return LEFT_TO_PYTHON;
    }
    edge = is_input ? Py_NewRef(edge) : PyTuple_Pack(2, node, edge);
    PyObject *made = edge == NULL ? NULL : new_tensor(Py_NewRef(array));
    if (made == NULL || edge == Py_None) {
        Py_XDECREF(edge);
        return made;
    }
    Py_XSETREF(as_tensor(made)->edge, edge);
    Py_XSETREF(as_tensor(made)->counter, Py_NewRef(counter));
    set_tracked(as_tensor(made), true);
    return made;
}

PyObject *
read_saved(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (keywords != NULL || count != 1 || !is_context(args[0])) {
        return LEFT_TO_PYTHON;
    }
    ContextObject *node = as_context(args[0]);
    int in_jvp = has_attribute(node, names._tl_saved_for_forward);
    if (in_jvp != 0 || node->saved == NULL || !PyTuple_CheckExact(node->saved)) {
        return in_jvp < 0 ? NULL : LEFT_TO_PYTHON;
    }
    /* What runs meanwhile may free what is saved. */
    PyObject *saved = Py_NewRef(node->saved);
    PyObject *values = PyTuple_New(PyTuple_GET_SIZE(saved));
    for (Py_ssize_t i = 0; values != NULL && values != LEFT_TO_PYTHON && i < PyTuple_GET_SIZE(saved); i++) {
        PyObject *value = unpack_saved(PyTuple_GET_ITEM(saved, i), args[0]);
        if (value == NULL || value == LEFT_TO_PYTHON) {
            Py_SETREF(values, value);
        }
        else {
            PyTuple_SET_ITEM(values, i, value);
        }
    }
    Py_DECREF(saved);
    return values;
}

PyObject *
save_for_backward(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (keywords != NULL || count < 1 || !is_context(args[0])) {
        return LEFT_TO_PYTHON;
    }
    for (Py_ssize_t i = 1; i < count; i++) {
        if (args[i] != Py_None && !is_tensor(args[i])) {
            return LEFT_TO_PYTHON;
        }
    }
    PyObject *tensors = PyTuple_New(count - 1);
    if (tensors == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 1; i < count; i++) {
        PyTuple_SET_ITEM(tensors, i - 1, Py_NewRef(args[i]));
    }
    Py_XSETREF(as_context(args[0])->to_save, tensors);
    Py_RETURN_NONE;
}

/* ---- backward */

PyObject *
call_with(PyObject *function, PyObject *first, PyObject *const *args, Py_ssize_t count)
{
    PyObject *few[1 + MOST_ARGUMENTS], **all = few;
    if (count > MOST_ARGUMENTS && (all = PyMem_New(PyObject *, 1 + (size_t)count)) == NULL) {
        return PyErr_NoMemory();
    }
    all[0] = first;
    for (Py_ssize_t i = 0; i < count; i++) {
        all[1 + i] = args[i];
    }
    PyObject *result = PyObject_Vectorcall(function, all, 1 + (size_t)count, NULL);
    if (all != few) {
        PyMem_Free(all);
    }
    return result;
}

/* Return the `backward` of the user; NULL where Python has to find it or raise, without an exception. */
static PyObject *
backward_of(PyObject *node)
{
    PyObject *function = PyObject_GetAttr((PyObject *)Py_TYPE(node), names._tl_function);
    PyObject *vjp = function == NULL ? NULL : PyObject_GetAttr(function, names.vjp), *backward = NULL;
    if (vjp == custom.no_backward) {
        backward = PyObject_GetAttr(function, names.backward);
    }
    PyErr_Clear();
    Py_XDECREF(function);
    Py_XDECREF(vjp);
    return backward;
}

/* Whether hooks and custom Functions run in the State of now. */
static bool
runs_as_caller(void)
{
    PyObject *state = current_state();
    bool found = state != NULL && slot_of(state, custom.state.caller) == Py_None;
    Py_XDECREF(state);
    return found;
}

/* Whether a gradient needs no look: there is none, or it is as the value at an edge of the node. */
static bool
fits_edge(ContextObject *node, Py_ssize_t index, PyObject *grad)
{
    NodeObject *inner = &node->node;
    PyObject *following;
    long number;
    if (grad == Py_None) {
        return true;
    }
    if (inner->few > 0) {
        following = inner->following[index];
        number = inner->numbers[index];
    }
    else {
        PyObject *edge = PyTuple_GET_ITEM(inner->edges, index);
        if (!PyTuple_CheckExact(edge) || PyTuple_GET_SIZE(edge) != 2 || !PyLong_CheckExact(PyTuple_GET_ITEM(edge, 1))) {
            return false;
        }
        following = PyTuple_GET_ITEM(edge, 0);
        number = PyLong_AsLong(PyTuple_GET_ITEM(edge, 1));
    }
    PyObject *device = PyTuple_GET_ITEM(node->devices, index);
    bool here = device == custom.cpu || (PyUnicode_CheckExact(device) && PyUnicode_Compare(device, custom.cpu) == 0);
    return here && following != NULL && fits_output(grad, following, number);
}

static inline bool
is_tuple_of(PyObject *value, Py_ssize_t count)
{
    return value != NULL && PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == count;
}

/* Return the gradients of the tensors among the arguments, of which all that are there need no look: a new reference,
 * NULL without an exception where they do, NULL with one if it fails. */
static PyObject *
plain_gradients(ContextObject *node, PyObject *result)
{
    Py_ssize_t count = PyTuple_GET_SIZE(result), edges = edge_count(&node->node), next = 0;
    bool known = PyTuple_CheckExact(result) && edges >= 0 && is_tuple_of(node->positions, edges) &&
                 is_tuple_of(node->devices, edges) && node->arguments != NULL && PyLong_CheckExact(node->arguments) &&
                 PyLong_AsSsize_t(node->arguments) == count;
    PyObject *grads = known ? PyTuple_New(edges) : NULL;
    for (Py_ssize_t i = 0; grads != NULL && i < count; i++) {
        PyObject *grad = PyTuple_GET_ITEM(result, i);
        bool given = next < edges && PyLong_AsSsize_t(PyTuple_GET_ITEM(node->positions, next)) == i;
        if (given ? !fits_edge(node, next, grad) : grad != Py_None) {
            Py_CLEAR(grads);
        }
        else if (given) {
            PyTuple_SET_ITEM(grads, next++, Py_NewRef(grad));
        }
    }
    if (grads != NULL && next < edges) {
        Py_CLEAR(grads);
    }
    return grads;
}

int
run_custom(PyObject *given, PyObject *grad, PyObject **grads)
{
    ContextObject *node = as_context(given);
    bool single = is_single(given) == 1;
    PyObject *values = NULL;
    if (custom.finished == NULL || !runs_as_caller()) {
        return 0;
    }
    if (!single) {
        /* Those that are missing are made by Python. */
        for (Py_ssize_t i = 0; PyList_CheckExact(grad) && i < PyList_GET_SIZE(grad); i++) {
            if (PyList_GET_ITEM(grad, i) == Py_None) {
                return 0;
            }
        }
        values = PySequence_Tuple(grad); /* The user's code may not change it meanwhile. */
        if (values == NULL) {
            return -1;
        }
    }
    PyObject *backward = backward_of(given), *result = NULL;
    *grads = NULL;
    if (backward != NULL) {
        PyObject *const *items = single ? &grad : ((PyTupleObject *)values)->ob_item;
        result = call_with(backward, given, items, single ? 1 : PyTuple_GET_SIZE(values));
    }
    if (result != NULL && !PyTuple_Check(result)) {
        Py_SETREF(result, PyTuple_Pack(1, result));
    }
    if (result != NULL) {
        *grads = plain_gradients(node, result);
        if (*grads == NULL && !PyErr_Occurred()) {
            *grads = PyObject_CallMethodOneArg(given, names._tl_checked, result);
        }
    }
    bool left = backward == NULL;
    Py_XDECREF(values);
    Py_XDECREF(backward);
    Py_XDECREF(result);
    return left ? 0 : *grads == NULL ? -1 : 1;
}

int
release_custom(PyObject *node)
{
    ContextObject *self = as_context(node);
    int full = self->saved == NULL ? 0 : PyObject_IsTrue(self->saved);
    if (full > 0) {
        Py_SETREF(self->saved, Py_NewRef(graph.released));
    }
    return full < 0 ? -1 : 0;
}

int
add_context(PyObject *module)
{
    if (PyModule_AddType(module, &ContextType) < 0) {
        return -1;
    }
    /* As for those of a node: see `add_node`. */
    Py_ssize_t count = Py_ARRAY_LENGTH(context_members) - 1;
    PyObject *slots = PyTuple_New(count);
    for (Py_ssize_t i = 0; slots != NULL && i < count; i++) {
        PyObject *name = PyUnicode_FromString(context_members[i].name);
        if (name == NULL) {
            Py_CLEAR(slots);
            break;
        }
        PyTuple_SET_ITEM(slots, i, name);
    }
    int result = slots == NULL ? -1 : PyDict_SetItemString(ContextType.tp_dict, "__slots__", slots);
    Py_XDECREF(slots);
    PyType_Modified(&ContextType);
    return result;
}
