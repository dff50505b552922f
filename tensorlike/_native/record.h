/* What node.c, record.c, program.c and engine.c share: nodes of the graph, and what C knows of a class of nodes. */
#ifndef TENSORLIKE_RECORD_H
#define TENSORLIKE_RECORD_H

#include "native.h"

/* ---- node.c: the state of a node, the base of Node in tensorlike/autograd/node.py */

#define FEW_EDGES 2

/* Note [Edges without tuples]
 * A node that is recorded in C refers to the next nodes directly: three objects less for each, which the cyclic collector
 * would go through again and again while a graph grows. The tuple of tuples is made when Python reads `_tl_edges`. */
typedef struct NodeObject {
    PyObject_HEAD
    union {
        PyObject *edges; /* _tl_edges: a tuple of (node, number) and None; NULL when unset, as the next two */
        PyObject *following[FEW_EDGES]; /* the nodes, NULL for None, where `few` is not 0 */
    };
    PyObject *shape; /* _tl_shape */
    PyObject *dtype; /* _tl_dtype */
    long long sequence_number;
    PyObject *dict;
    PyObject *weak_references;
    uint8_t few;                        /* the number of edges in `following`, 0 when `edges` has them */
    bool holds_foreign;                 /* whether it may refer to an object of the user: Note [Nodes at rest] */
    uint16_t numbers[FEW_EDGES];        /* of the outputs that the edges lead to */
    struct NodeObject *previous, *next; /* Note [Nodes at rest], NULL when the collector has the node */
} NodeObject;

/* Leave a new node, which is filled, to its references until something could close a cycle: Note [Nodes at rest]. */
void rest(NodeObject *node);

/* Have the nodes of a class freed in C, if it has no finalizer: after its slots are known. */
void free_by_slots(PyTypeObject *type);

/* Return a new node of a class, empty; NULL with an exception. */
NodeObject *allocate_node(PyTypeObject *type);

/* Whether a value that a node keeps refers to no object that could refer to the node. */
bool closes_no_cycle(PyObject *value);

/* Give a new node its edges, `count` tuples of (node, number) and None, which are taken over: -1 with an exception. */
int set_edges(NodeObject *node, PyObject *const *edges, Py_ssize_t count);

/* Return the tuple of the edges, made if need be, as a new reference; NULL with an exception. */
PyObject *get_edges(NodeObject *node);

/* The number of edges, -1 without an exception when they are unset. */
static inline Py_ssize_t
edge_count(const NodeObject *node)
{
    return node->few > 0                                            ? node->few
           : node->edges != NULL && PyTuple_CheckExact(node->edges) ? PyTuple_GET_SIZE(node->edges)
                                                                    : -1;
}

static inline bool
has_edge(const NodeObject *node, Py_ssize_t index)
{
    return node->few > 0 ? node->following[index] != NULL : PyTuple_GET_ITEM(node->edges, index) != Py_None;
}

extern PyTypeObject NodeStateType;

static inline NodeObject *
as_node(PyObject *value)
{
    return (NodeObject *)value;
}

/* The value of a slot of a node, NULL when unset. */
static inline PyObject **
slot_at(PyObject *node, Py_ssize_t offset)
{
    return (PyObject **)((char *)node + offset);
}

/* The offset of a slot of a class; -1 with a TypeError where `name` is no slot. */
Py_ssize_t slot_offset(PyTypeObject *type, PyObject *name);

/* Drop references, now or, inside the deallocation of a node, when it is over: Note [Freeing without recursion]. */
void drop_later(PyObject *const *values, int count);

/* Return the number of the next node: 1 for the first. */
long long next_sequence_number(void);

/* ---- what C needs of the Python side of the graph, given once by `core.provide_graph(...)`; strong references */

typedef struct {
    PyObject *edge_of;        /* node.edge_of */
    PyObject *released;       /* node.RELEASED */
    PyTypeObject *packed;     /* node.Packed */
    PyTypeObject *accumulate; /* node.AccumulateGrad */
    Py_ssize_t leaf;          /* the offset of its slot `_leaf` */
    PyObject *node_globals;   /* the globals of node.py, where `accumulating` is replaced after a fork */
    PyObject *visit;          /* engine._visit */
    PyObject *add_recorded;   /* engine._add_recorded */
    PyObject *add_arrays;     /* engine._add_arrays */
    PyObject *unbroadcast;    /* engine.unbroadcast_and_cast */
    /* Interned names. */
    PyObject *recording, *grad_value, *hooks;
    PyObject *apply, *release, *outputs, *special, *data, *shape, *accumulating, *acquire, *unlock;
} Graph;

extern Graph graph;

/* ---- program.c: what C knows of a class of nodes */

typedef struct {
    Py_ssize_t offset;
    bool only_tensors; /* a number is kept: see `_released` in tensor/declarations/recording.py */
} Released;

typedef struct Program Program;

typedef struct {
    PyTypeObject *type;
    Py_ssize_t releases; /* -1 when Python's `_tl_release` does it */
    Released *released;
    Program *program; /* the formulas, or NULL when Python's `_tl_apply` runs them */
} NodeClass;

/* What C knows of the nodes of a class, or NULL. */
const NodeClass *node_class_of(PyTypeObject *type);

/* Run the formulas of a node on a plain gradient. Puts a gradient, or NULL where there is none, into `grads` for each
 * of the `count` edges, and returns 1; 0 when Python has to run them; -1 with an exception. */
int run_program(const Program *program, NodeObject *node, TensorObject *grad, PyObject **grads, Py_ssize_t count);

/* The most operands of an operation with a program. */
#define MOST_FORMULAS 4

/* Return the sum of two arrays of one dtype, written into `out` if that is not NULL: a new reference, NULL without an
 * exception when NumPy has to compute it. */
PyObject *add_small(PyObject *a, PyObject *b, PyObject *out);

/* ---- products.c */

/* Return the sums over all dimensions but the last one, whose size is `columns`: a new reference, NULL without an exception
 * when Python has to compute them, else with one. */
PyObject *sum_columns(PyArrayObject *array, npy_intp columns);
/* ---- engine.c */

/* Whether a node has one output: 1, 0, or -1 with an exception. */
int is_single(PyObject *node);

/* Whether a gradient is a plain tensor of the shape and dtype of an output of a node. */
bool fits_output(PyObject *grad, PyObject *node, long number);

/* ---- context.c: nodes of custom Functions, FunctionNode in tensorlike/autograd/function_node.py */

typedef struct {
    NodeObject node;
    PyObject *needs_input_grad;
    /* Their names in Python begin with `_tl_`. Objects all, for Note [Slots in C] in tensor.c. */
    PyObject *to_save, *saved, *positions, *arguments, *devices, *outputs, *special, *make_zeros, *recorded;
} ContextObject;

extern PyTypeObject ContextType;

static inline bool
is_context(PyObject *node)
{
    return PyObject_TypeCheck(node, &ContextType);
}

static inline ContextObject *
as_context(PyObject *node)
{
    return (ContextObject *)node;
}

/* Whether a custom node has hooks: 1, 0, or -1 with an exception. */
int is_hooked(PyObject *node);

/* Run the backward of the user: 1 with the gradients of the edges, a tuple; 0 when `_tl_apply` has to do it; -1 with an
 * exception. `grad` is a list of gradients for several outputs. */
int run_custom(PyObject *node, PyObject *grad, PyObject **grads);

/* Free the saved tensors of a custom node: -1 with an exception. */
int release_custom(PyObject *node);

/* ---- record.c */

/* Return the edge of a tracked tensor as a new reference, None where it requires no grad; NULL with an exception. */
PyObject *edge_of(TensorObject *tensor);

/* Return the shape of an array, NULL with an exception. */
PyObject *shape_tuple(PyArrayObject *array);

/* Whether an object, or NULL, is the shape of an array. */
bool is_shape_of(PyObject *shape, PyArrayObject *array);

/* Return the tensor of the type `type` of a result, with its node where one is needed: a new reference, NULL with an
 * exception, or LEFT_TO_PYTHON. `parameters` are those of the operation, without those at the end that have their
 * default. */
PyObject *record_result(PyObject *recorder, PyTypeObject *type, PyObject *array, PyObject *const *parameters,
                        Py_ssize_t count);

/* Give `made`, a view that was made of the first parameter, the node that `record_result` would make: 1, 0 when Python
 * has to do it, -1 with an exception. */
int record_onto(PyObject *recorder, PyObject *made, PyObject *const *parameters, Py_ssize_t count);

#endif
