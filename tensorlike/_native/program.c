/* What C knows of classes of nodes: what a run of the graph frees in them, and their formulas as programs.
 *
 * Note [Formula programs]
 * A formula of a few ufuncs is recorded once as the list of its calls (tensor/formula_programs.py), which run here on
 * small contiguous arrays of one floating-point dtype, without a frame of Python: the inner loops of the same ufuncs, in
 * the same order. A formula that is a product of two matrices is one call of NumPy's `dot`. For anything else (an option
 * of another value, a saved value that was modified, broadcasting, gaps, other dtypes, large arrays) the node's formulas
 * run in Python.
 */
#include "record.h"

#define LARGEST 4096 /* elements: NumPy's own call takes no longer from here on */
#define MOST_STEPS 12
#define MOST_CONDITIONS 6
#define SCRATCH 128 /* numbers on the stack for intermediate results */

typedef enum { GRADIENT, SAVED, NUMBER, STEP } Source;

typedef struct {
    Source source;
    Py_ssize_t offset; /* of the slot */
    bool only_tensor;  /* of the saved value */
    int step;
    double number;
} Argument;

typedef struct {
    PyObject *ufunc; /* keeps the loops alive */
    int inputs;
    Argument arguments[2];
    PyUFuncGenericFunction loops[2]; /* of float32 and float64 */
    void *data[2];
} Step;

typedef enum { NOTHING, PASS, WRAP, STEPS, FILL, PRODUCT } Way;

typedef struct {
    Argument argument; /* a gradient or a saved value */
    bool is_transposed;
} Matrix;

typedef struct {
    Way way;
    int first, last;  /* its steps */
    Py_ssize_t shape; /* the offset of the slot with the shape to fill */
    Matrix matrices[2];
    Py_ssize_t shapes[2]; /* the offsets of slots with shapes that must be those of matrices */
    int shape_count;
} Formula;

typedef struct {
    Py_ssize_t offset;
    PyObject *value;
} Condition;

struct Program {
    int formula_count, step_count, condition_count;
    Formula formulas[MOST_FORMULAS];
    Step steps[MOST_STEPS];
    Condition conditions[MOST_CONDITIONS];
};

/* ---- classes of nodes */

static struct {
    NodeClass **values; /* open addressing by the type; a power of two. What is in it stays where it is. */
    size_t room, count;
} classes;

static size_t
place_of(NodeClass *const *values, size_t room, PyTypeObject *type)
{
    size_t place = ((uintptr_t)type >> 4) * 2654435761u & (room - 1);
    while (values[place] != NULL && values[place]->type != type) {
        place = (place + 1) & (room - 1);
    }
    return place;
}

const NodeClass *
node_class_of(PyTypeObject *type)
{
    return classes.room == 0 ? NULL : classes.values[place_of(classes.values, classes.room, type)];
}

static void
free_program(Program *program)
{
    if (program == NULL) {
        return;
    }
    for (int i = 0; i < program->step_count; i++) {
        Py_XDECREF(program->steps[i].ufunc);
    }
    for (int i = 0; i < program->condition_count; i++) {
        Py_XDECREF(program->conditions[i].value);
    }
    PyMem_Free(program);
}

/* Add a class, whose parts are taken over unless it fails. It stays as long as the process: a run that is in the middle
 * of a node may read it. */
static int
add_class(NodeClass added)
{
    if (2 * (classes.count + 1) > classes.room) {
        size_t room = classes.room ? 2 * classes.room : 64;
        NodeClass **values = PyMem_Calloc(room, sizeof(NodeClass *));
        if (values == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        for (size_t i = 0; i < classes.room; i++) {
            if (classes.values[i] != NULL) {
                values[place_of(values, room, classes.values[i]->type)] = classes.values[i];
            }
        }
        PyMem_Free(classes.values);
        classes.values = values;
        classes.room = room;
    }
    NodeClass **place = &classes.values[place_of(classes.values, classes.room, added.type)];
    if (*place != NULL) {
        PyErr_Format(PyExc_ValueError, "register_node(): %.200s is registered already", added.type->tp_name);
        return -1;
    }
    NodeClass *kept = PyMem_Malloc(sizeof(NodeClass));
    if (kept == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *kept = added;
    Py_INCREF(added.type);
    *place = kept;
    classes.count++;
    return 0;
}

/* ---- reading a program from Python */

static int
find_loops(Step *step)
{
    static const int numbers[] = {NPY_FLOAT, NPY_DOUBLE};
    PyUFuncObject *ufunc = (PyUFuncObject *)step->ufunc;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < ufunc->ntypes && step->loops[k] == NULL; i++) {
            const char *types = ufunc->types + (size_t)i * (size_t)ufunc->nargs;
            bool fits = true;
            for (int j = 0; j < ufunc->nargs; j++) {
                fits = fits && types[j] == numbers[k];
            }
            if (fits) {
                step->loops[k] = ufunc->functions[i];
                step->data[k] = ufunc->data == NULL ? NULL : ((void *const *)ufunc->data)[i];
            }
        }
        if (step->loops[k] == NULL) {
            PyErr_Format(PyExc_ValueError, "%s has no loop for a floating-point dtype", ufunc->name);
            return -1;
        }
    }
    return 0;
}

/* ("gradient",), ("saved", slot, only a tensor), ("number", value) or ("step", index) */
static int
read_argument(PyTypeObject *type, PyObject *given, int steps, Argument *argument)
{
    const char *source;
    PyObject *value = NULL;
    int only_tensor = 1;
    if (!PyArg_ParseTuple(given, "s|Op;an argument is (source, value)", &source, &value, &only_tensor)) {
        return -1;
    }
    if (strcmp(source, "gradient") == 0) {
        argument->source = GRADIENT;
        return 0;
    }
    if (value != NULL && strcmp(source, "saved") == 0) {
        argument->source = SAVED;
        argument->only_tensor = only_tensor;
        argument->offset = slot_offset(type, value);
        return argument->offset < 0 ? -1 : 0;
    }
    if (value != NULL && strcmp(source, "number") == 0) {
        argument->source = NUMBER;
        argument->number = PyFloat_AsDouble(value);
        return argument->number == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    if (value != NULL && strcmp(source, "step") == 0) {
        argument->source = STEP;
        argument->step = (int)PyLong_AsLong(value);
        if (!PyErr_Occurred() && argument->step >= 0 && argument->step < steps) {
            return 0;
        }
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%R is no argument of a step", given);
    }
    return -1;
}

/* ("product", ((argument, whether it is transposed), ...), slots of shapes) */
static int
read_product(PyTypeObject *type, PyObject *given, PyObject *shapes, Formula *formula)
{
    formula->way = PRODUCT;
    if (PyTuple_GET_SIZE(given) != 2 || !PyTuple_Check(shapes) || PyTuple_GET_SIZE(shapes) > 2) {
        PyErr_SetString(PyExc_ValueError, "a product has two matrices, and up to two shapes");
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        Matrix *matrix = &formula->matrices[i];
        PyObject *argument;
        int is_transposed;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "Op;a matrix is (argument, whether it is transposed)",
                              &argument, &is_transposed) ||
            read_argument(type, argument, 0, &matrix->argument) < 0) {
            return -1;
        }
        if (matrix->argument.source != GRADIENT && matrix->argument.source != SAVED) {
            PyErr_SetString(PyExc_ValueError, "a matrix of a product is a gradient or a saved value");
            return -1;
        }
        matrix->is_transposed = is_transposed;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shapes); i++) {
        Py_ssize_t offset = slot_offset(type, PyTuple_GET_ITEM(shapes, i));
        if (offset < 0) {
            return -1;
        }
        formula->shapes[formula->shape_count++] = offset;
    }
    return 0;
}

/* (way, [(ufunc, argument, ...)], slot of a shape or None) */
static int
read_formula(Program *program, PyTypeObject *type, PyObject *given, Formula *formula)
{
    static const char *ways[] = {"nothing", "pass", "wrap", "steps", "fill"};
    const char *way;
    PyObject *steps, *shape;
    if (!PyArg_ParseTuple(given, "sO!O;a formula is (way, steps, shape)", &way, &PyTuple_Type, &steps, &shape)) {
        return -1;
    }
    if (strcmp(way, "product") == 0) {
        return read_product(type, steps, shape, formula);
    }
    int known = -1;
    for (int i = 0; i < 5; i++) {
        known = strcmp(way, ways[i]) == 0 ? i : known;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(steps);
    if (known < 0 || (known == STEPS) != (count > 0) || program->step_count + count > MOST_STEPS) {
        PyErr_Format(PyExc_ValueError, "%R is no formula", given);
        return -1;
    }
    formula->way = (Way)known;
    if (known == FILL && (formula->shape = slot_offset(type, shape)) < 0) {
        return -1;
    }
    formula->first = program->step_count;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *call = PyTuple_GET_ITEM(steps, i);
        if (!PyTuple_Check(call) || PyTuple_GET_SIZE(call) < 2 || PyTuple_GET_SIZE(call) > 3 ||
            !PyObject_TypeCheck(PyTuple_GET_ITEM(call, 0), &PyUFunc_Type)) {
            PyErr_Format(PyExc_ValueError, "%R is no call of a ufunc", call);
            return -1;
        }
        Step *step = &program->steps[program->step_count++];
        step->ufunc = Py_NewRef(PyTuple_GET_ITEM(call, 0));
        step->inputs = (int)PyTuple_GET_SIZE(call) - 1;
        PyUFuncObject *ufunc = (PyUFuncObject *)step->ufunc;
        if (ufunc->nin != step->inputs || ufunc->nout != 1 || ufunc->core_enabled) {
            PyErr_Format(PyExc_ValueError, "%s cannot be called with %d arguments", ufunc->name, step->inputs);
            return -1;
        }
        for (int j = 0; j < step->inputs; j++) {
            if (read_argument(type, PyTuple_GET_ITEM(call, j + 1), (int)i, &step->arguments[j]) < 0) {
                return -1;
            }
        }
        if (find_loops(step) < 0) {
            return -1;
        }
    }
    formula->last = program->step_count;
    return 0;
}

static Program *
read_program(PyTypeObject *type, PyObject *formulas, PyObject *conditions)
{
    Py_ssize_t count = PyTuple_GET_SIZE(formulas), values = PyTuple_GET_SIZE(conditions);
    if (count > MOST_FORMULAS || values > MOST_CONDITIONS) {
        PyErr_SetString(PyExc_ValueError, "register_node(): a program of so many formulas or conditions is not known");
        return NULL;
    }
    Program *program = PyMem_Calloc(1, sizeof(Program));
    if (program == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (read_formula(program, type, PyTuple_GET_ITEM(formulas, i), &program->formulas[i]) < 0) {
            goto failed;
        }
    }
    program->formula_count = (int)count;
    for (Py_ssize_t i = 0; i < values; i++) {
        PyObject *slot, *value;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(conditions, i), "UO;a condition is (slot, value)", &slot, &value)) {
            goto failed;
        }
        Condition *condition = &program->conditions[i];
        if ((condition->offset = slot_offset(type, slot)) < 0) {
            goto failed;
        }
        condition->value = Py_NewRef(value);
        program->condition_count++;
    }
    return program;
failed:
    free_program(program);
    return NULL;
}

/* register_node(type, releases, formulas, conditions): `releases` are pairs (slot, whether a number is kept), None when
 * `_tl_release` does it; `formulas` is None when `_tl_apply` runs them. */
static PyObject *
register_node(PyObject *Py_UNUSED(module), PyObject *args)
{
    NodeClass added = {0};
    PyObject *releases, *formulas, *conditions;
    if (!PyArg_ParseTuple(args, "O!OOO!:register_node", &PyType_Type, &added.type, &releases, &formulas, &PyTuple_Type,
                          &conditions)) {
        return NULL;
    }
    if (!PyType_IsSubtype(added.type, &NodeStateType) || (releases != Py_None && !PyTuple_Check(releases)) ||
        (formulas != Py_None && !PyTuple_Check(formulas))) {
        PyErr_SetString(PyExc_TypeError, "register_node(): expected a class of nodes, and tuples or None");
        return NULL;
    }
    added.releases = releases == Py_None ? -1 : PyTuple_GET_SIZE(releases);
    if (added.releases > 0) {
        added.released = PyMem_Calloc((size_t)added.releases, sizeof(Released));
        if (added.released == NULL) {
            return PyErr_NoMemory();
        }
        for (Py_ssize_t i = 0; i < added.releases; i++) {
            PyObject *slot;
            int only_tensors;
            if (!PyArg_ParseTuple(PyTuple_GET_ITEM(releases, i), "Up;a release is (slot, whether a number is kept)",
                                  &slot, &only_tensors) ||
                (added.released[i].offset = slot_offset(added.type, slot)) < 0) {
                goto failed;
            }
            added.released[i].only_tensors = only_tensors;
        }
    }
    if (formulas != Py_None && (added.program = read_program(added.type, formulas, conditions)) == NULL) {
        goto failed;
    }
    if (add_class(added) < 0) {
        goto failed;
    }
    Py_RETURN_NONE;
failed:
    PyMem_Free(added.released);
    free_program(added.program);
    return NULL;
}

/* ---- running a program */

static inline bool
is_tidy(PyArrayObject *array)
{
    int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    return (PyArray_FLAGS(array) & wanted) == wanted && PyArray_ISNOTSWAPPED(array);
}

static inline bool
is_same_shape(PyArrayObject *a, PyArrayObject *b)
{
    int dimensions = PyArray_NDIM(a);
    return dimensions == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), dimensions);
}

/* Whether two numbers of Python are the same: a small integer, mostly one object. */
static bool
is_same_number(PyObject *a, PyObject *b)
{
    if (a == b) {
        return true;
    }
    int overflow;
    return PyLong_CheckExact(a) && PyLong_CheckExact(b) &&
           PyLong_AsLongLongAndOverflow(a, &overflow) == PyLong_AsLongLongAndOverflow(b, &overflow);
}

static bool
holds(const Condition *condition, PyObject *node)
{
    PyObject *value = *slot_at(node, condition->offset);
    return value != NULL && is_same_number(value, condition->value);
}

/* One argument of the steps: where it lies, and how far it is from one element to the next. */
typedef struct {
    char *at;
    npy_intp stride;
    union {
        double wide;
        float narrow;
    } number;
} Operand;

static bool
set_number(Operand *operand, double number, bool wide)
{
    if (wide) {
        operand->number.wide = number;
    }
    else {
        operand->number.narrow = (float)number;
    }
    operand->at = (char *)&operand->number;
    operand->stride = 0;
    return true;
}

/* Return the array of a saved tensor, borrowed; NULL, without an exception, when Python has to look at it. */
static PyArrayObject *
saved_array(PyObject *saved)
{
    if (saved == NULL || !PyTuple_CheckExact(saved) || PyTuple_GET_SIZE(saved) != 3) {
        return NULL;
    }
    PyObject *array = PyTuple_GET_ITEM(saved, 0), *counter = PyTuple_GET_ITEM(saved, 1);
    if (!PyArray_CheckExact(array) || !PyList_CheckExact(counter) || PyList_GET_SIZE(counter) != 1 ||
        !is_same_number(PyList_GET_ITEM(counter, 0), PyTuple_GET_ITEM(saved, 2))) {
        return NULL;
    }
    return (PyArrayObject *)array;
}

/* Find a saved value; false when Python has to look at it. */
static bool
set_saved(Operand *operand, const Argument *argument, PyObject *node, PyArrayObject *like, bool wide)
{
    PyObject *saved = *slot_at(node, argument->offset);
    if (saved == NULL) {
        return false;
    }
    if (!PyTuple_CheckExact(saved)) {
        if (argument->only_tensor) {
            return false;
        }
        if (PyFloat_CheckExact(saved)) {
            return set_number(operand, PyFloat_AS_DOUBLE(saved), wide);
        }
        int overflow = 0;
        long long number = PyLong_CheckExact(saved) ? PyLong_AsLongLongAndOverflow(saved, &overflow) : 1LL << 60;
        bool exact = !overflow && number < 1LL << 53 && number > -(1LL << 53);
        return exact && set_number(operand, (double)number, wide);
    }
    PyArrayObject *found = saved_array(saved);
    if (found == NULL || PyArray_DESCR(found) != PyArray_DESCR(like) || !is_tidy(found) ||
        !is_same_shape(found, like)) {
        return false;
    }
    operand->at = PyArray_BYTES(found);
    operand->stride = wide ? 8 : 4;
    return true;
}

static PyObject *
new_like(PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    return (PyObject *)new_result(dtype, PyArray_NDIM(array), PyArray_DIMS(array), 0);
}

/* Run the steps of a formula: 1 with the array of the result, 0 when Python has to, -1 with an exception. */
static int
run_steps(const Program *program, const Formula *formula, PyObject *node, PyArrayObject *grad, PyObject **result)
{
    bool wide = PyArray_TYPE(grad) == NPY_DOUBLE;
    npy_intp size = PyArray_SIZE(grad), item = wide ? 8 : 4;
    int count = formula->last - formula->first;
    if (size > LARGEST) {
        return 0;
    }
    Operand operands[MOST_STEPS][2];
    for (int i = 0; i < count; i++) {
        const Step *step = &program->steps[formula->first + i];
        for (int j = 0; j < step->inputs; j++) {
            const Argument *argument = &step->arguments[j];
            Operand *operand = &operands[i][j];
            if (argument->source == SAVED) {
                if (!set_saved(operand, argument, node, grad, wide)) {
                    return 0;
                }
            }
            else if (argument->source == NUMBER) {
                set_number(operand, argument->number, wide);
            }
            else {
                operand->at = argument->source == GRADIENT ? PyArray_BYTES(grad) : NULL;
                operand->stride = item;
            }
        }
    }
    double small[SCRATCH]; /* aligned for both dtypes */
    char *scratch = (char *)small;
    size_t needed = (size_t)(count - 1) * (size_t)(size * item);
    if (needed > sizeof(small) && (scratch = PyMem_Malloc(needed)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *result = new_like(grad);
    if (*result != NULL && size > 0) {
        for (int i = 0; i < count; i++) {
            const Step *step = &program->steps[formula->first + i];
            char *out = i == count - 1 ? PyArray_BYTES((PyArrayObject *)*result) : scratch + i * size * item;
            char *at[3];
            npy_intp strides[3];
            for (int j = 0; j < step->inputs; j++) {
                bool of_step = step->arguments[j].source == STEP;
                at[j] = of_step ? scratch + step->arguments[j].step * size * item : operands[i][j].at;
                strides[j] = operands[i][j].stride;
            }
            at[step->inputs] = out;
            strides[step->inputs] = item;
            npy_intp length = size;
            step->loops[wide](at, &length, strides, step->data[wide]);
        }
    }
    if (scratch != (char *)small) {
        PyMem_Free(scratch);
    }
    return *result == NULL ? -1 : 1;
}

/* Repeat an array of one element in new memory of a shape: 1, 0 when Python has to, -1 with an exception. */
static int
run_fill(PyObject *node, const Formula *formula, PyArrayObject *grad, PyObject **result)
{
    PyObject *shape = *slot_at(node, formula->shape);
    npy_intp dimensions[NPY_MAXDIMS], size = 1;
    if (shape == NULL || !PyTuple_CheckExact(shape) || PyArray_NDIM(grad) != 0 || PyTuple_GET_SIZE(shape) > 32) {
        return 0;
    }
    int count = (int)PyTuple_GET_SIZE(shape);
    for (int i = 0; i < count; i++) {
        dimensions[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        if (dimensions[i] < 0) {
            PyErr_Clear();
            return 0;
        }
        if (dimensions[i] > LARGEST || (size *= dimensions[i]) > LARGEST) {
            return 0;
        }
    }
    PyArray_Descr *dtype = PyArray_DESCR(grad);
    Py_INCREF(dtype);
    *result = (PyObject *)new_result(dtype, count, dimensions, 0);
    if (*result == NULL) {
        return -1;
    }
    char *at = PyArray_BYTES((PyArrayObject *)*result);
    if (PyArray_ITEMSIZE(grad) == 4) {
        for (npy_intp i = 0; i < size; i++) {
            memcpy(at + 4 * i, PyArray_BYTES(grad), 4);
        }
    }
    else {
        for (npy_intp i = 0; i < size; i++) {
            memcpy(at + 8 * i, PyArray_BYTES(grad), 8);
        }
    }
    return 1;
}

/* Multiply two matrices, as `first.dot(second)` does: 1, 0 when Python has to, -1 with an exception. */
static int
run_product(PyObject *node, const Formula *formula, PyArrayObject *grad, PyObject **result)
{
    for (int i = 0; i < formula->shape_count; i++) {
        PyObject *shape = *slot_at(node, formula->shapes[i]);
        if (shape == NULL || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != 2) {
            return 0;
        }
    }
    PyArrayObject *arrays[2];
    npy_intp rows[2], columns[2];
    for (int i = 0; i < 2; i++) {
        const Matrix *matrix = &formula->matrices[i];
        bool of_gradient = matrix->argument.source == GRADIENT;
        arrays[i] = of_gradient ? grad : saved_array(*slot_at(node, matrix->argument.offset));
        if (arrays[i] == NULL || PyArray_NDIM(arrays[i]) != 2 || PyArray_DESCR(arrays[i]) != PyArray_DESCR(grad)) {
            return 0;
        }
        rows[i] = PyArray_DIM(arrays[i], matrix->is_transposed);
        columns[i] = PyArray_DIM(arrays[i], !matrix->is_transposed);
    }
    if (columns[0] != rows[1]) {
        return 0;
    }
    /* Other threads run meanwhile, and may free what the node has saved. */
    int done = -1;
    for (int i = 0; i < 2; i++) {
        PyObject *array = (PyObject *)arrays[i];
        arrays[i] = (PyArrayObject *)(formula->matrices[i].is_transposed ? PyArray_Transpose(arrays[i], NULL)
                                                                         : Py_NewRef(array));
    }
    PyArray_Descr *dtype = PyArray_DESCR(grad);
    Py_INCREF(dtype);
    PyArrayObject *out = new_result(dtype, 2, (npy_intp[]){rows[0], columns[1]}, 0);
    if (arrays[0] != NULL && arrays[1] != NULL && out != NULL) {
        *result = PyArray_MatrixProduct2((PyObject *)arrays[0], (PyObject *)arrays[1], out);
        done = *result == NULL ? -1 : 1;
    }
    Py_XDECREF(arrays[0]);
    Py_XDECREF(arrays[1]);
    Py_XDECREF(out);
    return done;
}

int
run_program(const Program *program, NodeObject *node, TensorObject *grad, PyObject **grads, Py_ssize_t count)
{
    PyArrayObject *array = (PyArrayObject *)grad->data;
    int number = PyArray_TYPE(array);
    if (count != program->formula_count || (number != NPY_FLOAT && number != NPY_DOUBLE) || !is_tidy(array)) {
        return 0;
    }
    for (int i = 0; i < program->condition_count; i++) {
        if (!holds(&program->conditions[i], (PyObject *)node)) {
            return 0;
        }
    }
    int done = 1;
    Py_ssize_t i = 0;
    for (; i < count && done == 1; i++) {
        const Formula *formula = &program->formulas[i];
        PyObject *result = NULL;
        grads[i] = NULL;
        if (formula->way == NOTHING || !has_edge(node, i)) {
            continue;
        }
        if (formula->way == PASS) {
            grads[i] = Py_NewRef((PyObject *)grad);
            continue;
        }
        if (formula->way == WRAP) {
            result = Py_NewRef((PyObject *)array);
        }
        else {
            done = formula->way == FILL      ? run_fill((PyObject *)node, formula, array, &result)
                   : formula->way == PRODUCT ? run_product((PyObject *)node, formula, array, &result)
                                             : run_steps(program, formula, (PyObject *)node, array, &result);
        }
        if (done == 1 && (grads[i] = new_tensor(result)) == NULL) {
            done = -1;
        }
    }
    if (done != 1) {
        while (i-- > 0) {
            Py_CLEAR(grads[i]); /* The macro of 3.11 evaluates its argument several times. */
        }
    }
    return done;
}

/* ---- adding gradients */

static Step addition;

PyObject *
add_small(PyObject *a, PyObject *b, PyObject *out)
{
    PyArrayObject *first = (PyArrayObject *)a, *second = (PyArrayObject *)b;
    int number = PyArray_TYPE(first);
    if (addition.ufunc == NULL || (number != NPY_FLOAT && number != NPY_DOUBLE) ||
        PyArray_DESCR(first) != PyArray_DESCR(second) || !is_tidy(first) || !is_tidy(second) ||
        PyArray_SIZE(first) > LARGEST || !is_same_shape(first, second) ||
        (out != NULL && !PyArray_ISWRITEABLE((PyArrayObject *)out))) {
        return NULL;
    }
    bool wide = number == NPY_DOUBLE;
    npy_intp size = PyArray_SIZE(first), item = wide ? 8 : 4, strides[3] = {item, item, item};
    char *from = PyArray_BYTES(second), *to = PyArray_BYTES(first);
    if (out != NULL && from != to && from < to + size * item && to < from + size * item) {
        return NULL; /* They overlap. */
    }
    out = out == NULL ? new_like(first) : Py_NewRef(out);
    if (out != NULL && size > 0) {
        char *at[3] = {to, from, PyArray_BYTES((PyArrayObject *)out)};
        addition.loops[wide](at, &size, strides, addition.data[wide]);
    }
    return out;
}

/* run_formulas(node, gradient): the gradients of the edges by the node's program, None where Python has to compute them;
 * for tests. */
static PyObject *
run_formulas(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *node, *grad, *grads[MOST_FORMULAS];
    if (!PyArg_ParseTuple(args, "O!O!:run_formulas", &NodeStateType, &node, &StorageType, &grad)) {
        return NULL;
    }
    const NodeClass *known = node_class_of(Py_TYPE(node));
    PyObject *data = as_tensor(grad)->data;
    Py_ssize_t count = edge_count(as_node(node));
    if (known == NULL || known->program == NULL || count < 0 || data == NULL || !PyArray_CheckExact(data)) {
        Py_RETURN_NONE;
    }
    int done = run_program(known->program, as_node(node), as_tensor(grad), grads, count);
    if (done <= 0) {
        return done < 0 ? NULL : Py_NewRef(Py_None);
    }
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = grads[i] == NULL ? Py_NewRef(Py_None) : grads[i];
        if (result == NULL) {
            Py_DECREF(value);
        }
        else {
            PyTuple_SET_ITEM(result, i, value);
        }
    }
    return result;
}

/* provide_addition(np.add) */
static PyObject *
provide_addition(PyObject *Py_UNUSED(module), PyObject *ufunc)
{
    Step given = {0};
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        PyErr_Format(PyExc_TypeError, "provide_addition(): expected a ufunc, not %.200s", Py_TYPE(ufunc)->tp_name);
        return NULL;
    }
    PyUFuncObject *of = (PyUFuncObject *)ufunc;
    if (of->nin != 2 || of->nout != 1 || of->core_enabled) {
        PyErr_Format(PyExc_ValueError, "provide_addition(): %s does not add two numbers", of->name);
        return NULL;
    }
    given.ufunc = ufunc;
    if (find_loops(&given) < 0) {
        return NULL;
    }
    Py_INCREF(ufunc);
    addition = given; /* It lives as long as the process. */
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"register_node", register_node, METH_VARARGS, NULL},
    {"run_formulas", run_formulas, METH_VARARGS, NULL},
    {"provide_addition", provide_addition, METH_O, NULL},
    {NULL},
};

int
add_program(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
