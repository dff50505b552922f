/* The loop of a run of the graph: the twin of `_loop` in tensorlike/autograd/engine.py.
 *
 * It orders nodes and adds up gradients; nodes with hooks or several outputs, gradients of subclasses and all that is
 * unusual go through the functions of engine.py that `_loop` calls, with the same arguments.
 */
#include "record.h"

#define SMALL_TABLE 16    /* places for nodes that need no memory; a power of two */
#define NODES_AT_ONCE 256 /* between two looks for a signal or another thread that waits */

/* What is on its way to a node. */
typedef struct {
    PyObject *node; /* NULL for a free place */
    PyObject *grad; /* NULL where none has arrived; a list for several outputs */
    bool owned;     /* made by an addition of this run: further gradients are added in place */
} Pending;

typedef struct {
    long long number;
    PyObject *node; /* borrowed from the Pending */
} Ordered;

typedef struct {
    Pending *pending; /* open addressing by the node; a power of two */
    size_t room, count;
    Pending small[SMALL_TABLE];
    Ordered *heap;
    size_t heap_room, heap_count;
    PyObject *run, *alive, *watched; /* borrowed; NULL for None */
    PyObject *owned;                 /* a set: (node, number) of several outputs with a sum of this run */
    bool keep_graph, create_graph, closely;
} Run;

/* ---- the table and the heap */

static inline size_t
hash_of(PyObject *node, size_t room)
{
    return (size_t)(((uint64_t)((uintptr_t)node >> 4) * 11400714819323198485ull) >> 20) & (room - 1);
}

static size_t
find_place(const Pending *pending, size_t room, PyObject *node)
{
    size_t place = hash_of(node, room);
    while (pending[place].node != NULL && pending[place].node != node) {
        place = (place + 1) & (room - 1);
    }
    return place;
}

static int
make_room(Run *run)
{
    if (2 * (run->count + 1) <= run->room) {
        return 0;
    }
    size_t room = 2 * run->room;
    Pending *pending = PyMem_Calloc(room, sizeof(Pending));
    if (pending == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < run->room; i++) {
        if (run->pending[i].node != NULL) {
            pending[find_place(pending, room, run->pending[i].node)] = run->pending[i];
        }
    }
    if (run->pending != run->small) {
        PyMem_Free(run->pending);
    }
    run->pending = pending;
    run->room = room;
    return 0;
}

/* Take a place out of the table, moving those back that had to go round it. */
static void
remove_place(Run *run, size_t place)
{
    size_t mask = run->room - 1, next = place;
    run->count--;
    for (;;) {
        run->pending[place].node = NULL;
        size_t home;
        do {
            next = (next + 1) & mask;
            if (run->pending[next].node == NULL) {
                return;
            }
            home = hash_of(run->pending[next].node, run->room);
        } while (place <= next ? (place < home && home <= next) : (place < home || home <= next));
        run->pending[place] = run->pending[next];
        place = next;
    }
}

static int
push(Run *run, PyObject *node)
{
    if (run->heap_count == run->heap_room) {
        size_t room = run->heap_room ? 2 * run->heap_room : 32;
        Ordered *heap = PyMem_Realloc(run->heap, room * sizeof(Ordered));
        if (heap == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        run->heap = heap;
        run->heap_room = room;
    }
    long long number = as_node(node)->sequence_number;
    size_t place = run->heap_count++;
    while (place > 0 && run->heap[(place - 1) / 2].number < number) {
        run->heap[place] = run->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    run->heap[place] = (Ordered){number, node};
    return 0;
}

static PyObject *
pop(Run *run)
{
    Ordered first = run->heap[0], last = run->heap[--run->heap_count];
    size_t place = 0, child;
    while ((child = 2 * place + 1) < run->heap_count) {
        if (child + 1 < run->heap_count && run->heap[child + 1].number > run->heap[child].number) {
            child++;
        }
        if (run->heap[child].number <= last.number) {
            break;
        }
        run->heap[place] = run->heap[child];
        place = child;
    }
    if (run->heap_count > 0) {
        run->heap[place] = last;
    }
    return first.node;
}

/* Return the Pending of a node, put on the heap when it is new; NULL with an exception. Valid until the next call. */
static Pending *
pending_of(Run *run, PyObject *node, bool *is_new)
{
    if (make_room(run) < 0) {
        return NULL;
    }
    Pending *found = &run->pending[find_place(run->pending, run->room, node)];
    *is_new = found->node == NULL;
    if (*is_new) {
        if (push(run, node) < 0) {
            return NULL;
        }
        *found = (Pending){Py_NewRef(node), NULL, false};
        run->count++;
    }
    return found;
}

/* ---- reading nodes and gradients */

/* What C knows of a node: NULL for classes that it does not know, and nodes with an attribute of their own. CPython 3.11
 * gives every node made in Python an empty dict. */
static inline const NodeClass *
known_class(PyObject *node)
{
    PyObject *dict = as_node(node)->dict;
    return dict == NULL || PyDict_GET_SIZE(dict) == 0 ? node_class_of(Py_TYPE(node)) : NULL;
}

int
is_single(PyObject *node)
{
    if (known_class(node) != NULL) {
        return 1;
    }
    PyObject *outputs = is_context(node) && as_context(node)->outputs != NULL ? Py_NewRef(as_context(node)->outputs)
                                                                              : PyObject_GetAttr(node, graph.outputs);
    if (outputs == NULL) {
        return -1;
    }
    int single = PyLong_CheckExact(outputs) && PyLong_AsLong(outputs) == 1;
    Py_DECREF(outputs);
    return single;
}

static int
is_special(PyObject *node)
{
    PyObject *special = PyObject_GetAttr(node, graph.special);
    int found = special == NULL ? -1 : PyObject_IsTrue(special);
    Py_XDECREF(special);
    return found;
}

/* Whether a gradient is a plain tensor around an array of NumPy. */
static inline bool
is_plain(PyObject *grad)
{
    return Py_TYPE(grad) == provided.tensor && as_tensor(grad)->data != NULL &&
           PyArray_CheckExact(as_tensor(grad)->data);
}

/* Whether a plain gradient has a shape, a tuple, and a dtype. */
static bool
fits(PyObject *grad, PyObject *shape, PyObject *dtype)
{
    PyArrayObject *array = (PyArrayObject *)as_tensor(grad)->data;
    return (PyObject *)PyArray_DESCR(array) == dtype && is_shape_of(shape, array);
}

bool
fits_output(PyObject *grad, PyObject *node, long number)
{
    int single = is_plain(grad) ? is_single(node) : -1;
    if (single < 0) {
        PyErr_Clear(); /* Whoever asks next gets it. */
        return false;
    }
    PyObject *shape = as_node(node)->shape, *dtype = as_node(node)->dtype;
    if (single) {
        return fits(grad, shape, dtype);
    }
    return number >= 0 && shape != NULL && PyTuple_CheckExact(shape) && number < PyTuple_GET_SIZE(shape) &&
           dtype != NULL && PyTuple_CheckExact(dtype) && number < PyTuple_GET_SIZE(dtype) &&
           fits(grad, PyTuple_GET_ITEM(shape, number), PyTuple_GET_ITEM(dtype, number));
}

/* ---- gradients that arrive */

/* Return the sum of two gradients by `_add_arrays` or `_add_recorded` of engine.py; `owned` is read and set. */
static PyObject *
add_in_python(Run *run, PyObject *before, PyObject *grad, PyObject *key, bool *owned)
{
    PyObject *set = PySet_New(NULL), *sum = NULL;
    if (set != NULL && (!*owned || PySet_Add(set, key) == 0)) {
        PyObject *args[] = {before, grad, key, set};
        sum = PyObject_Vectorcall(run->create_graph ? graph.add_recorded : graph.add_arrays, args, 4, NULL);
        *owned = PySet_GET_SIZE(set) > 0;
    }
    Py_XDECREF(set);
    return sum;
}

static int
add_to(Run *run, PyObject *node, PyObject *grad)
{
    Pending *found = &run->pending[find_place(run->pending, run->room, node)];
    PyObject *before = found->grad, *sum;
    bool owned = found->owned;
    if (!run->create_graph && is_plain(before) && is_plain(grad)) {
        PyObject *array = as_tensor(before)->data;
        PyObject *total = add_small(array, as_tensor(grad)->data, owned ? array : NULL);
        if (total != NULL && owned) {
            Py_DECREF(total);
            return 0;
        }
        if (total != NULL) {
            sum = new_tensor(total);
            if (sum == NULL) {
                return -1;
            }
            found->grad = sum;
            found->owned = true;
            Py_DECREF(before);
            return 0;
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    Py_INCREF(before);
    sum = add_in_python(run, before, grad, node, &owned);
    Py_DECREF(before);
    if (sum == NULL) {
        return -1;
    }
    /* The table may not have changed: only this loop writes it. */
    found->owned = owned;
    Py_SETREF(found->grad, sum);
    return 0;
}

/* Return a gradient in a shape and dtype, by `unbroadcast_and_cast`. */
static PyObject *
fitted(PyObject *grad, PyObject *shape, PyObject *dtype, PyObject *from)
{
    PyObject *args[] = {grad, shape, dtype, from};
    return PyObject_Vectorcall(graph.unbroadcast, args, 4, NULL);
}

/* The same as `fitted` for a sum to one row, as the gradient of a bias is, that is not recorded; NULL without an
 * exception for all else. */
static PyObject *
fitted_to_row(const Run *run, PyObject *grad, PyObject *shape, PyObject *dtype)
{
    if (run->create_graph || !is_plain(grad) || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 1) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)as_tensor(grad)->data;
    PyObject *size = PyTuple_GET_ITEM(shape, 0);
    int overflow = 0;
    long long columns = PyLong_CheckExact(size) ? PyLong_AsLongLongAndOverflow(size, &overflow) : 0;
    if (columns <= 0 || (PyObject *)PyArray_DESCR(array) != dtype) {
        return NULL;
    }
    PyObject *sums = sum_columns(array, columns);
    return sums == NULL ? NULL : new_tensor(sums);
}

/* Note that a node runs, if without a gradient. */
static int
arrive_without(Run *run, PyObject *node)
{
    int single = is_single(node);
    bool is_new;
    Pending *found = single < 0 ? NULL : pending_of(run, node, &is_new);
    if (found == NULL) {
        return -1;
    }
    if (!is_new || single) {
        return 0;
    }
    Py_ssize_t count = PyObject_Size(as_node(node)->shape);
    PyObject *slots = count < 0 ? NULL : PyList_New(count);
    if (slots == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyList_SET_ITEM(slots, i, Py_NewRef(Py_None));
    }
    found->grad = slots;
    return 0;
}

/* Accumulate a gradient for one of several outputs of a node. */
static int
arrive_at_output(Run *run, PyObject *node, PyObject *number, PyObject *grad)
{
    int result = -1;
    PyObject *shape = PyObject_GetItem(as_node(node)->shape, number), *dtype = NULL, *slots = NULL, *key = NULL;
    PyObject *before = NULL;
    if (shape == NULL || (dtype = PyObject_GetItem(as_node(node)->dtype, number)) == NULL) {
        Py_XDECREF(shape);
        return -1;
    }
    grad = is_plain(grad) && fits(grad, shape, dtype) ? Py_NewRef(grad) : fitted(grad, shape, dtype, node);
    if (grad == NULL || arrive_without(run, node) < 0) {
        goto done;
    }
    slots = Py_NewRef(run->pending[find_place(run->pending, run->room, node)].grad);
    before = PyObject_GetItem(slots, number);
    if (before == NULL) {
        goto done;
    }
    if (before != Py_None) {
        if ((key = PyTuple_Pack(2, node, number)) == NULL ||
            (run->owned == NULL && (run->owned = PySet_New(NULL)) == NULL)) {
            goto done;
        }
        PyObject *args[] = {before, grad, key, run->owned};
        PyObject *sum = PyObject_Vectorcall(run->create_graph ? graph.add_recorded : graph.add_arrays, args, 4, NULL);
        if (sum == NULL) {
            goto done;
        }
        Py_SETREF(grad, sum);
    }
    result = PyObject_SetItem(slots, number, grad);
done:
    Py_DECREF(shape);
    Py_DECREF(dtype);
    Py_XDECREF(slots);
    Py_XDECREF(key);
    Py_XDECREF(before);
    Py_XDECREF(grad);
    return result;
}

/* Accumulate a gradient that `from` has computed for an edge. */
static int
arrive(Run *run, PyObject *node, PyObject *number, PyObject *grad, PyObject *from)
{
    int single = is_single(node);
    if (single <= 0) {
        return single < 0 ? -1 : arrive_at_output(run, node, number, grad);
    }
    if (is_plain(grad) && fits(grad, as_node(node)->shape, as_node(node)->dtype)) {
        Py_INCREF(grad);
    }
    else {
        PyObject *shape = as_node(node)->shape, *dtype = as_node(node)->dtype;
        if (shape == NULL || dtype == NULL) {
            PyErr_SetString(PyExc_AttributeError, shape == NULL ? "_tl_shape" : "_tl_dtype");
            return -1;
        }
        Py_INCREF(shape);
        Py_INCREF(dtype);
        PyObject *row = fitted_to_row(run, grad, shape, dtype);
        grad = row != NULL || PyErr_Occurred() ? row : fitted(grad, shape, dtype, from);
        Py_DECREF(shape);
        Py_DECREF(dtype);
        if (grad == NULL) {
            return -1;
        }
    }
    bool is_new;
    Pending *found = pending_of(run, node, &is_new);
    if (found == NULL) {
        Py_DECREF(grad);
        return -1;
    }
    if (found->grad == NULL) {
        found->grad = grad;
        return 0;
    }
    int result = add_to(run, node, grad);
    Py_DECREF(grad);
    return result;
}

/* Send a gradient, NULL or None where there is none, along an edge. */
static int
send(Run *run, PyObject *following, PyObject *number, PyObject *grad, PyObject *from)
{
    if (run->alive != NULL) {
        int alive = PySet_Contains(run->alive, following);
        if (alive <= 0) {
            return alive;
        }
    }
    bool missing = grad == NULL || grad == Py_None;
    return missing ? arrive_without(run, following) : arrive(run, following, number, grad, from);
}

/* Send the gradients of a node along its edges, which are in a tuple. */
static int
distribute_by_tuple(Run *run, PyObject *node, PyObject *const *grads, Py_ssize_t count)
{
    PyObject *edges = get_edges(as_node(node));
    if (edges == NULL) {
        return -1;
    }
    int result = 0;
    if (!PyTuple_Check(edges)) {
        PyErr_Format(PyExc_TypeError, "the edges of a node must be a tuple, not %.200s", Py_TYPE(edges)->tp_name);
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(edges) && i < count; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i);
        if (edge == Py_None) {
            continue;
        }
        if (!PyTuple_Check(edge) || PyTuple_GET_SIZE(edge) < 2 ||
            !PyObject_TypeCheck(PyTuple_GET_ITEM(edge, 0), &NodeStateType)) {
            PyErr_Format(PyExc_TypeError, "an edge must be a tuple of a node and a number, not %R", edge);
            result = -1;
        }
        else {
            result = send(run, PyTuple_GET_ITEM(edge, 0), PyTuple_GET_ITEM(edge, 1), grads[i], node);
        }
    }
    Py_DECREF(edges);
    return result;
}

static int
distribute(Run *run, PyObject *node, PyObject *const *grads, Py_ssize_t count)
{
    int few = as_node(node)->few;
    if (few == 0) {
        return distribute_by_tuple(run, node, grads, count);
    }
    /* What runs meanwhile may read the edges, or replace them. */
    PyObject *following[FEW_EDGES];
    int numbers[FEW_EDGES], result = 0;
    for (int i = 0; i < few; i++) {
        following[i] = Py_XNewRef(as_node(node)->following[i]);
        numbers[i] = as_node(node)->numbers[i];
    }
    for (int i = 0; i < few; i++) {
        if (following[i] != NULL && result == 0 && i < count) {
            PyObject *number = PyLong_FromLong(numbers[i]);
            result = number == NULL ? -1 : send(run, following[i], number, grads[i], node);
            Py_XDECREF(number);
        }
        Py_XDECREF(following[i]);
    }
    return result;
}

/* ---- running nodes */

/* Free the saved values of a node. */
static int
release(PyObject *node, const NodeClass *known)
{
    if (is_context(node)) {
        return release_custom(node);
    }
    if (known == NULL || known->releases < 0) {
        PyObject *result = PyObject_CallMethodNoArgs(node, graph.release);
        Py_XDECREF(result);
        return result == NULL ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < known->releases; i++) {
        PyObject **slot = slot_at(node, known->released[i].offset);
        PyObject *value = *slot;
        if (known->released[i].only_tensors && value != NULL && !PyTuple_Check(value) &&
            !PyObject_TypeCheck(value, graph.packed)) {
            continue;
        }
        *slot = Py_NewRef(graph.released);
        Py_XDECREF(value);
    }
    return 0;
}

/* Count one more modification of the memory of a tensor. */
static int
bump(TensorObject *tensor)
{
    PyObject *counter = tensor->counter;
    if (counter == NULL || counter == Py_None) {
        return 0;
    }
    Py_INCREF(counter);
    PyObject *one = PyLong_FromLong(1), *next = NULL;
    PyObject *version = PySequence_GetItem(counter, 0);
    int result = -1;
    if (one != NULL && version != NULL && (next = PyNumber_Add(version, one)) != NULL) {
        result = PySequence_SetItem(counter, 0, next);
    }
    Py_XDECREF(one);
    Py_XDECREF(version);
    Py_XDECREF(next);
    Py_DECREF(counter);
    return result;
}

static bool
is_same_layout(PyArrayObject *a, PyArrayObject *b)
{
    int dimensions = PyArray_NDIM(a);
    return dimensions == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), dimensions) &&
           PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(b), dimensions);
}

/* The first gradient of a leaf: itself where nothing else refers to it (Note [Taking a gradient over] in node.py; the
 * caller holds the only reference), else a copy. 1, 0 when Python has to, -1 with an exception. */
static int
first_gradient(PyObject *meta, TensorObject *leaf, TensorObject *grad)
{
    PyArrayObject *array = (PyArrayObject *)grad->data, *like = (PyArrayObject *)leaf->data;
    bool has_history = (grad->edge != NULL && grad->edge != Py_None) || (grad->meta != NULL && grad->meta != Py_None);
    if (has_history) {
        return 0;
    }
    if (is_same_layout(array, like) && Py_REFCNT(grad) == 1 && Py_REFCNT(array) == 1 && PyArray_BASE(array) == NULL) {
        return PyObject_SetAttr(meta, graph.grad_value, (PyObject *)grad) < 0 ? -1 : 1;
    }
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
    if (copy == NULL) {
        return -1;
    }
    if (!is_same_layout(copy, like)) {
        Py_DECREF(copy);
        return 0;
    }
    PyObject *value = new_tensor((PyObject *)copy);
    int result = value == NULL || PyObject_SetAttr(meta, graph.grad_value, value) < 0 ? -1 : 1;
    Py_XDECREF(value);
    return result;
}

/* Add to the gradient of a leaf in place: 1, 0 when Python has to, -1 with an exception. */
static int
next_gradient(PyObject *before, TensorObject *grad)
{
    if (!is_plain(before)) {
        return 0;
    }
    TensorObject *sum = as_tensor(before);
    bool has_history = (sum->edge != NULL && sum->edge != Py_None) || (sum->meta != NULL && sum->meta != Py_None);
    if (has_history) {
        return 0;
    }
    PyObject *total = add_small(sum->data, grad->data, sum->data);
    if (total == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_DECREF(total);
    return bump(sum) < 0 ? -1 : 1;
}

/* Whether this is the only thread: no other one holds the lock then, and a new one needs this one to be started. */
static bool
is_alone(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyThreadState_GetInterpreter(PyThreadState_Get()));
    return PyThreadState_Next(first) == NULL;
}

/* Call a method of the lock that is held while a gradient is accumulated; does nothing without one. */
static int
call_lock(PyObject *lock, PyObject *method)
{
    if (lock == NULL) {
        return 0;
    }
    PyObject *result = PyObject_CallMethodNoArgs(lock, method);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Run the accumulator of a leaf on a gradient to which the caller holds one reference, without recording: 1, 0 when
 * `AccumulateGrad._tl_apply` has to, -1 with an exception. */
static int
accumulate(PyObject *node, PyObject *grad)
{
    PyObject *reference = *slot_at(node, graph.leaf);
    if (!is_plain(grad) || reference == NULL || !PyWeakref_CheckRefExact(reference)) {
        return 0;
    }
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *leaf;
    if (PyWeakref_GetRef(reference, &leaf) < 0) {
        return -1;
    }
    if (leaf == NULL) {
        return 1;
    }
#else
    PyObject *leaf = PyWeakref_GET_OBJECT(reference);
    if (leaf == Py_None) {
        return 1;
    }
    Py_INCREF(leaf);
#endif
    int result = 0;
    PyObject *meta = NULL, *hooks = NULL, *lock = NULL;
    bool readable = PyObject_TypeCheck(leaf, &StorageType) && as_tensor(leaf)->data != NULL &&
                    PyArray_CheckExact(as_tensor(leaf)->data);
    if (!readable || as_tensor(leaf)->meta == NULL || as_tensor(leaf)->meta == Py_None) {
        goto done;
    }
    meta = Py_NewRef(as_tensor(leaf)->meta);
    hooks = PyObject_GetAttr(meta, graph.hooks);
    if (hooks != Py_None) {
        result = hooks == NULL ? -1 : 0;
        goto done;
    }
    if (!is_alone()) {
        lock = PyDict_GetItemWithError(graph.node_globals, graph.accumulating);
        if (lock == NULL) {
            result = PyErr_Occurred() ? -1 : 0;
            goto done;
        }
        Py_INCREF(lock);
    }
    if (call_lock(lock, graph.acquire) < 0) {
        result = -1;
        goto done;
    }
    PyObject *before = PyObject_GetAttr(meta, graph.grad_value);
    result = before == NULL      ? -1
             : before == Py_None ? first_gradient(meta, as_tensor(leaf), as_tensor(grad))
                                 : next_gradient(before, as_tensor(grad));
    Py_XDECREF(before);
    if (result < 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (call_lock(lock, graph.unlock) < 0) {
            PyErr_Clear();
        }
        PyErr_Restore(type, value, traceback);
    }
    else if (call_lock(lock, graph.unlock) < 0) {
        result = -1;
    }
done:
    Py_DECREF(leaf);
    Py_XDECREF(meta);
    Py_XDECREF(hooks);
    Py_XDECREF(lock);
    return result;
}

/* Whether a node runs by `_visit`: 1, 0, or -1 with an exception. */
static int
is_visited(Run *run, PyObject *node, PyObject *grad, const NodeClass *known)
{
    if (grad == NULL || run->closely) {
        return 1;
    }
    int found = known != NULL ? 0 : is_context(node) ? is_hooked(node) : is_special(node);
    return found != 0 || run->watched == NULL ? found : PySequence_Contains(run->watched, node);
}

/* Run a node in Python: 1 with its gradients, 0 when they end here, -1 with an exception. */
static int
run_in_python(Run *run, PyObject *node, PyObject *grad, bool visited, PyObject **grads)
{
    PyObject *args[] = {run->run, node, grad == NULL ? Py_None : grad};
    *grads = visited ? PyObject_Vectorcall(graph.visit, args, 3, NULL)
                     : PyObject_VectorcallMethod(graph.apply, args + 1, 2, NULL);
    if (*grads == NULL) {
        return -1;
    }
    if (visited && *grads == Py_None) {
        Py_CLEAR(*grads);
        return 0;
    }
    if (!PyTuple_CheckExact(*grads) && !PyList_CheckExact(*grads)) {
        Py_SETREF(*grads, PySequence_Tuple(*grads));
    }
    return *grads == NULL ? -1 : 1;
}

static int
run_node(Run *run, PyObject *node, PyObject *grad)
{
    const NodeClass *known = known_class(node);
    int visited = is_visited(run, node, grad, known);
    if (visited < 0) {
        return -1;
    }
    PyObject *few[MOST_FORMULAS], *grads = NULL;
    Py_ssize_t count = 0;
    int done = 0, result = -1;
    if (!visited && known != NULL && !run->create_graph) {
        if (known->type == graph.accumulate) {
            done = accumulate(node, grad);
            if (done != 0) {
                return done < 0 ? -1 : 0;
            }
        }
        else if (known->program != NULL && is_plain(grad)) {
            count = edge_count(as_node(node));
            done = count < 0 ? 0 : run_program(known->program, as_node(node), as_tensor(grad), few, count);
            if (done < 0) {
                return -1;
            }
        }
    }
    if (!done) {
        int found = !visited && is_context(node) ? run_custom(node, grad, &grads) : 0;
        found = found != 0 ? found : run_in_python(run, node, grad, visited, &grads);
        if (found <= 0) {
            return found;
        }
    }
    if (!run->keep_graph && release(node, known) < 0) {
        goto end;
    }
    if (done) {
        result = distribute(run, node, few, count);
    }
    else {
        /* A list could change while its gradients arrive. */
        if (!PyTuple_CheckExact(grads)) {
            Py_SETREF(grads, PyList_AsTuple(grads));
            if (grads == NULL) {
                goto end;
            }
        }
        result = distribute(run, node, &PyTuple_GET_ITEM(grads, 0), PyTuple_GET_SIZE(grads));
    }
end:
    for (Py_ssize_t i = 0; done && i < count; i++) {
        Py_XDECREF(few[i]);
    }
    Py_XDECREF(grads);
    return result;
}

/* Accumulate the gradients that the run starts with: pairs ((node, number), gradient). */
static int
start(Run *run, PyObject *roots)
{
    int result = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(roots) && result == 0; i++) {
        PyObject *root = Py_NewRef(PySequence_Fast_GET_ITEM(roots, i));
        PyObject *edge = PyTuple_Check(root) && PyTuple_GET_SIZE(root) == 2 ? PyTuple_GET_ITEM(root, 0) : NULL;
        if (edge == NULL || !PyTuple_Check(edge) || PyTuple_GET_SIZE(edge) != 2 ||
            !PyObject_TypeCheck(PyTuple_GET_ITEM(edge, 0), &NodeStateType)) {
            PyErr_Format(PyExc_TypeError, "a root must be ((node, number), gradient), not %R", root);
            result = -1;
        }
        else {
            PyObject *node = PyTuple_GET_ITEM(edge, 0);
            int alive = run->alive == NULL ? 1 : PySet_Contains(run->alive, node);
            result = alive <= 0 ? alive : arrive(run, node, PyTuple_GET_ITEM(edge, 1), PyTuple_GET_ITEM(root, 1), node);
        }
        Py_DECREF(root);
    }
    return result;
}

static int
run_all(Run *run)
{
    for (unsigned visited = 1; run->heap_count > 0; visited++) {
        if (visited % NODES_AT_ONCE == 0) {
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
            if (PyErr_CheckSignals() < 0) {
                return -1;
            }
        }
        PyObject *node = pop(run);
        size_t place = find_place(run->pending, run->room, node);
        PyObject *grad = run->pending[place].grad;
        remove_place(run, place);
        int result = run_node(run, node, grad);
        Py_XDECREF(grad);
        Py_DECREF(node);
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

/* run_graph(run, roots, keep_graph, create_graph, alive, watched, closely) */
static PyObject *
run_graph(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (graph.visit == NULL || count != 7) {
        PyErr_SetString(PyExc_TypeError, "run_graph() takes 7 arguments, after provide_graph()");
        return NULL;
    }
    int keep_graph = PyObject_IsTrue(args[2]), create_graph = PyObject_IsTrue(args[3]),
        closely = PyObject_IsTrue(args[6]);
    if (keep_graph < 0 || create_graph < 0 || closely < 0) {
        return NULL;
    }
    Run run = {0};
    run.run = args[0];
    run.keep_graph = keep_graph;
    run.create_graph = create_graph;
    run.alive = args[4] == Py_None ? NULL : args[4];
    run.watched = PyTuple_CheckExact(args[5]) && PyTuple_GET_SIZE(args[5]) == 0 ? NULL : args[5];
    run.closely = closely;
    run.pending = run.small;
    run.room = SMALL_TABLE;
    int result = -1;
    PyObject *roots = PySequence_Fast(args[1], "run_graph(): the roots must be a sequence");
    if (roots != NULL && start(&run, roots) == 0) {
        result = run_all(&run);
    }
    Py_XDECREF(roots);
    /* What was on its way when an exception came. */
    for (size_t i = 0; result < 0 && i < run.room; i++) {
        if (run.pending[i].node != NULL) {
            Py_DECREF(run.pending[i].node);
            Py_XDECREF(run.pending[i].grad);
        }
    }
    if (run.pending != run.small) {
        PyMem_Free(run.pending);
    }
    PyMem_Free(run.heap);
    Py_XDECREF(run.owned);
    if (result < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"run_graph", (PyCFunction)(void (*)(void))run_graph, METH_FASTCALL, NULL},
    {NULL},
};

int
add_engine(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
