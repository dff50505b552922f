/* Elementwise operations whose kernel is a ufunc, on plain tensors of one dtype: `elementwise_operands` in
 * tensor/declarations/calls.py says which forms these are.
 *
 * Note [The inner loop of a ufunc]
 * A call of a ufunc takes 300 ns, of which the loop over four elements is 4: the rest finds the loop, makes an iterator
 * and reads the error state. `PyUFuncObject.functions`, `types` and `data` are public members, and operands of one
 * dtype that NumPy would compute with one call of the inner loop (all C-contiguous, all Fortran-contiguous or
 * one-dimensional, with zero-dimensional ones between them) need nothing else. The result has the layout that NumPy
 * gives it then. No floating-point error is looked for, so that neither `np.errstate` nor a warning has a part in it;
 * the flags that a loop leaves behind are those that a ufunc called under "ignore" leaves, and NumPy clears them before
 * it looks.
 */
#include "families.h"

/* From here on other Python threads run meanwhile, as in NumPy. */
#define RELEASE_SIZE 500

int
fill_kernel(Kernel *kernel, PyObject *ufunc, const char *kinds, bool boolean)
{
    if (!PyObject_TypeCheck(ufunc, &PyUFunc_Type)) {
        PyErr_Format(PyExc_TypeError, "expected a ufunc, not %.200s", Py_TYPE(ufunc)->tp_name);
        return -1;
    }
    PyUFuncObject *from = (PyUFuncObject *)ufunc;
    if (from->nin < 1 || from->nin > 2 || from->nout != 1 || from->core_enabled) {
        PyErr_Format(PyExc_TypeError, "%s is no ufunc of one or two operands and one result", from->name);
        return -1;
    }
    memset(kernel, 0, sizeof(*kernel));
    kernel->inputs = from->nin;
    for (int i = 0; i < from->ntypes; i++) {
        const char *types = from->types + i * from->nargs;
        int operand = types[0], result = types[from->nin];
        if (operand < 0 || operand >= NPY_OBJECT || types[from->nin - 1] != operand ||
            result != (boolean ? NPY_BOOL : operand) || kernel->loops[operand] != NULL) {
            continue;
        }
        PyArray_Descr *descr = PyArray_DescrFromType(operand);
        if (descr == NULL) {
            return -1;
        }
        if (*kinds == '\0' || strchr(kinds, descr->kind) != NULL) {
            kernel->loops[operand] = from->functions[i];
            kernel->data[operand] = from->data == NULL ? NULL : ((void **)from->data)[i];
            kernel->results[operand] = (char)result;
        }
        Py_DECREF(descr);
    }
    return 0;
}

/* Whether an operand is an array that an inner loop can read: exactly `numpy.ndarray`, of a native type. */
static inline bool
is_readable(PyObject *value)
{
    if (value == NULL || !PyArray_CheckExact(value)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_TYPE(array) < NPY_OBJECT && PyArray_ISBEHAVED_RO(array);
}

bool
store_number(PyObject *number, int type, char *to)
{
    double real;
    if (PyFloat_CheckExact(number)) {
        if (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_CFLOAT && type != NPY_CDOUBLE) {
            return false;
        }
        real = PyFloat_AS_DOUBLE(number);
    }
    else if (PyLong_CheckExact(number)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(number, &overflow);
        if (overflow != 0) {
            return false;
        }
#define STORE_WHOLE(kind, least, most)                                                                                 \
    if (whole < (long long)(least) || whole > (long long)(most)) {                                                     \
        return false;                                                                                                  \
    }                                                                                                                  \
    *(kind *)to = (kind)whole;                                                                                         \
    return true
        switch (type) {
        case NPY_BYTE: STORE_WHOLE(npy_byte, NPY_MIN_BYTE, NPY_MAX_BYTE);
        case NPY_SHORT: STORE_WHOLE(npy_short, NPY_MIN_SHORT, NPY_MAX_SHORT);
        case NPY_INT: STORE_WHOLE(npy_int, NPY_MIN_INT, NPY_MAX_INT);
        case NPY_LONG: STORE_WHOLE(npy_long, NPY_MIN_LONG, NPY_MAX_LONG);
        case NPY_LONGLONG: STORE_WHOLE(npy_longlong, NPY_MIN_LONGLONG, NPY_MAX_LONGLONG);
        case NPY_UBYTE: STORE_WHOLE(npy_ubyte, 0, NPY_MAX_UBYTE);
        case NPY_USHORT: STORE_WHOLE(npy_ushort, 0, NPY_MAX_USHORT);
        case NPY_UINT: STORE_WHOLE(npy_uint, 0, NPY_MAX_UINT);
        case NPY_FLOAT:
        case NPY_DOUBLE:
        case NPY_CFLOAT:
        case NPY_CDOUBLE:
            /* Larger integers are rounded once more on the way. */
            if (whole > (1LL << 53) || whole < -(1LL << 53)) {
                return false;
            }
            real = (double)whole;
            break;
        default: return false;
        }
#undef STORE_WHOLE
    }
    else {
        *(npy_bool *)to = number == Py_True;
        return type == NPY_BOOL && PyBool_Check(number);
    }
    switch (type) {
    case NPY_FLOAT: *(npy_float *)to = (npy_float)real; break;
    case NPY_DOUBLE: *(npy_double *)to = real; break;
    case NPY_CFLOAT:
        ((npy_float *)to)[0] = (npy_float)real;
        ((npy_float *)to)[1] = 0;
        break;
    default:
        ((npy_double *)to)[0] = real;
        ((npy_double *)to)[1] = 0;
        break;
    }
    return true;
}

static inline bool
same_shape(PyArrayObject *a, PyArrayObject *b)
{
    return PyArray_NDIM(a) == PyArray_NDIM(b) &&
           PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

/* The layouts of an array of two and more dimensions that an inner loop can walk through in one go. */
static inline int
orders_of(PyArrayObject *array)
{
    return PyArray_FLAGS(array) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
}

PyObject *
run_kernel(const Kernel *kernel, PyObject *first, PyObject *second, PyArrayObject *out)
{
    if (!is_readable(first)) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *a = (PyArrayObject *)first, *b = NULL, *shaped = a;
    PyArray_Descr *descr = PyArray_DESCR(a);
    int type = descr->type_num;
    PyUFuncGenericFunction loop = kernel->loops[type];
    if (loop == NULL) {
        return LEFT_TO_PYTHON;
    }
    npy_clongdouble number; /* Large enough for every type, and aligned for it. */
    char *data[3];
    npy_intp strides[3] = {0, 0, 0};
    int inputs = kernel->inputs, orders = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    data[0] = PyArray_BYTES(a);
    if (inputs == 2) {
        if (Py_IS_TYPE(second, &PyFloat_Type) || Py_IS_TYPE(second, &PyLong_Type)) {
            if (!store_number(second, type, (char *)&number)) {
                return LEFT_TO_PYTHON;
            }
            data[1] = (char *)&number;
        }
        else {
            b = (PyArrayObject *)second;
            if (!is_readable(second) || PyArray_DESCR(b) != descr) {
                return LEFT_TO_PYTHON;
            }
            if (!same_shape(a, b)) {
                if (PyArray_NDIM(a) == 0) {
                    shaped = b;
                }
                else if (PyArray_NDIM(b) != 0) {
                    return LEFT_TO_PYTHON;
                }
            }
            data[1] = PyArray_BYTES(b);
            if (PyArray_NDIM(b) == 1) {
                strides[1] = PyArray_STRIDE(b, 0);
            }
            else if (PyArray_NDIM(b) > 1) {
                strides[1] = descr->elsize;
                orders &= orders_of(b);
            }
        }
    }
    if (PyArray_NDIM(a) == 1) {
        strides[0] = PyArray_STRIDE(a, 0);
    }
    else if (PyArray_NDIM(a) > 1) {
        strides[0] = descr->elsize;
        orders &= orders_of(a);
    }
    npy_intp count = PyArray_SIZE(shaped);
    if (orders == 0 || count >= provided.large) {
        return LEFT_TO_PYTHON;
    }
    /* Arrays with a type object of their own, such as one with metadata, give results another one. */
    PyArray_Descr *own = PyArray_DescrFromType(type);
    if (own == NULL) {
        return NULL;
    }
    Py_DECREF(own); /* NumPy keeps it. */
    if (own != descr) {
        return LEFT_TO_PYTHON;
    }
    if (out != NULL && PyArray_NDIM(out) == 1 && PyArray_STRIDE(out, 0) != descr->elsize) {
        return LEFT_TO_PYTHON; /* One element with a step of its own, which loops take for an overlap. */
    }
    /* Other threads run while a large result is computed, and the collector may while it is made: the tensors can have
     * other arrays by then. */
    bool is_long = count >= RELEASE_SIZE;
    if (is_long) {
        Py_INCREF(a);
        Py_XINCREF(b);
    }
    PyArrayObject *result = out;
    if (out != NULL) {
        Py_INCREF(out);
    }
    else {
        PyArray_Descr *of_result = PyArray_DescrFromType(kernel->results[type]);
        int flags = orders & NPY_ARRAY_C_CONTIGUOUS ? 0 : NPY_ARRAY_F_CONTIGUOUS;
        if (of_result != NULL) {
            result = new_result(of_result, PyArray_NDIM(shaped), PyArray_DIMS(shaped), flags);
        }
    }
    if (result != NULL && count > 0) {
        data[inputs] = PyArray_BYTES(result);
        strides[inputs] = PyArray_ITEMSIZE(result);
        if (out != NULL && count == 1) {
            /* NumPy's iterator, which writes in place, has no steps then, and loops of complex numbers round otherwise. */
            memset(strides, 0, sizeof(strides));
        }
        if (is_long) {
            Py_BEGIN_ALLOW_THREADS
            loop(data, &count, strides, kernel->data[type]);
            Py_END_ALLOW_THREADS
        }
        else {
            loop(data, &count, strides, kernel->data[type]);
        }
    }
    if (is_long) {
        Py_DECREF(a);
        Py_XDECREF(b);
    }
    if (result != NULL && PyErr_Occurred()) { /* Such as an integer to a negative power. Python finds the words. */
        PyErr_Clear();
        Py_DECREF(result);
        return LEFT_TO_PYTHON;
    }
    return (PyObject *)result;
}

/* ---- calls */

typedef struct {
    Kernel kernel;
    bool numbers;           /* the second operand may be a number */
    bool numbers_of_floats; /* only beside floating-point elements: a comparison */
    bool scales;            /* a third argument is the factor of the second operand */
    Kernel product;         /* of that factor and the operand */
} Elementwise;

/* Return the array of the second operand times its factor, a new reference; NULL with an exception, or LEFT_TO_PYTHON.
 * A number is left, which gets the dtype of the other operand first. */
static PyObject *
scaled(const Elementwise *of, PyObject *array, PyObject *factor)
{
    if (array == NULL || !PyArray_CheckExact(array) ||
        (PyFloat_CheckExact(factor) && strchr("fc", PyArray_DESCR((PyArrayObject *)array)->kind) == NULL)) {
        return LEFT_TO_PYTHON;
    }
    if (PyFloat_CheckExact(factor) && PyFloat_AS_DOUBLE(factor) == 1.0) {
        return Py_NewRef(array); /* The product of a complex infinity is another one. */
    }
    bool is_number = PyFloat_CheckExact(factor) || PyLong_CheckExact(factor);
    return is_number ? run_kernel(&of->product, array, factor, NULL) : LEFT_TO_PYTHON;
}

/* Whether a result of this operand may get a node. Views are tracked, since their base may get a history; without one
 * their results need no recorder. */
static inline bool
may_be_recorded(TensorObject *tensor)
{
    return is_tracked(tensor) && has_history(tensor);
}

/* Return the array of a call, LEFT_TO_PYTHON, or NULL with an exception. `*tracked` says whether it is to be recorded.
 */
static PyObject *
compute(FunctionObject *self, PyObject *const *args, Py_ssize_t count, bool inherited, bool *tracked)
{
    Elementwise *of = self->data;
    PyObject *a = as_tensor(args[0])->data, *b = NULL;
    *tracked = may_be_recorded(as_tensor(args[0]));
    if (of->kernel.inputs == 2) {
        b = args[1];
        if (Py_IS_TYPE(b, &PyFloat_Type) || Py_IS_TYPE(b, &PyLong_Type)) {
            if (!of->numbers || (of->numbers_of_floats && inherited)) {
                return LEFT_TO_PYTHON;
            }
            if (of->numbers_of_floats && !(a != NULL && PyArray_CheckExact(a) && PyArray_ISFLOAT((PyArrayObject *)a))) {
                return LEFT_TO_PYTHON;
            }
        }
        else if (inherited ? is_tensor(b) : is_plain_tensor(b)) {
            *tracked = *tracked || may_be_recorded(as_tensor(b));
            b = as_tensor(b)->data;
        }
        else {
            return LEFT_TO_PYTHON;
        }
    }
    if (*tracked && !is_recording()) {
        *tracked = false;
    }
    if (*tracked && self->recorder == NULL) {
        return LEFT_TO_PYTHON;
    }
    if (count == of->kernel.inputs) {
        return run_kernel(&of->kernel, a, b, NULL);
    }
    PyObject *term = scaled(of, b, args[2]);
    if (term == NULL || term == LEFT_TO_PYTHON) {
        return term;
    }
    PyObject *result = run_kernel(&of->kernel, a, term, NULL);
    Py_DECREF(term);
    return result;
}

/* Whether a call has so many arguments as there are operands, and perhaps a factor of the second one behind them. */
static inline bool
takes_as_many(const Elementwise *of, Py_ssize_t count)
{
    return count == of->kernel.inputs || (of->scales && count == 3);
}

/* Return the tensor of class `type` for the array that `compute` returned. */
static PyObject *
tensor_for(FunctionObject *self, PyTypeObject *type, PyObject *array, PyObject *const *args, Py_ssize_t count,
           bool tracked)
{
    if (array == LEFT_TO_PYTHON || array == NULL) {
        return array;
    }
    if (!tracked) {
        return new_tensor_of(type, array);
    }
    return self->recorder(self, type, array, args, (int)count);
}

static PyObject *
answer_elementwise(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    if (!takes_as_many(self->data, count) || !is_plain_tensor(args[0])) {
        return LEFT_TO_PYTHON;
    }
    bool tracked;
    PyObject *array = compute(self, args, count, false, &tracked);
    return tensor_for(self, provided.tensor, array, args, count, tracked);
}

static PyObject *
answer_inherited(FunctionObject *self, PyTypeObject *type, PyObject *const *args, Py_ssize_t count)
{
    if (!takes_as_many(self->data, count) || !is_tensor(args[0]) || !can_make(type)) {
        return LEFT_TO_PYTHON;
    }
    bool tracked =
        is_tracked(as_tensor(args[0])) || (count > 1 && is_tensor(args[1]) && is_tracked(as_tensor(args[1])));
    if (tracked && type->tp_basicsize != provided.tensor->tp_basicsize && is_recording()) {
        return LEFT_TO_PYTHON; /* A class with slots of its own: `retyped` makes its recorded tensors. */
    }
    PyObject *array = compute(self, args, count, true, &tracked);
    return tensor_for(self, type, array, args, count, tracked);
}

/* Where the elements of an array begin and end in memory. */
static void
find_extent(PyArrayObject *array, char **low, char **high)
{
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        *(reach < 0 ? low : high) += reach;
    }
}

bool
may_share(PyArrayObject *a, PyArrayObject *b)
{
    char *low[2], *high[2];
    find_extent(a, &low[0], &high[0]);
    find_extent(b, &low[1], &high[1]);
    return PyArray_SIZE(a) > 0 && PyArray_SIZE(b) > 0 && low[0] < high[1] && low[1] < high[0];
}

/* Whether two arrays of one shape and type have elements at different places that share memory. `a` is contiguous. */
static bool
arrays_overlap(PyArrayObject *a, PyArrayObject *b)
{
    /* Not the same elements at the same places. */
    return !(PyArray_BYTES(b) == PyArray_BYTES(a) && PyArray_IS_C_CONTIGUOUS(b)) && may_share(a, b);
}

/* Write the result of an in-place form into the array of its first operand. */
static PyObject *
answer_inplace(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    Elementwise *of = self->data;
    int inputs = of->kernel.inputs;
    if (!takes_as_many(of, count) || !is_plain_tensor(args[0])) {
        return LEFT_TO_PYTHON;
    }
    TensorObject *me = as_tensor(args[0]);
    bool tracked = is_tracked(me);
    PyObject *a = me->data, *b = NULL;
    if (a == NULL || !PyArray_CheckExact(a) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)a) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)a)) {
        return LEFT_TO_PYTHON;
    }
    bool counted = is_set(me->counter);
    if (inputs == 2) {
        b = args[1];
        if (Py_IS_TYPE(b, &PyFloat_Type) || Py_IS_TYPE(b, &PyLong_Type)) {
            if (!of->numbers) {
                return LEFT_TO_PYTHON;
            }
        }
        else if (is_plain_tensor(b)) {
            TensorObject *other = as_tensor(b);
            b = other->data;
            if (b == NULL || !PyArray_CheckExact(b) || !same_shape((PyArrayObject *)a, (PyArrayObject *)b)) {
                return LEFT_TO_PYTHON;
            }
            /* Tensors on the same memory share a counter: Python looks whether their elements overlap. */
            if (other != me && ((counted && other->counter == me->counter) ||
                                (b != a && arrays_overlap((PyArrayObject *)a, (PyArrayObject *)b)))) {
                return LEFT_TO_PYTHON;
            }
            tracked = tracked || is_tracked(other);
        }
        else {
            return LEFT_TO_PYTHON;
        }
    }
    if ((tracked && is_recording()) || is_inference(me)) {
        return LEFT_TO_PYTHON;
    }
    PyObject *term = count == inputs ? Py_XNewRef(b) : scaled(of, b, args[2]);
    PyObject *array = term == LEFT_TO_PYTHON ? term : NULL;
    if (array == NULL && (term != NULL || inputs == 1)) {
        array = run_kernel(&of->kernel, a, term, (PyArrayObject *)a);
        Py_XDECREF(term);
    }
    if (array == NULL || array == LEFT_TO_PYTHON) {
        return array;
    }
    Py_DECREF(array);
    return count_version(me) < 0 ? NULL : Py_NewRef(args[0]);
}

static void
free_elementwise(void *data)
{
    PyMem_Free(data);
}

/* elementwise(function, ufunc, kinds, boolean, numbers, inplace, inherits, product): has a function call a ufunc.
 * `product` is the ufunc by which a third argument multiplies the second operand, None where there is none. */
static PyObject *
elementwise(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *ufunc, *product;
    const char *kinds;
    int boolean, numbers, inplace, inherits;
    if (!PyArg_ParseTuple(args, "OOsppppO:elementwise", &function, &ufunc, &kinds, &boolean, &numbers, &inplace,
                          &inherits, &product)) {
        return NULL;
    }
    Elementwise *of = PyMem_Calloc(1, sizeof(Elementwise));
    if (of == NULL) {
        return PyErr_NoMemory();
    }
    of->scales = product != Py_None;
    if (fill_kernel(&of->kernel, ufunc, kinds, boolean) < 0 ||
        (of->scales && fill_kernel(&of->product, product, "fciu", false) < 0)) {
        PyMem_Free(of);
        return NULL;
    }
    of->numbers = numbers;
    of->numbers_of_floats = boolean;
    if (set_handler(function, inplace ? answer_inplace : answer_elementwise, of, free_elementwise, NULL) < 0) {
        return NULL;
    }
    if (inherits) {
        ((FunctionObject *)function)->inherited = answer_inherited;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"elementwise", elementwise, METH_VARARGS, NULL},
    {NULL},
};

int
add_elementwise(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
