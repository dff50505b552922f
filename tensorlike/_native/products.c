/* Products of small matrices and vectors, and the softmax of small rows. */
#include "families.h"

/* ---- products, by the inner loop of a ufunc of the signature (n?,k),(k,m?)->(n?,m?) */

typedef struct {
    PyObject *product;
    PyObject *sum;    /* the ufunc that adds a third operand, which may be absent, to each row, or NULL */
    npy_intp largest; /* the most multiplications */
    bool ranks[4][3]; /* the numbers of dimensions of the operands; 3 of the first stands for more as well */
    bool is_second_transposed;
    Recording recording;
    Loop loops[NPY_NTYPES_LEGACY];
    Loop sums[NPY_NTYPES_LEGACY];
} ProductData;

static void
free_product(void *pointer)
{
    ProductData *data = pointer;
    clear_recording(&data->recording);
    Py_XDECREF(data->product);
    Py_XDECREF(data->sum);
    PyMem_Free(data);
}

/* An operand as a matrix. Where there is one row or one column the stride is zero, as NumPy hands it to the loop. */
typedef struct {
    npy_intp rows, columns, row_stride, column_stride;
} Matrix;

static void
set_matrix(Matrix *matrix, npy_intp rows, npy_intp row_stride, npy_intp columns, npy_intp column_stride)
{
    matrix->rows = rows;
    matrix->columns = columns;
    matrix->row_stride = rows == 1 ? 0 : row_stride;
    matrix->column_stride = columns == 1 ? 0 : column_stride;
}

/* Whether the loop may read an array where it lies. */
static bool
is_readable(PyArrayObject *array, PyArray_Descr *dtype)
{
    return PyArray_DESCR(array) == dtype && PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
           PyArray_SIZE(array) > 0;
}

/* Whether NumPy computes a product of the array by one call of BLAS whichever way it is asked, which `ndarray.dot` and
 * the loop of `matmul` do for this layout alone: elsewhere one copies what the other reads in an order of its own. */
static bool
is_for_blas(PyArrayObject *array)
{
    if (PyArray_NDIM(array) == 1) {
        npy_intp item = PyArray_ITEMSIZE(array), stride = PyArray_STRIDE(array, 0);
        return PyArray_DIM(array, 0) == 1 || (stride > 0 && stride % item == 0);
    }
    return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

/* Read the first operand; of more than two dimensions, where its rows lie one after the other. NumPy's products have
 * arrays of at most 32 dimensions. */
static bool
read_first(const ProductData *data, Matrix *matrix, PyArrayObject *array, int other)
{
    int ndim = PyArray_NDIM(array);
    if (ndim == 0 || ndim > NPY_MAXDIMS_LEGACY_ITERS || other == 0 || other > 2 ||
        !data->ranks[ndim < 3 ? ndim : 3][other]) {
        return false;
    }
    npy_intp columns = PyArray_DIM(array, ndim - 1), column_stride = PyArray_STRIDE(array, ndim - 1);
    if (ndim == 1) {
        set_matrix(matrix, 1, 0, columns, column_stride);
        return true;
    }
    if (ndim == 2) {
        set_matrix(matrix, PyArray_DIM(array, 0), PyArray_STRIDE(array, 0), columns, column_stride);
        return true;
    }
    if (other != 2 || !PyArray_IS_C_CONTIGUOUS(array)) {
        return false;
    }
    npy_intp item = PyArray_ITEMSIZE(array);
    set_matrix(matrix, PyArray_SIZE(array) / columns, columns * item, columns, item);
    return true;
}

static void
read_second(const ProductData *data, Matrix *matrix, PyArrayObject *array)
{
    if (PyArray_NDIM(array) == 1) {
        set_matrix(matrix, PyArray_DIM(array, 0), PyArray_STRIDE(array, 0), 1, 0);
        return;
    }
    int row = data->is_second_transposed ? 1 : 0, column = 1 - row;
    set_matrix(matrix, PyArray_DIM(array, row), PyArray_STRIDE(array, row), PyArray_DIM(array, column),
               PyArray_STRIDE(array, column));
}

static PyObject *
handle_product(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    ProductData *data = self->data;
    if (count < 2 || count > (data->sum == NULL ? 2 : 3)) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *first = plain_array(args[0]), *second = plain_array(args[1]), *added = NULL;
    if (first == NULL || second == NULL || PyArray_TYPE(first) >= NPY_NTYPES_LEGACY) {
        return LEFT_TO_PYTHON;
    }
    const Loop *loop = &data->loops[PyArray_TYPE(first)], *sum = &data->sums[PyArray_TYPE(first)];
    PyArray_Descr *dtype = PyArray_DESCR(first);
    Matrix left, right;
    if (loop->run == NULL || !is_readable(first, dtype) || !is_readable(second, dtype) || !is_for_blas(first) ||
        !is_for_blas(second) || !read_first(data, &left, first, PyArray_NDIM(second))) {
        return LEFT_TO_PYTHON;
    }
    read_second(data, &right, second);
    Result how = result_of(&data->recording, args[0], result_of(&data->recording, args[1], UNRECORDED));
    /* The product of two complex numbers is not BLAS's everywhere. */
    if (left.columns != right.rows || (left.columns == 1 && PyTypeNum_ISCOMPLEX(PyArray_TYPE(first))) ||
        left.rows > data->largest / left.columns / right.columns) {
        return LEFT_TO_PYTHON;
    }
    if (count > 2 && args[2] != Py_None) {
        added = plain_array(args[2]);
        if (added == NULL || sum->run == NULL || PyArray_NDIM(second) != 2 || PyArray_NDIM(added) != 1 ||
            !is_readable(added, dtype) || PyArray_DIM(added, 0) != right.columns) {
            return LEFT_TO_PYTHON;
        }
        how = result_of(&data->recording, args[2], how);
    }
    if (how == LEFT) {
        return LEFT_TO_PYTHON;
    }
    npy_intp shape[NPY_MAXDIMS], item = PyDataType_ELSIZE(dtype);
    int ndim = PyArray_NDIM(first) - 1;
    copy_sizes(shape, PyArray_DIMS(first), ndim);
    if (PyArray_NDIM(second) == 2) {
        shape[ndim++] = right.columns;
    }
    PyArrayObject *result = new_array(dtype, ndim, shape);
    if (result == NULL) {
        return NULL;
    }
    Matrix out;
    set_matrix(&out, left.rows, item * right.columns, right.columns, item);
    char *operands[] = {PyArray_DATA(first), PyArray_DATA(second), PyArray_DATA(result)};
    npy_intp sizes[] = {1, left.rows, left.columns, right.columns};
    npy_intp strides[] = {0,
                          0,
                          0,
                          left.row_stride,
                          left.column_stride,
                          right.row_stride,
                          right.column_stride,
                          out.row_stride,
                          out.column_stride};
    loop->run(operands, sizes, strides, loop->data);
    if (added != NULL) {
        for (npy_intp i = 0; i < left.rows; i++) {
            char *row = PyArray_BYTES(result) + i * item * right.columns;
            char *terms[] = {row, PyArray_DATA(added), row};
            npy_intp steps[] = {item, PyArray_STRIDE(added, 0), item}, size = right.columns;
            sum->run(terms, &size, steps, sum->data);
        }
    }
    return finish(&data->recording, how, result, args, count);
}

/* Fill in the loops for one dtype. */
static int
add_product(ProductData *data, PyObject *dtype)
{
    if (!PyArray_DescrCheck(dtype) || ((PyArray_Descr *)dtype)->type_num >= NPY_NTYPES_LEGACY) {
        PyErr_SetString(PyExc_TypeError, "attach_product(): argument 'dtypes' must be a tuple of NumPy's dtypes");
        return -1;
    }
    int type = ((PyArray_Descr *)dtype)->type_num;
    if (!find_loop((PyUFuncObject *)data->product, type, type, &data->loops[type]) ||
        (data->sum != NULL && !find_loop((PyUFuncObject *)data->sum, type, type, &data->sums[type]))) {
        PyErr_Format(PyExc_ValueError, "attach_product(): there is no loop for %R", dtype);
        return -1;
    }
    return 0;
}

/* attach_product(function, product, sum, dtypes, ranks, transposed, largest, recording): gives a function the
 * handler of products by the ufunc `product`, to which `sum`, or None, adds a third operand. `ranks` are pairs of the
 * numbers of dimensions of the operands, where 3 stands for more as well; `transposed` says that the second one is. */
static PyObject *
attach_product(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *product, *sum, *dtypes, *ranks, *recording;
    int transposed;
    Py_ssize_t largest;
    if (!PyArg_ParseTuple(args, "OOOO!O!pnO:attach_product", &function, &product, &sum, &PyTuple_Type, &dtypes,
                          &PyTuple_Type, &ranks, &transposed, &largest, &recording)) {
        return NULL;
    }
    if (as_ufunc(product, 2) == NULL || (sum != Py_None && as_ufunc(sum, 2) == NULL)) {
        return NULL;
    }
    if (!((PyUFuncObject *)product)->core_enabled) {
        PyErr_SetString(PyExc_ValueError,
                        "attach_product(): expected a generalized ufunc, and a name for each operand");
        return NULL;
    }
    ProductData *data = PyMem_Calloc(1, sizeof(ProductData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    set_recording(&data->recording, recording);
    data->product = Py_NewRef(product);
    data->sum = sum == Py_None ? NULL : Py_NewRef(sum);
    data->largest = largest;
    data->is_second_transposed = transposed;
    bool filled = true;
    for (Py_ssize_t i = 0; filled && i < PyTuple_GET_SIZE(ranks); i++) {
        int first, second;
        filled = PyArg_ParseTuple(PyTuple_GET_ITEM(ranks, i), "ii", &first, &second);
        if (filled && (first < 1 || first > 3 || second < 1 || second > 2)) {
            PyErr_SetString(PyExc_ValueError,
                            "attach_product(): operands are vectors (1), matrices (2) or batches (3)");
            filled = false;
        }
        if (filled) {
            data->ranks[first][second] = true;
        }
    }
    for (Py_ssize_t i = 0; filled && i < PyTuple_GET_SIZE(dtypes); i++) {
        filled = add_product(data, PyTuple_GET_ITEM(dtypes, i)) == 0;
    }
    if (!filled) {
        free_product(data);
        return NULL;
    }
    if (set_handler(function, handle_product, data, free_product, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- softmax, which is a ufunc, a product with a vector of ones, and another ufunc */

typedef struct {
    Loop power, divide;
    PyObject *ones; /* a vector, whose length is that of the longest row; NULL for a dtype that is left to Python */
    double safe;    /* the powers of numbers up to this size neither overflow nor vanish */
} Rows;

typedef struct {
    npy_intp largest;
    Recording recording;
    Rows single, twice; /* of float32 and of float64 */
} SoftmaxData;

static void
free_softmax(void *pointer)
{
    SoftmaxData *data = pointer;
    clear_recording(&data->recording);
    Py_XDECREF(data->single.ones);
    Py_XDECREF(data->twice.ones);
    PyMem_Free(data);
}

/* Whether all elements are safe; NaN is not. */
static bool
are_safe(PyArrayObject *array, double safe)
{
    npy_intp size = PyArray_SIZE(array);
    bool found = true;
    if (PyArray_TYPE(array) == NPY_FLOAT) {
        const npy_float *x = PyArray_DATA(array);
        for (npy_intp i = 0; i < size; i++) {
            found &= x[i] > (npy_float)-safe && x[i] < (npy_float)safe;
        }
    }
    else {
        const npy_double *x = PyArray_DATA(array);
        for (npy_intp i = 0; i < size; i++) {
            found &= x[i] > -safe && x[i] < safe;
        }
    }
    return found;
}

/* Return the sum of each row of a matrix, in the words of Python `matrix.dot(ones[:columns])`. */
static PyObject *
row_sums(PyArrayObject *array, npy_intp rows, npy_intp columns, PyArrayObject *ones)
{
    npy_intp shape[] = {rows, columns};
    Py_INCREF(PyArray_DESCR(array));
    PyObject *matrix = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), 2, shape, NULL, PyArray_DATA(array),
                                            NPY_ARRAY_CARRAY, NULL);
    Py_INCREF(PyArray_DESCR(ones));
    PyObject *vector = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(ones), 1, &columns, NULL, PyArray_DATA(ones),
                                            NPY_ARRAY_CARRAY, NULL);
    PyObject *sums = matrix == NULL || vector == NULL ? NULL : PyArray_MatrixProduct2(matrix, vector, NULL);
    Py_XDECREF(matrix);
    Py_XDECREF(vector);
    return sums;
}

/* ---- sums of columns, which undo broadcasting: `summed` in operations/reductions/row_kernels.py */

static struct {
    PyArrayObject *single,
        *twice;              /* vectors of ones of float32 and of float64, whose length is that of the most rows */
    npy_intp least, largest; /* the sizes of arrays whose columns are added so */
} column_sums;

PyObject *
sum_columns(PyArrayObject *array, npy_intp columns)
{
    int type = PyArray_TYPE(array);
    PyArrayObject *ones = type == NPY_FLOAT ? column_sums.single : type == NPY_DOUBLE ? column_sums.twice : NULL;
    npy_intp size = PyArray_SIZE(array), ndim = PyArray_NDIM(array);
    if (ones == NULL || ndim < 2 || PyArray_DIM(array, ndim - 1) != columns || !is_tidy(array) ||
        PyArray_DESCR(array) != PyArray_DESCR(ones) || size < column_sums.least || size > column_sums.largest ||
        size / columns > PyArray_SIZE(ones)) {
        return NULL;
    }
    npy_intp shape[] = {size / columns, columns};
    Py_INCREF(PyArray_DESCR(array));
    PyObject *matrix = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), 2, shape, NULL, PyArray_DATA(array),
                                            NPY_ARRAY_CARRAY, NULL);
    Py_INCREF(PyArray_DESCR(ones));
    PyObject *vector = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(ones), 1, shape, NULL, PyArray_DATA(ones),
                                            NPY_ARRAY_CARRAY, NULL);
    Py_INCREF(array); /* Other threads run meanwhile. */
    PyObject *sums = matrix == NULL || vector == NULL ? NULL : PyArray_MatrixProduct2(vector, matrix, NULL);
    Py_DECREF(array);
    Py_XDECREF(matrix);
    Py_XDECREF(vector);
    return sums;
}

/* provide_column_sums(single, twice, least, largest): vectors of ones of both dtypes, and the sizes of arrays. */
static PyObject *
provide_column_sums(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *single, *twice;
    Py_ssize_t least, largest;
    if (!PyArg_ParseTuple(args, "O!O!nn:provide_column_sums", &PyArray_Type, &single, &PyArray_Type, &twice, &least,
                          &largest)) {
        return NULL;
    }
    if (PyArray_TYPE(single) != NPY_FLOAT || PyArray_TYPE(twice) != NPY_DOUBLE || !is_tidy(single) || !is_tidy(twice) ||
        least < 1) {
        PyErr_SetString(PyExc_TypeError, "provide_column_sums(): expected vectors of float32 and of float64");
        return NULL;
    }
    /* They live as long as the process. */
    Py_INCREF(single);
    Py_INCREF(twice);
    column_sums.single = single;
    column_sums.twice = twice;
    column_sums.least = least;
    column_sums.largest = largest;
    Py_RETURN_NONE;
}

static PyObject *
handle_softmax(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    SoftmaxData *data = self->data;
    if (count != 2) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *array = plain_array(args[0]);
    int ndim = array == NULL ? 0 : PyArray_NDIM(array), dim;
    if (ndim == 0 || !read_dim(args[1], ndim, &dim) || dim != ndim - 1 || !is_tidy(array) ||
        (PyArray_TYPE(array) != NPY_FLOAT && PyArray_TYPE(array) != NPY_DOUBLE)) {
        return LEFT_TO_PYTHON;
    }
    const Rows *of_type = PyArray_TYPE(array) == NPY_FLOAT ? &data->single : &data->twice;
    npy_intp size = PyArray_SIZE(array), columns = PyArray_DIM(array, dim), item = PyArray_ITEMSIZE(array);
    if (of_type->ones == NULL || size == 0 || size > data->largest ||
        columns > PyArray_SIZE((PyArrayObject *)of_type->ones) || !are_safe(array, of_type->safe)) {
        return LEFT_TO_PYTHON;
    }
    Result how = result_of(&data->recording, args[0], UNRECORDED);
    if (how == LEFT) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *result = new_array(PyArray_DESCR(array), ndim, PyArray_DIMS(array));
    if (result == NULL) {
        return NULL;
    }
    char *operands[] = {PyArray_DATA(array), PyArray_DATA(result)};
    npy_intp strides[] = {item, item};
    of_type->power.run(operands, &size, strides, of_type->power.data);
    PyObject *sums = row_sums(result, size / columns, columns, (PyArrayObject *)of_type->ones);
    if (sums == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    const char *divisor = PyArray_DATA((PyArrayObject *)sums);
    for (char *row = PyArray_DATA(result), *end = row + size * item; row < end; row += columns * item) {
        char *terms[] = {row, (char *)divisor, row};
        npy_intp steps[] = {item, 0, item}, number = columns;
        of_type->divide.run(terms, &number, steps, of_type->divide.data);
        divisor += item;
    }
    Py_DECREF(sums);
    return finish(&data->recording, how, result, args, 2);
}

/* attach_softmax(function, power, divide, rows, largest, recording): gives a function the handler of softmax
 * along the last dimension. `rows` are pairs of a vector of ones and the size of numbers whose powers are safe, one for
 * each dtype. */
static PyObject *
attach_softmax(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *power, *divide, *rows, *recording;
    Py_ssize_t largest;
    if (!PyArg_ParseTuple(args, "OOOO!nO:attach_softmax", &function, &power, &divide, &PyTuple_Type, &rows, &largest,
                          &recording)) {
        return NULL;
    }
    if (as_ufunc(power, 1) == NULL || as_ufunc(divide, 2) == NULL) {
        return NULL;
    }
    SoftmaxData *data = PyMem_Calloc(1, sizeof(SoftmaxData));
    if (data == NULL) {
        return PyErr_NoMemory();
    }
    set_recording(&data->recording, recording);
    data->largest = largest;
    bool filled = true;
    for (Py_ssize_t i = 0; filled && i < PyTuple_GET_SIZE(rows); i++) {
        PyArrayObject *ones;
        double safe;
        filled = PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "O!d", &PyArray_Type, &ones, &safe);
        if (!filled) {
            break;
        }
        int type = PyArray_TYPE(ones);
        Rows *of_type = type == NPY_FLOAT ? &data->single : &data->twice;
        if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(ones) != 1 || !is_tidy(ones) ||
            !find_loop((PyUFuncObject *)power, type, type, &of_type->power) ||
            !find_loop((PyUFuncObject *)divide, type, type, &of_type->divide)) {
            PyErr_SetString(PyExc_ValueError, "attach_softmax(): rows are of float32 or float64");
            filled = false;
            break;
        }
        of_type->safe = safe;
        Py_XSETREF(of_type->ones, Py_NewRef((PyObject *)ones));
    }
    if (!filled) {
        free_softmax(data);
        return NULL;
    }
    if (set_handler(function, handle_softmax, data, free_softmax, NULL) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"attach_product", attach_product, METH_VARARGS, NULL},
    {"attach_softmax", attach_softmax, METH_VARARGS, NULL},
    {"provide_column_sums", provide_column_sums, METH_VARARGS, NULL},
    {NULL},
};

int
add_products(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
