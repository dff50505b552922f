/* The state of a node of the graph as members of a C struct: see tensorlike/autograd/node.py.
 *
 * Note [Freeing without recursion]
 * A node frees those that its edges lead to, which may be a chain of any length. The outermost deallocation of a thread
 * frees what the others leave in a list, so that the stack stays as shallow as for one node, on every version of CPython
 * and with the smallest stack of a thread.
 */
#include "record.h"

#ifdef _MSC_VER
#define THREAD_LOCAL __declspec(thread)
#else
#define THREAD_LOCAL _Thread_local
#endif

/* Of the generations of the collector; CPython 3.14 collects old objects in steps, which it calls the first. */
#if PY_VERSION_HEX >= 0x030E0000
#define FULL_COLLECTION 1
#else
#define FULL_COLLECTION 2
#endif

Graph graph;

/* The most references that are dropped together: those of a node, and what it saves. */
#define MOST_DROPPED 16

/* The list of a thread: deallocations nest per thread, and have no argument that could carry it. */
static THREAD_LOCAL struct {
    PyObject **values;
    Py_ssize_t count, room;
    bool active;
} waiting;

/* Put a reference on the list of the thread. */
static bool
put_off(PyObject *value)
{
    if (waiting.count == waiting.room) {
        Py_ssize_t room = waiting.room ? 2 * waiting.room : 16;
        PyObject **values = PyMem_RawRealloc(waiting.values, (size_t)room * sizeof(PyObject *));
        if (values == NULL) {
            return false;
        }
        waiting.values = values;
        waiting.room = room;
    }
    waiting.values[waiting.count++] = value;
    return true;
}

void
drop_later(PyObject *const *values, int count)
{
    PyObject *last[MOST_DROPPED];
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (values[i] != NULL && Py_REFCNT(values[i]) == 1 && found < MOST_DROPPED) {
            last[found++] = values[i];
        }
        else {
            Py_XDECREF(values[i]); /* It lives on. */
        }
    }
    if (found == 0) {
        return;
    }
    bool outermost = !waiting.active;
    waiting.active = true;
    for (int i = 0; i < found; i++) {
        if (!put_off(last[i])) {
            Py_DECREF(last[i]); /* There is no memory: try with the stack. */
        }
    }
    if (!outermost) {
        return;
    }
    while (waiting.count > 0) {
        Py_DECREF(waiting.values[--waiting.count]);
    }
    PyMem_RawFree(waiting.values);
    waiting.values = NULL;
    waiting.room = 0;
    waiting.active = false;
}

/* ---- Note [Nodes at rest]
 * A node that is recorded in C refers to older nodes, arrays and their counters alone. These make no cycle, and a
 * collector that goes through them takes half of the time of a program that records 10^5 nodes. So such a node is kept out
 * of the young generations: it rests, in a ring of our own. It wakes, and is the collector's, when Python sets an
 * attribute of it or asks for its `__dict__`, which may then hold an object of the user (a hook, metadata, a packed value).
 * A node that leads to one with such an object, now or through others, never rests, so that a hook that refers to what is
 * computed from its tensor is found as soon as without C. A hook that comes later than that is found by the next full
 * collection: all nodes wake before it, by `before_collection` among `gc.callbacks`.
 */

/* The ring of the nodes at rest; changed with the lock of the interpreter held. */
static NodeObject resting = {.previous = &resting, .next = &resting};

static inline bool
is_resting(const NodeObject *node)
{
    return node->next != NULL;
}

static inline void
leave_ring(NodeObject *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->previous = node->next = NULL;
}

static void
wake(NodeObject *node)
{
    if (is_resting(node)) {
        leave_ring(node);
        PyObject_GC_Track(node);
    }
}

bool
closes_no_cycle(PyObject *value)
{
    if (value == NULL || !PyObject_IS_GC(value)) {
        return true;
    }
    if (!PyTuple_CheckExact(value)) {
        return false;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(value);
    if (count == 3 && PyArray_CheckExact(PyTuple_GET_ITEM(value, 0)) && PyList_CheckExact(PyTuple_GET_ITEM(value, 1))) {
        return true; /* An array with its counter and version. */
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyObject_IS_GC(PyTuple_GET_ITEM(value, i))) {
            return false;
        }
    }
    return true;
}

/* Whether a node, or one that it leads to, may refer to an object of the user. */
static inline bool
leads_to_foreign(const NodeObject *node)
{
    return node->holds_foreign || (node->dict != NULL && PyDict_GET_SIZE(node->dict) > 0);
}

void
rest(NodeObject *node)
{
    node->holds_foreign = node->holds_foreign || node->few == 0;
    for (int i = 0; i < node->few && !node->holds_foreign; i++) {
        node->holds_foreign = node->following[i] != NULL && leads_to_foreign(as_node(node->following[i]));
    }
    if (node->holds_foreign) {
        return;
    }
    PyObject_GC_UnTrack(node);
    node->previous = &resting;
    node->next = resting.next;
    resting.next->previous = node;
    resting.next = node;
}

/* before_collection(phase, info): a callback of the collector. */
static PyObject *
before_collection(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(args[0]) || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "before_collection(): a phase and a dict are expected");
        return NULL;
    }
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        PyObject *generation = PyDict_GetItemString(args[1], "generation");
        if (generation != NULL && PyLong_Check(generation) && PyLong_AsLong(generation) >= FULL_COLLECTION) {
            for (NodeObject *node = resting.next, *next; node != &resting; node = next) {
                next = node->next;
                if (Py_REFCNT(node) > 0) { /* The class of a node frees its slots before node_dealloc runs. */
                    wake(node);
                }
            }
        }
    }
    Py_RETURN_NONE;
}

/* ---- edges: see Note [Edges without tuples] in record.h */

/* Take all that a node refers to by its edges out of it. */
static void
take_edges(NodeObject *node, PyObject *taken[FEW_EDGES])
{
    for (int i = 0; i < FEW_EDGES; i++) { /* `edges` is the first of them where there are no others. */
        taken[i] = node->following[i];
        node->following[i] = NULL;
    }
    node->few = 0;
}

int
set_edges(NodeObject *node, PyObject *const *edges, Py_ssize_t count)
{
    bool few = count > 0 && count <= FEW_EDGES;
    for (Py_ssize_t i = 0; few && i < count; i++) {
        if (edges[i] == Py_None) {
            continue;
        }
        few = PyTuple_CheckExact(edges[i]) && PyTuple_GET_SIZE(edges[i]) == 2 &&
              PyLong_CheckExact(PyTuple_GET_ITEM(edges[i], 1));
        PyObject *next = few ? PyTuple_GET_ITEM(edges[i], 0) : NULL;
        few = few && (Py_TYPE(next) == graph.accumulate || PyObject_TypeCheck(next, &NodeStateType));
        long number = few ? PyLong_AsLong(PyTuple_GET_ITEM(edges[i], 1)) : -1;
        if (number < 0 || number > UINT16_MAX) {
            PyErr_Clear();
            few = false;
            continue;
        }
        node->numbers[i] = (uint16_t)number;
    }
    PyObject *tuple = few ? NULL : PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (few) {
            node->following[i] = edges[i] == Py_None ? NULL : Py_NewRef(PyTuple_GET_ITEM(edges[i], 0));
            Py_DECREF(edges[i]);
        }
        else if (tuple != NULL) {
            PyTuple_SET_ITEM(tuple, i, edges[i]);
        }
        else {
            Py_DECREF(edges[i]);
        }
    }
    if (!few) {
        node->edges = tuple;
        return tuple == NULL ? -1 : 0;
    }
    node->few = (uint8_t)count;
    return 0;
}

PyObject *
get_edges(NodeObject *node)
{
    if (node->few > 0) {
        PyObject *edges = PyTuple_New(node->few);
        for (int i = 0; edges != NULL && i < node->few; i++) {
            PyObject *edge = node->following[i] == NULL ? Py_NewRef(Py_None)
                                                        : Py_BuildValue("(Oi)", node->following[i], node->numbers[i]);
            if (edge == NULL) {
                Py_CLEAR(edges);
                break;
            }
            PyTuple_SET_ITEM(edges, i, edge);
        }
        if (edges == NULL) {
            return NULL;
        }
        if (node->few > 0) { /* The collector may have run, and what it calls may have read them. */
            PyObject *taken[FEW_EDGES];
            take_edges(node, taken);
            node->edges = edges;
            drop_later(taken, FEW_EDGES);
        }
        else {
            Py_DECREF(edges);
        }
    }
    if (node->edges == NULL) {
        PyErr_Format(PyExc_AttributeError, "'%.200s' object has no attribute '_tl_edges'", Py_TYPE(node)->tp_name);
        return NULL;
    }
    return Py_NewRef(node->edges);
}

static PyObject *
node_get_edges(NodeObject *self, void *Py_UNUSED(closure))
{
    return get_edges(self);
}

static int
node_set_edges(NodeObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    PyObject *taken[FEW_EDGES];
    if (value == NULL && self->few == 0 && self->edges == NULL) {
        PyErr_SetString(PyExc_AttributeError, "_tl_edges");
        return -1;
    }
    take_edges(self, taken);
    self->edges = Py_XNewRef(value);
    drop_later(taken, FEW_EDGES);
    return 0;
}

/* ---- the type */

static int
node_traverse(NodeObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->shape);
    Py_VISIT(self->dtype);
    Py_VISIT(self->dict);
    for (int i = 0; i < FEW_EDGES; i++) {
        Py_VISIT(self->following[i]);
    }
    return 0;
}

static int
node_clear(NodeObject *self)
{
    PyObject *taken[FEW_EDGES];
    take_edges(self, taken);
    Py_CLEAR(self->shape);
    Py_CLEAR(self->dtype);
    Py_CLEAR(self->dict);
    drop_later(taken, FEW_EDGES);
    return 0;
}

static void
node_dealloc(NodeObject *self)
{
    if (is_resting(self)) {
        leave_ring(self);
    }
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    PyObject *taken[1 + FEW_EDGES];
    take_edges(self, taken);
    taken[FEW_EDGES] = self->dict;
    self->dict = NULL;
    Py_CLEAR(self->shape);
    Py_CLEAR(self->dtype);
    Py_TYPE(self)->tp_free((PyObject *)self);
    drop_later(taken, 1 + FEW_EDGES);
}

/* Free a node of a class whose slots hold what is saved: as `subtype_dealloc` frees the instances of a class that is
 * written in Python, of which ours is a fifth of the time of a recorded call. */
static void
recorded_dealloc(NodeObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    if (is_resting(self)) {
        leave_ring(self);
    }
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    PyObject *taken[MOST_DROPPED];
    int count = FEW_EDGES;
    take_edges(self, taken);
    taken[count++] = self->dict;
    for (const PyMemberDef *member = type->tp_members; member->name != NULL; member++) {
        PyObject *value = *slot_at((PyObject *)self, member->offset);
        if (value != NULL && !closes_no_cycle(value) && count < MOST_DROPPED) {
            taken[count++] = value; /* It may refer to other nodes. */
        }
        else {
            Py_XDECREF(value);
        }
    }
    Py_XDECREF(self->shape);
    Py_XDECREF(self->dtype);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
    drop_later(taken, count);
}

void
free_by_slots(PyTypeObject *type)
{
    PyTypeObject *base = type->tp_base;
    while (base != NULL && base != &NodeStateType && base->tp_basicsize == NodeStateType.tp_basicsize) {
        base = base->tp_base;
    }
    bool known = base == &NodeStateType && type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_members != NULL &&
                 type->tp_finalize == NULL && type->tp_del == NULL && !(type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    if (known) {
        type->tp_dealloc = (destructor)recorded_dealloc;
    }
}

NodeObject *
allocate_node(PyTypeObject *type)
{
    if (type->tp_dealloc != (destructor)recorded_dealloc) {
        return (NodeObject *)type->tp_alloc(type, 0);
    }
    NodeObject *node = PyObject_GC_New(NodeObject, type); /* `tp_alloc` would track it, for nothing. */
    if (node != NULL) {
        memset((char *)node + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject));
        PyObject_GC_Track(node);
    }
    return node;
}

static int
node_setattr(NodeObject *self, PyObject *name, PyObject *value)
{
    wake(self);
    /* Tuples and lists here are ours: edges, shapes, saved values. So are weak references, those of accumulators. */
    bool ours = value == NULL || !PyObject_IS_GC(value) || PyTuple_CheckExact(value) || PyList_CheckExact(value) ||
                PyWeakref_CheckRef(value);
    self->holds_foreign = self->holds_foreign || !ours;
    return PyObject_GenericSetAttr((PyObject *)self, name, value);
}

static PyObject *
node_get_dict(NodeObject *self, void *context)
{
    wake(self); /* `leads_to_foreign` sees what is put into it. */
    return PyObject_GenericGetDict((PyObject *)self, context);
}

static PyMemberDef node_members[] = {
    {"_tl_shape", T_OBJECT_EX, offsetof(NodeObject, shape), 0, NULL},
    {"_tl_dtype", T_OBJECT_EX, offsetof(NodeObject, dtype), 0, NULL},
    {"_tl_sequence_number", T_LONGLONG, offsetof(NodeObject, sequence_number), 0, NULL},
    {NULL},
};

static PyGetSetDef node_getset[] = {
    {"__dict__", (getter)node_get_dict, PyObject_GenericSetDict, NULL, NULL},
    {"_tl_edges", (getter)node_get_edges, (setter)node_set_edges, NULL, NULL},
    {NULL},
};

PyTypeObject NodeStateType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.NodeState",
    .tp_doc = "The state of a node.",
    .tp_basicsize = sizeof(NodeObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = (destructor)node_dealloc,
    .tp_traverse = (traverseproc)node_traverse,
    .tp_clear = (inquiry)node_clear,
    .tp_setattro = (setattrofunc)node_setattr,
    .tp_members = node_members,
    .tp_getset = node_getset,
    .tp_dictoffset = offsetof(NodeObject, dict),
    .tp_weaklistoffset = offsetof(NodeObject, weak_references),
};

Py_ssize_t
slot_offset(PyTypeObject *type, PyObject *name)
{
    PyObject *descriptor = PyObject_GetAttr((PyObject *)type, name);
    if (descriptor == NULL) {
        return -1;
    }
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && PyType_IsSubtype(type, PyDescr_TYPE(descriptor))) {
        offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    }
    else {
        PyErr_Format(PyExc_TypeError, "%U is no slot of %.200s", name, type->tp_name);
    }
    Py_DECREF(descriptor);
    return offset;
}

static long long sequence_number; /* of the newest node; nodes are made with the lock of the interpreter held */

long long
next_sequence_number(void)
{
    return ++sequence_number;
}

static PyObject *
python_next_sequence_number(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLongLong(next_sequence_number());
}

/* provide_graph(edge_of=, released=, ...): takes what C needs of the graph's Python side. */
static PyObject *
provide_graph(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"edge_of", "released",     "packed",     "accumulate",  "node_globals",
                            "visit",   "add_recorded", "add_arrays", "unbroadcast", NULL};
    Graph given = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$OOO!O!O!OOOO:provide_graph", names, &given.edge_of,
                                     &given.released, &PyType_Type, &given.packed, &PyType_Type, &given.accumulate,
                                     &PyDict_Type, &given.node_globals, &given.visit, &given.add_recorded,
                                     &given.add_arrays, &given.unbroadcast)) {
        return NULL;
    }
    struct {
        PyObject **place;
        const char *text;
    } words[] = {
        {&given.recording, "recording"},
        {&given.grad_value, "grad_value"},
        {&given.hooks, "post_accumulate_hooks"},
        {&given.apply, "_tl_apply"},
        {&given.release, "_tl_release"},
        {&given.outputs, "_tl_outputs"},
        {&given.special, "_tl_special"},
        {&given.data, "_tl_data"},
        {&given.shape, "shape"},
        {&given.accumulating, "accumulating"},
        {&given.acquire, "acquire"},
        {&given.unlock, "release"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        *words[i].place = PyUnicode_InternFromString(words[i].text); /* They live as long as the process. */
        if (*words[i].place == NULL) {
            return NULL;
        }
    }
    PyObject *leaf = PyUnicode_FromString("_leaf");
    if (leaf == NULL) {
        return NULL;
    }
    given.leaf = slot_offset(given.accumulate, leaf);
    Py_DECREF(leaf);
    if (given.leaf < 0) {
        return NULL;
    }
    Py_INCREF(given.edge_of);
    Py_INCREF(given.released);
    Py_INCREF(given.packed);
    Py_INCREF(given.accumulate);
    Py_INCREF(given.node_globals);
    Py_INCREF(given.visit);
    Py_INCREF(given.add_recorded);
    Py_INCREF(given.add_arrays);
    Py_INCREF(given.unbroadcast);
    graph = given;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"next_sequence_number", python_next_sequence_number, METH_NOARGS, "Return the number of the next node."},
    {"before_collection", (PyCFunction)(void (*)(void))before_collection, METH_FASTCALL,
     "Give the nodes at rest to the collector before it goes through all objects: a callback for `gc.callbacks`."},
    {"provide_graph", (PyCFunction)(void (*)(void))provide_graph, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL},
};

int
add_node(PyObject *module)
{
    /* As of a class written in Python, so that `object.__new__` makes nodes. */
    NodeStateType.tp_new = PyBaseObject_Type.tp_new;
    if (PyModule_AddType(module, &NodeStateType) < 0) {
        return -1;
    }
    /* The names of the members, as a class written in Python has them: those that copy a node read them. `copy.copy` wants
     * one for each word of the struct, and goes on where a name is unset. */
    PyObject *slots = Py_BuildValue("(ssssssss)", "_tl_dtype", "_tl_edges", "_tl_sequence_number", "_tl_shape",
                                    "_tl_following", "_tl_few", "_tl_previous", "_tl_next");
    if (slots == NULL || PyDict_SetItemString(NodeStateType.tp_dict, "__slots__", slots) < 0) {
        Py_XDECREF(slots);
        return -1;
    }
    Py_DECREF(slots);
    PyType_Modified(&NodeStateType);
    return PyModule_AddFunctions(module, functions);
}
