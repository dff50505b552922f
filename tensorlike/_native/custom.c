/* `apply` of custom Functions: the twin of autograd/function.py.
 *
 * Note [Custom Functions in C]
 * The methods of the user run in Python, in the State and with the arguments that Python would give them. What is around
 * them happens here, for plain tensors with NumPy's arrays. A call whose forward has run cannot be left to Python any
 * more: unusual outputs go through `_finished` of function.py instead, and unusual gradients through `_tl_checked`.
 */
#include "custom.h"

typedef struct {
    PyObject *function; /* the class */
    PyObject *const *args;
    Py_ssize_t count;
    PyObject *state, *forward, *setup_context;
    PyTypeObject *node_class;
    bool splits, recording;
    bool needed; /* whether the outputs get a node */
} Call;

static void
clear_call(Call *call)
{
    Py_CLEAR(call->state);
    Py_CLEAR(call->forward);
    Py_CLEAR(call->setup_context);
    Py_CLEAR(call->node_class);
}

/* Whether a value is neither a tensor nor a container of any. */
static inline bool
is_simple(PyObject *value)
{
    return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyComplex_CheckExact(value) || PyUnicode_CheckExact(value);
}

/* Whether a value is a tensor of the class Tensor, or of Parameter if `parameters`, with an array of NumPy's. */
static inline bool
is_plain_value(PyObject *value, bool parameters)
{
    return (Py_TYPE(value) == provided.tensor || (parameters && Py_TYPE(value) == provided.parameter)) &&
           as_tensor(value)->data != NULL && PyArray_CheckExact(as_tensor(value)->data);
}

/* Whether C knows an argument: 1, 0 or -1 with an exception. */
static int
knows_argument(PyObject *value)
{
    if (is_plain_value(value, true) || is_simple(value)) {
        return 1;
    }
    int found = is_tensor(value) ? 1 : PyObject_IsInstance(value, custom.base);
    if (found != 0) {
        return found < 0 ? -1 : 0;
    }
    /* It may have tensors of a transform inside. */
    PyObject *transformed = PyObject_GetAttr(custom.above, names.apply_transformed);
    Py_XDECREF(transformed);
    return transformed == NULL ? -1 : transformed == Py_None;
}

/* Whether a function has so many parameters, and all of them may be passed by position. */
static bool
takes_exactly(PyObject *function, Py_ssize_t count)
{
    if (!PyFunction_Check(function)) {
        return false;
    }
    /* Another signature may be among its attributes. */
    PyObject *attributes = ((PyFunctionObject *)function)->func_dict;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    return (attributes == NULL || PyDict_GET_SIZE(attributes) == 0) && code->co_argcount == count &&
           code->co_kwonlyargcount == 0 && !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
}

/* Read what a call needs: 1, 0 when Python has to answer it, -1 with an exception. */
static int
read_call(Call *call)
{
    call->state = current_state();
    if (call->state == NULL) {
        return 0;
    }
    PyObject *observers = slot_of(call->state, custom.state.observers);
    if (observers == NULL || !PyTuple_CheckExact(observers) || PyTuple_GET_SIZE(observers) > 0) {
        return 0;
    }
    call->recording = slot_of(call->state, provided.slots.recording) == Py_True;
    for (Py_ssize_t i = 0; i < call->count; i++) {
        int known = knows_argument(call->args[i]);
        if (known <= 0) {
            return known;
        }
    }
    call->setup_context = PyObject_GetAttr(call->function, names.setup_context);
    call->forward = call->setup_context == NULL ? NULL : PyObject_GetAttr(call->function, names.forward);
    PyObject *node_class = call->forward == NULL ? NULL : PyObject_GetAttr(call->function, names._node_class);
    call->node_class = (PyTypeObject *)node_class;
    if (node_class == NULL) {
        return -1;
    }
    if (!PyType_Check(node_class) || !PyType_IsSubtype(call->node_class, &ContextType)) {
        return 0;
    }
    call->splits = call->setup_context != custom.setup_context;
    return !call->splits || takes_exactly(call->forward, call->count);
}

/* Return the node of a call, with its edges; NULL with an exception. */
static ContextObject *
new_context(Call *call)
{
    Py_ssize_t count = 0, place = 0;
    for (Py_ssize_t i = 0; i < call->count; i++) {
        count += is_tensor(call->args[i]);
    }
    PyObject *edges = PyTuple_New(count), *positions = PyTuple_New(count), *devices = PyTuple_New(count);
    PyObject *needs = PyTuple_New(call->count), *arguments = PyLong_FromSsize_t(call->count);
    ContextObject *node = NULL;
    bool any = false;
    if (edges == NULL || positions == NULL || devices == NULL || needs == NULL || arguments == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < call->count; i++) {
        PyObject *value = call->args[i], *edge = Py_None;
        if (is_tensor(value)) {
            PyObject *position = PyLong_FromSsize_t(i);
            edge = !is_tracked(as_tensor(value)) ? Py_NewRef(Py_None) : edge_of(as_tensor(value));
            if (position == NULL || edge == NULL) {
                Py_XDECREF(position);
                Py_XDECREF(edge);
                goto done;
            }
            PyTuple_SET_ITEM(positions, place, position);
            PyTuple_SET_ITEM(edges, place, edge);
            PyTuple_SET_ITEM(devices, place, Py_NewRef(edge != Py_None && call->recording ? custom.cpu : Py_None));
            place++;
        }
        any = any || edge != Py_None;
        PyTuple_SET_ITEM(needs, i, Py_NewRef(edge != Py_None ? Py_True : Py_False));
    }
    node = (ContextObject *)call->node_class->tp_alloc(call->node_class, 0);
    if (node == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_INCREF(PyTuple_GET_ITEM(edges, i));
    }
    if (set_edges(&node->node, ((PyTupleObject *)edges)->ob_item, count) < 0) {
        Py_CLEAR(node);
        goto done;
    }
    Py_CLEAR(edges);
    node->node.sequence_number = next_sequence_number();
    node->needs_input_grad = needs;
    node->positions = positions;
    node->devices = devices;
    node->arguments = arguments;
    node->saved = PyTuple_New(0); /* There is but one. */
    node->to_save = Py_NewRef(Py_None);
    node->outputs = Py_NewRef(Py_None);
    node->make_zeros = Py_NewRef(Py_None);
    node->special = Py_NewRef(Py_True);
    call->needed = call->recording && any;
    node->recorded = Py_NewRef(call->needed ? Py_True : Py_False);
    return node;
done:
    Py_XDECREF(edges);
    Py_XDECREF(positions);
    Py_XDECREF(devices);
    Py_XDECREF(needs);
    Py_XDECREF(arguments);
    return node;
}

static PyObject *
tuple_of(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    }
    return tuple;
}

/* Run the methods of the user that compute the output. */
static PyObject *
run_methods(const Call *call, PyObject *node)
{
    if (!call->splits) {
        return call_with(call->forward, node, call->args, call->count);
    }
    PyObject *output = PyObject_Vectorcall(call->forward, call->args, (size_t)call->count, NULL);
    PyObject *inputs = output == NULL ? NULL : tuple_of(call->args, call->count), *nothing = NULL;
    if (inputs != NULL) {
        PyObject *args[] = {node, inputs, output};
        nothing = PyObject_Vectorcall(call->setup_context, args, 3, NULL);
    }
    if (nothing == NULL) {
        Py_CLEAR(output);
    }
    Py_XDECREF(inputs);
    Py_XDECREF(nothing);
    return output;
}

static int
set_state(PyObject *state)
{
    PyObject *token = PyContextVar_Set(provided.state, state);
    Py_XDECREF(token);
    return token == NULL ? -1 : 0;
}

/* The same in a State that does not record; the State is what it was when this returns. */
static PyObject *
run_unrecorded(const Call *call, PyObject *node)
{
    PyObject *inner = call->recording ? slot_of(call->state, custom.state.off) : call->state;
    inner = is_set(inner) ? Py_NewRef(inner) : PyObject_CallMethodOneArg(call->state, names.recording_as, Py_False);
    PyObject *output = NULL;
    if (inner != NULL && set_state(inner) == 0) {
        output = run_methods(call, node);
    }
    Py_XDECREF(inner);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (set_state(call->state) < 0) {
        Py_CLEAR(output);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    else {
        PyErr_Restore(type, value, traceback);
    }
    return output;
}

static bool
is_among(PyObject *value, PyObject *const *others, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (others[i] == value) {
            return true;
        }
    }
    return false;
}

static inline bool
is_differentiable(PyObject *tensor)
{
    char kind = PyArray_DESCR((PyArrayObject *)as_tensor(tensor)->data)->kind;
    return kind == 'f' || kind == 'c' || kind == 'V';
}

/* Whether an output is a new tensor, which is its own result. */
static bool
is_new_tensor(const Call *call, PyObject *value)
{
    return is_plain_value(value, false) && !is_tracked(as_tensor(value)) && !is_set(as_tensor(value)->edge) &&
           !is_set(as_tensor(value)->meta) && !is_among(value, call->args, call->count);
}

/* Whether C knows the outputs. */
static bool
knows_outputs(const Call *call, PyObject *const *outputs, Py_ssize_t count)
{
    bool needed = call->needed;
    if (count > MOST_ARGUMENTS || (needed && count == 0)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!needed && is_simple(outputs[i])) {
            continue;
        }
        if (!is_new_tensor(call, outputs[i]) || (needed && !is_differentiable(outputs[i])) ||
            is_among(outputs[i], outputs, i)) {
            return false;
        }
    }
    return true;
}

/* Make a tensor the output of a node. */
static int
set_output(TensorObject *tensor, ContextObject *node, Py_ssize_t number)
{
    PyObject *edge = Py_BuildValue("(On)", node, number);
    if (edge == NULL) {
        return -1;
    }
    Py_XSETREF(tensor->edge, edge);
    set_tracked(tensor, true);
    return 0;
}

/* Set the shape and the dtype of the gradients of a node: tuples of them for several outputs. */
static int
set_likeness(ContextObject *node, PyObject *const *outputs, Py_ssize_t count, bool several)
{
    PyObject *shapes = PyTuple_New(count), *dtypes = PyTuple_New(count);
    for (Py_ssize_t i = 0; shapes != NULL && dtypes != NULL && i < count; i++) {
        PyArrayObject *array = (PyArrayObject *)as_tensor(outputs[i])->data;
        PyObject *shape = shape_tuple(array);
        if (shape == NULL) {
            Py_CLEAR(shapes);
            break;
        }
        PyTuple_SET_ITEM(shapes, i, shape);
        PyTuple_SET_ITEM(dtypes, i, Py_NewRef((PyObject *)PyArray_DESCR(array)));
    }
    if (shapes == NULL || dtypes == NULL) {
        Py_XDECREF(shapes);
        Py_XDECREF(dtypes);
        return -1;
    }
    if (!several) {
        Py_SETREF(shapes, Py_NewRef(PyTuple_GET_ITEM(shapes, 0)));
        Py_SETREF(dtypes, Py_NewRef(PyTuple_GET_ITEM(dtypes, 0)));
    }
    Py_XSETREF(node->node.shape, shapes);
    Py_XSETREF(node->node.dtype, dtypes);
    return 0;
}

/* Turn what `save_for_backward` was given into saved values. */
static int
save(ContextObject *node, PyObject *const *outputs, Py_ssize_t count)
{
    PyObject *given = node->to_save;
    if (!is_set(given) || !PyTuple_CheckExact(given)) {
        return 0;
    }
    node->to_save = Py_NewRef(Py_None);
    PyObject *saved = PyTuple_New(PyTuple_GET_SIZE(given));
    for (Py_ssize_t i = 0; saved != NULL && i < PyTuple_GET_SIZE(given); i++) {
        PyObject *tensor = PyTuple_GET_ITEM(given, i), *item;
        Py_ssize_t number = count - 1;
        while (number >= 0 && outputs[number] != tensor) {
            number--;
        }
        item = tensor == Py_None ? Py_NewRef(tensor) : saved_of(tensor, number);
        if (item == NULL) {
            Py_CLEAR(saved);
            break;
        }
        PyTuple_SET_ITEM(saved, i, item);
    }
    Py_DECREF(given);
    if (saved == NULL) {
        return -1;
    }
    Py_XSETREF(node->saved, saved);
    return 0;
}

/* Return what makes zeros beside a plain tensor: it is the same for all whose arrays are NumPy's. */
static PyObject *
zeros_maker(PyObject *tensor)
{
    if (custom.make_zeros == NULL) {
        PyObject *maker = PyObject_CallMethodNoArgs(tensor, names._tl_zeros_maker);
        if (maker == NULL) {
            return NULL;
        }
        Py_XSETREF(custom.make_zeros, maker);
    }
    return Py_NewRef(custom.make_zeros);
}

/* Give the outputs of forward their place in the graph: 1, 0 when Python has to do it, -1 with an exception. */
static int
finish_plain(const Call *call, ContextObject *node, PyObject *output)
{
    PyObject *marks[] = {names._tl_dirty, names._tl_non_differentiable, names._tl_saved_for_forward};
    int marked = has_any(node, marks, 3);
    if (marked != 0) {
        return marked < 0 ? -1 : 0;
    }
    bool several = PyTuple_CheckExact(output);
    PyObject *const *outputs = several ? ((PyTupleObject *)output)->ob_item : &output;
    Py_ssize_t count = several ? PyTuple_GET_SIZE(output) : 1;
    if (!knows_outputs(call, outputs, count)) {
        return 0;
    }
    if (!call->needed) {
        Py_XSETREF(node->to_save, Py_NewRef(Py_None));
        return 1;
    }
    PyObject *maker = zeros_maker(outputs[0]);
    if (maker == NULL) {
        return -1;
    }
    Py_XSETREF(node->make_zeros, maker);
    if (set_likeness(node, outputs, count, several) < 0) {
        return -1;
    }
    if (!several) {
        PyObject *one = PyLong_FromLong(1);
        if (one == NULL) {
            return -1;
        }
        Py_XSETREF(node->outputs, one);
        Py_XSETREF(node->special, Py_NewRef(Py_False));
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (set_output(as_tensor(outputs[i]), node, i) < 0) {
            return -1;
        }
    }
    return save(node, outputs, count) < 0 ? -1 : 1;
}

/* Return what `apply` returns, by `_finished` of function.py. */
static PyObject *
finish_in_python(const Call *call, ContextObject *node, PyObject *output)
{
    PyObject *inputs = tuple_of(call->args, call->count), *result = NULL;
    if (inputs != NULL) {
        PyObject *args[] = {call->function, (PyObject *)node, inputs, output, call->needed ? Py_True : Py_False};
        result = PyObject_Vectorcall(custom.finished, args, 5, NULL);
    }
    Py_XDECREF(inputs);
    int in_jvp = result == NULL ? 0 : has_any(node, &names._tl_saved_for_forward, 1);
    if (in_jvp < 0 || (in_jvp && PyObject_SetAttr((PyObject *)node, names._tl_saved_for_forward, Py_None) < 0)) {
        Py_CLEAR(result);
    }
    return result;
}

/* The handler of `Function.apply`. */
static PyObject *
apply(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    if (keywords != NULL || count < 1 || provided.tensor == NULL || graph.edge_of == NULL) {
        return LEFT_TO_PYTHON;
    }
    Call call = {.function = args[0], .args = args + 1, .count = count - 1};
    PyObject *output = NULL;
    ContextObject *node = NULL;
    int known = read_call(&call);
    if (known <= 0) {
        output = known < 0 ? NULL : LEFT_TO_PYTHON;
        goto done;
    }
    node = new_context(&call);
    output = node == NULL ? NULL : run_unrecorded(&call, (PyObject *)node);
    if (output != NULL) {
        int finished = finish_plain(&call, node, output);
        if (finished < 0) {
            Py_CLEAR(output);
        }
        else if (!finished) {
            Py_SETREF(output, finish_in_python(&call, node, output));
        }
    }
done:
    clear_call(&call);
    Py_XDECREF(node);
    return output;
}

/* ---- what the Python side hands over */

static int
intern_names(void)
{
#define TEXT(name) {&names.name, #name},
    struct {
        PyObject **place;
        const char *text;
    } words[] = {NAMES(TEXT)};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(words); i++) {
        *words[i].place = PyUnicode_InternFromString(words[i].text); /* They live as long as the process. */
        if (*words[i].place == NULL) {
            return -1;
        }
    }
    custom.cpu = PyUnicode_InternFromString("cpu");
    return custom.cpu == NULL ? -1 : 0;
}

static int
find_slots(PyTypeObject *state, PyTypeObject *input, PyTypeObject *output)
{
    const struct {
        PyTypeObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {state, "observers", &custom.state.observers}, {state, "_off", &custom.state.off},
        {state, "caller", &custom.state.caller},       {input, "array", &custom.input.array},
        {input, "counter", &custom.input.counter},     {input, "version", &custom.input.version},
        {input, "kind", &custom.input.kind},           {input, "packed", &custom.input.packed},
        {input, "edge", &custom.input.edge},           {input, "leaf", &custom.input.leaf},
        {output, "array", &custom.output.array},       {output, "counter", &custom.output.counter},
        {output, "version", &custom.output.version},   {output, "kind", &custom.output.kind},
        {output, "packed", &custom.output.packed},     {output, "number", &custom.output.number},
        {output, "place", &custom.output.place},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) {
        PyObject *name = PyUnicode_FromString(slots[i].name);
        *slots[i].offset = name == NULL ? -1 : slot_offset(slots[i].type, name);
        Py_XDECREF(name);
        if (*slots[i].offset < 0) {
            return -1;
        }
    }
    return 0;
}

/* provide_custom(apply=, save_for_backward=, ...): takes what C needs of custom Functions, and answers those three. */
static PyObject *
provide_custom(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *parameters[] = {"apply",       "save_for_backward", "saved_tensors", "setup_context",
                                 "no_backward", "finished",          "base",          "above",
                                 "saved_input", "saved_output",      "state",         NULL};
    PyObject *applied, *saves, *saved, *setup_context, *no_backward, *finished, *base, *above;
    PyTypeObject *input, *output, *state;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "$O!O!O!OOOOOO!O!O!:provide_custom", parameters, &FunctionType,
                                     &applied, &FunctionType, &saves, &FunctionType, &saved, &setup_context,
                                     &no_backward, &finished, &base, &above, &PyType_Type, &input, &PyType_Type,
                                     &output, &PyType_Type, &state) ||
        intern_names() < 0 || find_slots(state, input, output) < 0) {
        return NULL;
    }
    custom.setup_context = Py_NewRef(setup_context);
    custom.no_backward = Py_NewRef(no_backward);
    custom.finished = Py_NewRef(finished);
    custom.base = Py_NewRef(base);
    custom.above = Py_NewRef(above);
    custom.saved_input = (PyTypeObject *)Py_NewRef((PyObject *)input);
    custom.saved_output = (PyTypeObject *)Py_NewRef((PyObject *)output);
    if (set_handler(applied, apply, NULL, NULL, NULL) < 0 ||
        set_handler(saves, save_for_backward, NULL, NULL, NULL) < 0 ||
        set_handler(saved, read_saved, NULL, NULL, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"provide_custom", (PyCFunction)(void (*)(void))provide_custom, METH_VARARGS | METH_KEYWORDS, NULL},
    {NULL},
};

int
add_custom(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
