/* Recording: the twin of the function `record(result, *values)`, which makes a tensor and its node.
 *
 * A Recorder is that function: it interprets what the declaration says is saved, and by whom it is used, and calls the
 * Python function for every call that it does not know. See tensor/declarations/recording.py.
 */
#include "families.h"

#define MOST_OPERANDS 8
#define MOST_SAVED 12

typedef struct {
    int parameter; /* its place among the parameters */
    bool has_formula;
    bool only_tensor; /* nothing else may stand for it */
} Operand;

typedef enum { OPERAND, SHAPE, OPTION, RESULT } Kind;

typedef struct {
    Py_ssize_t offset;
    Kind kind;
    int parameter;
    bool only_tensor;
    unsigned needed_by; /* a bit for each operand */
} Saved;

typedef enum { ANY_DTYPE, DIFFERENTIABLE_OR_NO_NODE, DIFFERENTIABLE_OR_PYTHON } Rule;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python;
    PyTypeObject *node;
    PyObject *defaults; /* a tuple: of all parameters, MISSING for operands */
    Rule rule;
    int operand_count, saved_count;
    Operand operands[MOST_OPERANDS];
    Saved saved[MOST_SAVED];
} Recorder;

static inline bool
is_any_tensor(PyObject *value)
{
    return Py_TYPE(value) == provided.tensor || PyObject_TypeCheck(value, &StorageType);
}

/* Whether a value that is no tensor certainly is none to `isinstance` either. */
static inline bool
is_number_or_none(PyObject *value)
{
    return value == Py_None || PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) ||
           PyComplex_CheckExact(value);
}

/* Whether operations are recorded now: 1, 0, or -1 with an exception. */
static int
recording_now(void)
{
    PyObject *state;
    if (PyContextVar_Get(provided.state, NULL, &state) < 0) {
        return -1;
    }
    int found = 1;
    if (state != provided.clear) {
        PyObject *recording = PyObject_GetAttr(state, graph.recording);
        found = recording == NULL ? -1 : PyObject_IsTrue(recording);
        Py_XDECREF(recording);
    }
    Py_DECREF(state);
    return found;
}

/* Whether a view was made from the values that its memory holds now: false where that cannot be read, too. */
static bool
is_current_view(TensorObject *view, MetaObject *meta)
{
    PyObject *counter = view->counter;
    if (!is_set(counter)) {
        return true;
    }
    if (!PyList_CheckExact(counter) || PyList_GET_SIZE(counter) != 1 || meta->view_version == NULL) {
        return false;
    }
    Py_ssize_t now = 0, then = 0;
    return read_int(PyList_GET_ITEM(counter, 0), &now) && read_int(meta->view_version, &then) && now == then;
}

/* Return the edge of a tracked tensor as a new reference, None where it requires no grad: `edge_of` in autograd/node.py,
 * which answers the cases that are left: views to be refreshed, views that lead nowhere, and the first use of a leaf. */
PyObject *
edge_of(TensorObject *tensor)
{
    PyObject *edge = is_set(tensor->edge) ? tensor->edge : NULL;
    if (!is_set(tensor->meta)) {
        return Py_NewRef(edge == NULL ? Py_None : edge);
    }
    if (Py_IS_TYPE(tensor->meta, &MetaType)) {
        MetaObject *meta = (MetaObject *)tensor->meta;
        bool in_history = is_set(meta->view_base) && has_history(tensor);
        if (edge != NULL && (!in_history || is_current_view(tensor, meta))) {
            return Py_NewRef(edge);
        }
        if (edge == NULL && !in_history) {
            if (meta->requires_grad == Py_False) {
                return Py_NewRef(Py_None);
            }
            if (meta->requires_grad == Py_True && is_set(meta->leaf_edge)) {
                return Py_NewRef(meta->leaf_edge);
            }
        }
    }
    return PyObject_CallOneArg(graph.edge_of, (PyObject *)tensor);
}

PyObject *
shape_tuple(PyArrayObject *array)
{
    int dimensions = PyArray_NDIM(array);
    PyObject *shape = PyTuple_New(dimensions);
    if (shape == NULL) {
        return NULL;
    }
    for (int i = 0; i < dimensions; i++) {
        PyObject *size = PyLong_FromSsize_t(PyArray_DIM(array, i));
        if (size == NULL) {
            Py_DECREF(shape);
            return NULL;
        }
        PyTuple_SET_ITEM(shape, i, size);
    }
    return shape;
}

bool
is_shape_of(PyObject *shape, PyArrayObject *array)
{
    if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(array)) {
        return false;
    }
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        PyObject *size = PyTuple_GET_ITEM(shape, i);
        int overflow;
        if (!PyLong_CheckExact(size) || PyLong_AsLongLongAndOverflow(size, &overflow) != PyArray_DIM(array, i)) {
            return false;
        }
    }
    return true;
}

/* Return (array, counter, version) of a tensor, whose counter is made on first use. */
static PyObject *
saved_tensor(TensorObject *tensor)
{
    if (!is_set(tensor->counter)) {
        PyObject *counter = new_counter();
        if (counter == NULL) {
            return NULL;
        }
        Py_XSETREF(tensor->counter, counter);
    }
    PyObject *saved = PyTuple_New(3);
    if (saved == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(saved, 0, Py_NewRef(tensor->data));
    PyTuple_SET_ITEM(saved, 1, Py_NewRef(tensor->counter));
    PyTuple_SET_ITEM(saved, 2, Py_NewRef(PyList_GET_ITEM(tensor->counter, 0)));
    if (PyArray_CheckExact(tensor->data)) {
        PyObject_GC_UnTrack(saved); /* It closes no cycle: Note [Nodes at rest] in node.c. */
    }
    return saved;
}

/* Return the shape of an array, the tuple of a node that the new one leads to if it has the same one: 48 bytes a node. */
static PyObject *
shape_of_result(const NodeObject *node, PyArrayObject *array)
{
    for (int i = 0; i < node->few; i++) {
        PyObject *shape = node->following[i] == NULL ? NULL : as_node(node->following[i])->shape;
        if (shape != NULL && is_shape_of(shape, array)) {
            return Py_NewRef(shape);
        }
    }
    return shape_tuple(array);
}

/* Return what a node saves of the parameters, or NULL with an exception; results are saved later. */
static PyObject *
saved_value(const Saved *saved, unsigned with_edges, PyObject *value)
{
    if (saved->kind == OPTION) {
        return Py_NewRef(value);
    }
    if (saved->kind == SHAPE) {
        return is_any_tensor(value) ? shape_tuple((PyArrayObject *)as_tensor(value)->data) : PyTuple_New(0);
    }
    if (!(saved->needed_by & with_edges)) {
        Py_RETURN_NONE;
    }
    return is_any_tensor(value) ? saved_tensor(as_tensor(value)) : Py_NewRef(value);
}

/* Whether C can read an operand as Python does. */
static bool
is_readable(PyObject *value, bool only_tensor)
{
    if (!is_any_tensor(value)) {
        return !only_tensor && is_number_or_none(value);
    }
    TensorObject *tensor = as_tensor(value);
    return tensor->data != NULL && PyArray_CheckExact(tensor->data) &&
           (!is_set(tensor->counter) || (PyList_CheckExact(tensor->counter) && PyList_GET_SIZE(tensor->counter) == 1));
}

static void
drop_edges(const Recorder *self, PyObject *const *edges)
{
    for (int i = 0; i < self->operand_count; i++) {
        Py_DECREF(edges[i]);
    }
}

/* Return a new node that is filled but for its result; takes over `edges`, also when it fails. */
static PyObject *
new_node(const Recorder *self, PyObject *const *edges, unsigned with_edges, PyArrayObject *array,
         PyObject *const *parameters, Py_ssize_t count)
{
    NodeObject *node = allocate_node(self->node);
    if (node == NULL) {
        drop_edges(self, edges);
        return NULL;
    }
    if (set_edges(node, edges, self->operand_count) < 0) {
        goto failed;
    }
    node->sequence_number = next_sequence_number();
    for (int i = 0; i < self->saved_count; i++) {
        const Saved *saved = &self->saved[i];
        if (saved->kind == RESULT) {
            continue;
        }
        PyObject *value = saved->parameter < count ? parameters[saved->parameter]
                                                   : PyTuple_GET_ITEM(self->defaults, saved->parameter);
        value = saved_value(saved, with_edges, value);
        if (value == NULL) {
            goto failed;
        }
        *slot_at((PyObject *)node, saved->offset) = value;
        node->holds_foreign = node->holds_foreign || (saved->kind == OPTION && !closes_no_cycle(value));
    }
    node->dtype = Py_NewRef((PyObject *)PyArray_DESCR(array));
    node->shape = shape_of_result(node, array);
    if (node->shape == NULL) {
        goto failed;
    }
    rest(node);
    return (PyObject *)node;
failed:
    Py_DECREF(node);
    return NULL;
}

/* Give a tensor its node, which saves the result where a formula uses it. Takes `node` over, also when it fails. */
static int
set_history(const Recorder *self, TensorObject *made, PyObject *node)
{
    PyObject *number = NULL, *edge = PyTuple_New(2);
    if (edge == NULL) {
        Py_DECREF(node);
        return -1;
    }
    PyTuple_SET_ITEM(edge, 0, node);
    if ((number = PyLong_FromLong(0)) == NULL) {
        Py_DECREF(edge);
        return -1;
    }
    PyTuple_SET_ITEM(edge, 1, number);
    for (int i = 0; i < self->saved_count; i++) {
        if (self->saved[i].kind == RESULT) {
            PyObject *saved = saved_tensor(made);
            if (saved == NULL) {
                Py_DECREF(edge);
                return -1;
            }
            *slot_at(node, self->saved[i].offset) = saved;
        }
    }
    Py_XSETREF(made->edge, edge);
    set_tracked(made, true);
    return 0;
}

/* Put the edges of the operands into an array; return the bits of those that are there, -1 with an exception. */
static int
edges_of(const Recorder *self, PyObject *const *parameters, Py_ssize_t count, PyObject **edges)
{
    int with_edges = 0;
    for (int i = 0; i < self->operand_count; i++) {
        const Operand *operand = &self->operands[i];
        PyObject *value = operand->parameter < count ? parameters[operand->parameter] : Py_None;
        if (operand->has_formula && is_any_tensor(value) && is_tracked(as_tensor(value))) {
            edges[i] = edge_of(as_tensor(value));
            if (edges[i] == NULL) {
                while (--i >= 0) {
                    Py_DECREF(edges[i]);
                }
                return -1;
            }
            with_edges |= edges[i] != Py_None ? 1 << i : 0;
        }
        else {
            edges[i] = Py_NewRef(Py_None);
        }
    }
    return with_edges;
}

static inline bool
is_differentiable(PyArrayObject *array)
{
    char kind = PyArray_DESCR(array)->kind;
    return kind == 'f' || kind == 'c' || kind == 'V';
}

typedef enum { FAILED = -1, NO_NODE, NODE, PYTHON } Answer;

/* Whether a result gets a node, as far as can be told before edges are looked for. */
static Answer
answer_to(const Recorder *self, PyObject *array, PyObject *const *parameters, Py_ssize_t count)
{
    if (provided.tensor == NULL || graph.edge_of == NULL || !PyArray_CheckExact(array) ||
        count > PyTuple_GET_SIZE(self->defaults)) {
        return PYTHON;
    }
    for (int i = 0; i < self->operand_count; i++) {
        const Operand *operand = &self->operands[i];
        PyObject *value = operand->parameter < count ? parameters[operand->parameter]
                                                     : PyTuple_GET_ITEM(self->defaults, operand->parameter);
        if (!is_readable(value, operand->only_tensor)) {
            return PYTHON;
        }
    }
    for (Py_ssize_t i = count; i < PyTuple_GET_SIZE(self->defaults); i++) {
        if (PyTuple_GET_ITEM(self->defaults, i) == provided.missing) {
            return PYTHON;
        }
    }
    int recording = recording_now();
    if (recording < 0) {
        return FAILED;
    }
    if (!recording || (self->rule == DIFFERENTIABLE_OR_NO_NODE && !is_differentiable((PyArrayObject *)array))) {
        return NO_NODE;
    }
    /* It raises if there is an edge. */
    return self->rule == DIFFERENTIABLE_OR_PYTHON && !is_differentiable((PyArrayObject *)array) ? PYTHON : NODE;
}

/* Give `made` its node. Takes `edges` over, also when it fails. */
static int
add_node_of(const Recorder *self, TensorObject *made, PyObject *const *edges, unsigned with_edges,
            PyObject *const *parameters, Py_ssize_t count)
{
    PyObject *node = new_node(self, edges, with_edges, (PyArrayObject *)made->data, parameters, count);
    return node == NULL ? -1 : set_history(self, made, node);
}

static PyObject *
record(Recorder *self, PyTypeObject *type, PyObject *array, PyObject *const *parameters, Py_ssize_t count)
{
    Answer answer = answer_to(self, array, parameters, count);
    if (answer == FAILED) {
        return NULL;
    }
    if (answer != NODE) {
        return answer == PYTHON ? LEFT_TO_PYTHON : new_tensor_of(type, Py_NewRef(array));
    }
    PyObject *edges[MOST_OPERANDS];
    int with_edges = edges_of(self, parameters, count, edges);
    if (with_edges < 0) {
        return NULL;
    }
    PyObject *made = new_tensor_of(type, Py_NewRef(array));
    if (made == NULL || !with_edges) {
        drop_edges(self, edges);
        return made;
    }
    if (add_node_of(self, as_tensor(made), edges, (unsigned)with_edges, parameters, count) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}

static PyTypeObject RecorderType;

PyObject *
record_result(PyObject *recorder, PyTypeObject *type, PyObject *array, PyObject *const *parameters, Py_ssize_t count)
{
    if (!Py_IS_TYPE(recorder, &RecorderType)) {
        return LEFT_TO_PYTHON;
    }
    return record((Recorder *)recorder, type, array, parameters, count);
}

int
record_onto(PyObject *recorder, PyObject *made, PyObject *const *parameters, Py_ssize_t count)
{
    if (!Py_IS_TYPE(recorder, &RecorderType)) {
        return 0;
    }
    Recorder *self = (Recorder *)recorder;
    Answer answer = answer_to(self, as_tensor(made)->data, parameters, count);
    if (answer != NODE) {
        return answer == FAILED ? -1 : answer == NO_NODE;
    }
    PyObject *edges[MOST_OPERANDS];
    int with_edges = edges_of(self, parameters, count, edges);
    if (with_edges <= 0) {
        if (with_edges == 0) {
            drop_edges(self, edges);
        }
        return with_edges < 0 ? -1 : 1;
    }
    return add_node_of(self, as_tensor(made), edges, (unsigned)with_edges, parameters, count) < 0 ? -1 : 1;
}

/* ---- the object */

static PyObject *
recorder_vectorcall(Recorder *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    /* Called with other arguments it raises what the Python function raises. */
    if (keywords == NULL && count == 1 + PyTuple_GET_SIZE(self->defaults)) {
        PyObject *result = record(self, provided.tensor, args[0], args + 1, count - 1);
        if (result != LEFT_TO_PYTHON) {
            return result;
        }
    }
    return PyObject_Vectorcall(self->python, args, flags, keywords);
}

static int
read_operands(Recorder *self, PyObject *operands)
{
    Py_ssize_t count = PyTuple_GET_SIZE(operands);
    if (count > MOST_OPERANDS) {
        PyErr_Format(PyExc_ValueError, "Recorder(): at most %d operands, got %zd", MOST_OPERANDS, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Operand *operand = &self->operands[i];
        int has_formula, only_tensor;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(operands, i),
                              "ipp;an operand is (parameter, has a formula, only a tensor)", &operand->parameter,
                              &has_formula, &only_tensor)) {
            return -1;
        }
        if (operand->parameter < 0 || operand->parameter >= PyTuple_GET_SIZE(self->defaults)) {
            PyErr_SetString(PyExc_ValueError, "Recorder(): an operand is no parameter");
            return -1;
        }
        operand->has_formula = has_formula;
        operand->only_tensor = only_tensor;
    }
    self->operand_count = (int)count;
    return 0;
}

static int
read_saved(Recorder *self, PyObject *values)
{
    static const char *kinds[] = {"operand", "shape", "option", "result"};
    Py_ssize_t count = PyTuple_GET_SIZE(values);
    if (count > MOST_SAVED) {
        PyErr_Format(PyExc_ValueError, "Recorder(): at most %d saved values, got %zd", MOST_SAVED, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Saved *saved = &self->saved[i];
        PyObject *slot;
        const char *kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(values, i), "UsiI;a saved value is (slot, kind, parameter, needed by)",
                              &slot, &kind, &saved->parameter, &saved->needed_by)) {
            return -1;
        }
        int known = -1;
        for (int k = 0; k < 4; k++) {
            known = strcmp(kind, kinds[k]) == 0 ? k : known;
        }
        bool of_parameter = saved->parameter >= 0 && saved->parameter < PyTuple_GET_SIZE(self->defaults);
        if (known < 0 || (known != RESULT && !of_parameter)) {
            PyErr_Format(PyExc_ValueError, "Recorder(): %s of parameter %d is no saved value", kind, saved->parameter);
            return -1;
        }
        saved->kind = (Kind)known;
        saved->offset = slot_offset(self->node, slot);
        if (saved->offset < 0) {
            return -1;
        }
        bool of_operand = known == OPTION || known == RESULT;
        for (int k = 0; k < self->operand_count; k++) {
            of_operand = of_operand || self->operands[k].parameter == saved->parameter;
        }
        if (!of_operand) {
            PyErr_SetString(PyExc_ValueError, "Recorder(): a saved tensor is no operand");
            return -1;
        }
    }
    self->saved_count = (int)count;
    return 0;
}

/* Recorder(python, node, defaults, rule, operands, saved) */
static PyObject *
recorder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"python", "node", "defaults", "rule", "operands", "saved", NULL};
    PyObject *python, *defaults, *operands, *saved;
    PyTypeObject *node;
    int rule;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO!O!iO!O!:Recorder", names, &python, &PyType_Type, &node,
                                     &PyTuple_Type, &defaults, &rule, &PyTuple_Type, &operands, &PyTuple_Type,
                                     &saved)) {
        return NULL;
    }
    if (!PyType_IsSubtype(node, &NodeStateType) || rule < ANY_DTYPE || rule > DIFFERENTIABLE_OR_PYTHON) {
        PyErr_SetString(PyExc_TypeError, "Recorder(): 'node' must be a class of nodes, and 'rule' 0, 1 or 2");
        return NULL;
    }
    Recorder *self = (Recorder *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = (vectorcallfunc)recorder_vectorcall;
    self->python = Py_NewRef(python);
    self->node = (PyTypeObject *)Py_NewRef((PyObject *)node);
    self->defaults = Py_NewRef(defaults);
    self->rule = (Rule)rule;
    if (read_operands(self, operands) < 0 || read_saved(self, saved) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    free_by_slots(self->node);
    return (PyObject *)self;
}

static int
recorder_traverse(Recorder *self, visitproc visit, void *arg)
{
    Py_VISIT(self->python);
    Py_VISIT(self->node);
    Py_VISIT(self->defaults);
    return 0;
}

static int
recorder_clear(Recorder *self)
{
    Py_XSETREF(self->python, Py_NewRef(Py_None)); /* It may be called while its cycle is cleared. */
    return 0;
}

static void
recorder_dealloc(Recorder *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->python);
    Py_CLEAR(self->node);
    Py_CLEAR(self->defaults);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef recorder_members[] = {
    {"_tl_python", T_OBJECT, offsetof(Recorder, python), READONLY, NULL},
    {"_tl_node", T_OBJECT, offsetof(Recorder, node), READONLY, NULL},
    {NULL},
};

static PyTypeObject RecorderType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.Recorder",
    .tp_doc = "The function that makes the tensor and the node of a result.",
    .tp_basicsize = sizeof(Recorder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = recorder_new,
    .tp_dealloc = (destructor)recorder_dealloc,
    .tp_traverse = (traverseproc)recorder_traverse,
    .tp_clear = (inquiry)recorder_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Recorder, vectorcall),
    .tp_members = recorder_members,
};

/* ---- recorded calls of public functions: see `recorder_t` in native.h */

typedef struct {
    PyObject *make;     /* returns the Recorder, which is built when something is first recorded */
    PyObject *recorder; /* or NULL */
} Records;

static void
free_records(void *data)
{
    Records *records = data;
    Py_XDECREF(records->make);
    Py_XDECREF(records->recorder);
    PyMem_Free(records);
}

/* Call the Python function of a Recorder, and give its result a class of the same layout. */
static PyObject *
record_in_python(PyObject *recorder, PyTypeObject *type, PyObject *array, PyObject *const *operands, Py_ssize_t count)
{
    PyObject *args[1 + MOST_OPERANDS + MOST_SAVED];
    PyObject *python = recorder;
    Py_ssize_t given = 1 + count;
    args[0] = array;
    memcpy(args + 1, operands, (size_t)count * sizeof(PyObject *));
    if (Py_IS_TYPE(recorder, &RecorderType)) {
        Recorder *self = (Recorder *)recorder;
        python = self->python;
        for (Py_ssize_t i = count; i < PyTuple_GET_SIZE(self->defaults) && given < (Py_ssize_t)Py_ARRAY_LENGTH(args);
             i++) {
            args[given++] = PyTuple_GET_ITEM(self->defaults, i);
        }
    }
    PyObject *made = PyObject_Vectorcall(python, args, (size_t)given, NULL);
    if (made != NULL && type != provided.tensor && PyObject_SetAttrString(made, "__class__", (PyObject *)type) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *
record_call(FunctionObject *self, PyTypeObject *type, PyObject *array, PyObject *const *operands, int count)
{
    Records *records = self->recorder_data;
    PyObject *result = NULL;
    if (records->recorder == NULL) {
        PyObject *recorder = PyObject_CallNoArgs(records->make);
        if (recorder == NULL) {
            Py_DECREF(array);
            return NULL;
        }
        Py_XSETREF(records->recorder, recorder);
    }
    PyObject *recorder = Py_NewRef(records->recorder);
    result = record_result(recorder, type, array, operands, count);
    if (result == LEFT_TO_PYTHON) {
        result = record_in_python(recorder, type, array, operands, count);
    }
    Py_DECREF(recorder);
    Py_DECREF(array);
    return result;
}

/* records(function, make): makes a public function record its calls by the Recorder that `make()` returns. */
static PyObject *
records(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *make;
    if (!PyArg_ParseTuple(args, "OO:records", &function, &make)) {
        return NULL;
    }
    Records *data = PyMem_Calloc(1, sizeof(Records));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    data->make = Py_NewRef(make);
    if (set_recorder(function, record_call, data, free_records) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"records", records, METH_VARARGS, NULL},
    {NULL},
};

int
add_record(PyObject *module)
{
    if (PyModule_AddType(module, &RecorderType) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
