/* Views of plain tensors: indexing, shapes, and the order of dimensions.
 *
 * A kind of view computes the geometry of its result from that of its operand; making the array and the tensor around
 * it is the same for all. The autograd state of a view is that of `view_of` in tensor/memory/views.py.
 */
#include "families.h"

#include <math.h>

typedef struct {
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
    npy_intp strides[NPY_MAXDIMS];
    npy_intp offset;  /* in bytes */
    bool same_array;  /* the array itself */
    bool same_tensor; /* the operand itself */
} Geometry;

/* Fill in the geometry of a view of `array`, for the arguments behind the operand; false for what is left to Python. */
typedef bool (*kind_t)(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count);

static void
start_as(Geometry *view, PyArrayObject *array)
{
    view->ndim = PyArray_NDIM(array);
    copy_sizes(view->shape, PyArray_DIMS(array), view->ndim);
    copy_sizes(view->strides, PyArray_STRIDES(array), view->ndim);
}

static bool
add_dim(Geometry *view, npy_intp size, npy_intp stride)
{
    if (view->ndim == NPY_MAXDIMS) {
        return false;
    }
    view->shape[view->ndim] = size;
    view->strides[view->ndim++] = stride;
    return true;
}

/* ---- indexing */

/* Apply one integer or slice to dimension `dim` of `array`. */
static bool
index_dim(Geometry *view, PyArrayObject *array, int dim, PyObject *part)
{
    npy_intp size = PyArray_DIM(array, dim), stride = PyArray_STRIDE(array, dim);
    Py_ssize_t start, stop, step;
    if (read_int(part, &start)) {
        if (start < -size || start >= size) {
            return false;
        }
        view->offset += (start < 0 ? start + size : start) * stride;
        return true;
    }
    if (!PySlice_Check(part)) {
        return false;
    }
    PySliceObject *slice = (PySliceObject *)part;
    PyObject *bounds[] = {slice->start, slice->stop, slice->step};
    for (int i = 0; i < 3; i++) {
        /* Other objects with `__index__` run code of their own. */
        if (bounds[i] != Py_None && !PyLong_CheckExact(bounds[i])) {
            return false;
        }
    }
    if (PySlice_Unpack(part, &start, &stop, &step) < 0) {
        PyErr_Clear();
        return false;
    }
    if (step < 1) {
        return false;
    }
    Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
    if (length <= 0) {
        /* As NumPy does it. */
        length = 0;
        start = 0;
        step = 1;
    }
    if (step > 1 && (step > PY_SSIZE_T_MAX / (stride == 0 ? 1 : Py_ABS(stride)))) {
        return false;
    }
    view->offset += start * stride;
    return add_dim(view, length, stride * step);
}

static bool
view_index(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    if (count != 1) {
        return false;
    }
    PyObject *const *parts = args;
    Py_ssize_t number = 1;
    if (PyTuple_CheckExact(args[0])) {
        parts = ((PyTupleObject *)args[0])->ob_item;
        number = PyTuple_GET_SIZE(args[0]);
    }
    int ndim = PyArray_NDIM(array), dim = 0;
    Py_ssize_t named = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < number; i++) {
        named += parts[i] != Py_None && parts[i] != Py_Ellipsis;
        ellipses += parts[i] == Py_Ellipsis;
    }
    if (named > ndim || ellipses > 1) {
        return false;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        if (parts[i] == Py_None) {
            if (!add_dim(view, 1, 0)) {
                return false;
            }
        }
        else if (parts[i] == Py_Ellipsis) {
            for (Py_ssize_t k = ndim - named; k > 0; k--, dim++) {
                if (!add_dim(view, PyArray_DIM(array, dim), PyArray_STRIDE(array, dim))) {
                    return false;
                }
            }
        }
        else if (!index_dim(view, array, dim++, parts[i])) {
            return false;
        }
    }
    for (; dim < ndim; dim++) {
        if (!add_dim(view, PyArray_DIM(array, dim), PyArray_STRIDE(array, dim))) {
            return false;
        }
    }
    return true;
}

/* ---- sizes and dimensions as arguments */

/* Read integers passed as one tuple, list or Size, or one by one: their number, or -1. */
static int
read_ints(npy_intp *numbers, bool spread, PyObject *const *args, Py_ssize_t count)
{
    PyObject *sequence = count == 1 ? args[0] : NULL;
    if (sequence != NULL &&
        (PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence) || Py_TYPE(sequence) == families.size)) {
        count = PySequence_Fast_GET_SIZE(sequence);
        args = PySequence_Fast_ITEMS(sequence);
    }
    else if (!spread || count == 0) {
        return -1;
    }
    if (count > NPY_MAXDIMS) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t number;
        if (!read_int(args[i], &number)) {
            return -1;
        }
        numbers[i] = number;
    }
    return (int)count;
}

/* Give `view` the strides of a C-contiguous array; arrays without elements are left to Python. */
static bool
fit_shape(Geometry *view, PyArrayObject *array, const npy_intp *sizes, int ndim)
{
    npy_intp total = PyArray_SIZE(array), known = 1;
    int unknown = -1;
    if (total == 0) {
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == -1 && unknown < 0) {
            unknown = i;
        }
        else if (sizes[i] < 1 || sizes[i] > total / known) {
            return false;
        }
        else {
            known *= sizes[i];
        }
    }
    if (unknown < 0 ? known != total : total % known != 0) {
        return false;
    }
    view->ndim = ndim;
    npy_intp stride = PyArray_ITEMSIZE(array);
    for (int i = ndim - 1; i >= 0; i--) {
        view->shape[i] = i == unknown ? total / known : sizes[i];
        view->strides[i] = stride;
        stride *= view->shape[i];
    }
    if (ndim == PyArray_NDIM(array) && same_sizes(view->shape, PyArray_DIMS(array), ndim)) {
        start_as(view, array);
        return true;
    }
    return PyArray_IS_C_CONTIGUOUS(array);
}

static bool
shape_as(Geometry *view, PyArrayObject *array, bool spread, PyObject *const *args, Py_ssize_t count)
{
    npy_intp sizes[NPY_MAXDIMS];
    int ndim = read_ints(sizes, spread, args, count);
    return ndim >= 0 && fit_shape(view, array, sizes, ndim);
}

static bool
view_shape(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return shape_as(view, array, false, args, count);
}

static bool
view_shape_spread(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return shape_as(view, array, true, args, count);
}

static bool
view_merge(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    int ndim = PyArray_NDIM(array), first = 0, last = ndim > 0 ? ndim - 1 : 0;
    npy_intp sizes[NPY_MAXDIMS];
    if (count > 2 || (count > 0 && !read_dim(args[0], ndim, &first)) ||
        (count > 1 && !read_dim(args[1], ndim, &last)) || first > last) {
        return false;
    }
    if (ndim == 0) {
        sizes[0] = 1;
        return fit_shape(view, array, sizes, 1);
    }
    if (first == last) {
        view->same_tensor = true;
        return true;
    }
    for (int i = 0; i <= first; i++) {
        sizes[i] = PyArray_DIM(array, i);
    }
    for (int i = first + 1; i < ndim; i++) {
        if (i <= last) {
            sizes[first] *= PyArray_DIM(array, i);
        }
        else {
            sizes[i - last + first] = PyArray_DIM(array, i);
        }
    }
    return fit_shape(view, array, sizes, ndim - last + first);
}

static bool
expand_as(Geometry *view, PyArrayObject *array, bool spread, PyObject *const *args, Py_ssize_t count)
{
    npy_intp sizes[NPY_MAXDIMS];
    int ndim = read_ints(sizes, spread, args, count), lead = ndim - PyArray_NDIM(array);
    if (ndim < 0 || lead < 0) {
        return false;
    }
    view->ndim = ndim;
    npy_intp most = PY_SSIZE_T_MAX / PyArray_ITEMSIZE(array);
    for (int i = 0; i < ndim; i++) {
        npy_intp size = i < lead ? 1 : PyArray_DIM(array, i - lead);
        npy_intp wanted = i >= lead && sizes[i] == -1 ? size : sizes[i];
        if (wanted < 1 || wanted > most || (size != 1 && size != wanted)) {
            return false;
        }
        most /= wanted;
        view->shape[i] = wanted;
        view->strides[i] = size == 1 ? 0 : PyArray_STRIDE(array, i - lead);
    }
    return true;
}

static bool
view_expand(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return expand_as(view, array, false, args, count);
}

static bool
view_expand_spread(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return expand_as(view, array, true, args, count);
}

/* ---- the order of the dimensions, and dimensions of size 1 */

static bool
permute_as(Geometry *view, PyArrayObject *array, bool spread, PyObject *const *args, Py_ssize_t count)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(array);
    bool seen[NPY_MAXDIMS] = {false};
    if (read_ints(dims, spread, args, count) != ndim) {
        return false;
    }
    view->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        npy_intp dim = dims[i] < 0 ? dims[i] + ndim : dims[i];
        if (dim < 0 || dim >= ndim || seen[dim]) {
            return false;
        }
        seen[dim] = true;
        view->shape[i] = PyArray_DIM(array, dim);
        view->strides[i] = PyArray_STRIDE(array, dim);
    }
    return true;
}

static bool
view_permute(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return permute_as(view, array, false, args, count);
}

static bool
view_permute_spread(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    return permute_as(view, array, true, args, count);
}

static void
exchange(Geometry *view, PyArrayObject *array, int first, int second)
{
    start_as(view, array);
    if (view->ndim > 0) {
        view->shape[first] = PyArray_DIM(array, second);
        view->shape[second] = PyArray_DIM(array, first);
        view->strides[first] = PyArray_STRIDE(array, second);
        view->strides[second] = PyArray_STRIDE(array, first);
    }
}

static bool
view_exchange(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    int first, second;
    if (count != 2 || !read_dim(args[0], PyArray_NDIM(array), &first) ||
        !read_dim(args[1], PyArray_NDIM(array), &second)) {
        return false;
    }
    exchange(view, array, first, second);
    return true;
}

static bool
view_matrix(Geometry *view, PyArrayObject *array, PyObject *const *Py_UNUSED(args), Py_ssize_t count)
{
    if (count != 0 || PyArray_NDIM(array) > 2) {
        return false;
    }
    exchange(view, array, 0, PyArray_NDIM(array) == 2);
    return true;
}

static bool
view_squeeze(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    int ndim = PyArray_NDIM(array), only = -1;
    if (count > 1 || (count == 1 && !read_dim(args[0], ndim, &only))) {
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        if (PyArray_DIM(array, i) != 1 || (only >= 0 && i != only)) {
            add_dim(view, PyArray_DIM(array, i), PyArray_STRIDE(array, i));
        }
    }
    /* NumPy returns the array itself. */
    view->same_array = view->ndim == ndim;
    return true;
}

static bool
view_unsqueeze(Geometry *view, PyArrayObject *array, PyObject *const *args, Py_ssize_t count)
{
    int ndim = PyArray_NDIM(array), place;
    if (count != 1 || ndim == NPY_MAXDIMS || !read_dim(args[0], ndim + 1, &place)) {
        return false;
    }
    for (int i = 0; i <= ndim; i++) {
        if (i == place) {
            add_dim(view, 1, 0);
        }
        if (i < ndim) {
            add_dim(view, PyArray_DIM(array, i), PyArray_STRIDE(array, i));
        }
    }
    return true;
}

/* ---- the array and the tensor of a view */

static PyObject *
array_view(PyArrayObject *array, Geometry *view)
{
    if (view->same_array) {
        return Py_NewRef((PyObject *)array);
    }
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    PyObject *result = PyArray_NewFromDescr(&PyArray_Type, dtype, view->ndim, view->shape, view->strides,
                                            PyArray_BYTES(array) + view->offset, PyArray_FLAGS(array), NULL);
    if (result != NULL && PyArray_SetBaseObject((PyArrayObject *)result, Py_NewRef((PyObject *)array)) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

/* Whether C may read a counter: not that of an inference tensor. */
static bool
is_readable(PyObject *counter)
{
    return PyList_CheckExact(counter) && PyList_GET_SIZE(counter) == 1 &&
           PyLong_CheckExact(PyList_GET_ITEM(counter, 0));
}

/* Return the tensor of a view, with the state that `view_of` in tensor/memory/views.py gives it: a new reference, NULL with an
 * exception, or LEFT_TO_PYTHON. */
static PyObject *
view_of(TensorObject *source, PyArrayObject *array, Geometry *geometry, bool recorded)
{
    PyObject *base = (PyObject *)source, *refuses = NULL;
    if (is_set(source->meta)) {
        if (!Py_IS_TYPE(source->meta, &MetaType)) {
            return LEFT_TO_PYTHON;
        }
        MetaObject *of_source = (MetaObject *)source->meta;
        if (is_set(of_source->view_base)) {
            base = of_source->view_base;
            refuses = is_set(of_source->view_refuses) ? of_source->view_refuses : NULL;
            if (!PyObject_TypeCheck(base, &StorageType)) {
                return LEFT_TO_PYTHON;
            }
        }
    }
    if (refuses == NULL && !recorded) {
        refuses = families.under_no_grad;
    }
    PyObject *counter = is_set(source->counter) ? source->counter : as_tensor(base)->counter;
    if (is_set(counter) && !is_readable(counter)) {
        return LEFT_TO_PYTHON;
    }
    counter = is_set(counter) ? Py_NewRef(counter) : new_counter();
    if (counter == NULL) {
        return NULL;
    }
    PyObject *version = Py_NewRef(PyList_GET_ITEM(counter, 0));
    /* The collector may run in what follows, and with it any code. */
    Py_INCREF(base);
    Py_XINCREF(refuses);
    PyObject *view = new_tensor(array_view(array, geometry));
    MetaObject *meta = view == NULL ? NULL : new_meta();
    if (meta == NULL) {
        Py_XDECREF(view);
        Py_XDECREF(refuses);
        Py_DECREF(version);
        Py_DECREF(base);
        Py_DECREF(counter);
        return NULL;
    }
    if (!is_set(as_tensor(base)->counter) && !is_set(source->counter)) {
        Py_XSETREF(as_tensor(base)->counter, Py_NewRef(counter));
    }
    if (!is_set(source->counter)) {
        Py_XSETREF(source->counter, Py_NewRef(counter));
    }
    Py_SETREF(meta->view_base, base);
    Py_SETREF(meta->view_version, version);
    if (refuses != NULL) {
        Py_SETREF(meta->view_refuses, refuses);
    }
    set_tracked(as_tensor(view), true);
    Py_XSETREF(as_tensor(view)->counter, counter);
    Py_XSETREF(as_tensor(view)->meta, (PyObject *)meta);
    return view;
}

/* ---- recording */

/* The recordings of indexing are those of the four views that name its node, in this order. */
enum { SELECT, SLICE, UNSQUEEZE, ALIAS, MOST_RECORDINGS };

typedef struct {
    kind_t kind;
    bool spread; /* integers may be passed one by one */
    Recording recordings[MOST_RECORDINGS];
} ViewData;

static bool
is_everything(PyObject *part)
{
    PySliceObject *slice = (PySliceObject *)part;
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

/* `_last_view` in ops/indexing/getitem.py: the view that a basic index makes last; -1 for an index that is parsed. */
static int
last_view(PyObject *index)
{
    if (!PyTuple_CheckExact(index)) {
        return PyLong_CheckExact(index)                                            ? SELECT
               : PySlice_Check(index) && ((PySliceObject *)index)->step == Py_None ? SLICE
                                                                                   : -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(index);
    for (Py_ssize_t i = count - 1; i >= 0; i--) {
        PyObject *part = PyTuple_GET_ITEM(index, i);
        if (PyLong_CheckExact(part)) {
            return SELECT;
        }
        if (part == Py_None) {
            return UNSQUEEZE;
        }
        if (part != Py_Ellipsis && (count == 1 || !is_everything(part))) {
            return SLICE;
        }
    }
    return ALIAS;
}

/* Return an index with an Ellipsis, so that it gives an array of any array. */
static PyObject *
complete_index(PyObject *index)
{
    if (!PyTuple_CheckExact(index)) {
        return Py_NewRef(index);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(index);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyTuple_GET_ITEM(index, i) == Py_Ellipsis) {
            return Py_NewRef(index);
        }
    }
    PyObject *complete = PyTuple_New(count + 1);
    for (Py_ssize_t i = 0; complete != NULL && i <= count; i++) {
        PyTuple_SET_ITEM(complete, i, Py_NewRef(i < count ? PyTuple_GET_ITEM(index, i) : Py_Ellipsis));
    }
    return complete;
}

/* Return the second parameter of the operation that is recorded, for calls whose arguments are not its parameters. */
static PyObject *
recorded_parameter(const ViewData *data, PyObject *const *args, Py_ssize_t count)
{
    if (data->kind == view_index) {
        return complete_index(args[1]);
    }
    if (data->kind == view_merge || count < 2 || !data->spread || !PyLong_CheckExact(args[1])) {
        /* The shape that dimensions are merged to is not saved. */
        return Py_NewRef(data->kind == view_merge || count < 2 ? Py_None : args[1]);
    }
    PyObject *numbers = PyTuple_New(count - 1);
    for (Py_ssize_t i = 1; numbers != NULL && i < count; i++) {
        PyTuple_SET_ITEM(numbers, i - 1, Py_NewRef(args[i]));
    }
    return numbers;
}

/* Give a view its node; takes `view` over, which it returns. */
static PyObject *
record_view(ViewData *data, PyObject *view, int which, PyObject *const *args, Py_ssize_t count)
{
    PyObject *recorder = recorder_of(&data->recordings[which]);
    PyObject *second = recorder == NULL ? NULL : recorded_parameter(data, args, count);
    if (second == NULL) {
        Py_DECREF(view);
        return NULL;
    }
    PyObject *parameters[] = {args[0], second, count > 2 ? args[2] : NULL};
    Py_ssize_t number = data->kind == view_exchange ? 3 : data->kind == view_merge || count > 1 ? 2 : 1;
    int done = record_onto(recorder, view, parameters, number);
    Py_DECREF(second);
    if (done == 1) {
        return view;
    }
    Py_DECREF(view);
    return done == 0 ? LEFT_TO_PYTHON : NULL;
}

static PyObject *
handle_view(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    if (count < 1) {
        return LEFT_TO_PYTHON;
    }
    PyArrayObject *array = plain_array(args[0]);
    if (array == NULL) {
        return LEFT_TO_PYTHON;
    }
    ViewData *data = self->data;
    TensorObject *source = as_tensor(args[0]);
    int recorded = recording(), which = -1;
    if (recorded < 0) {
        return LEFT_TO_PYTHON;
    }
    if (recorded && is_tracked(source) && has_history(source)) {
        which = data->kind != view_index ? 0 : count == 2 ? last_view(args[1]) : -1;
        if (which < 0 || data->recordings[which].make == NULL) {
            return LEFT_TO_PYTHON;
        }
    }
    Geometry view;
    view.ndim = 0;
    view.offset = 0;
    view.same_array = view.same_tensor = false;
    if (!data->kind(&view, array, args + 1, count - 1)) {
        return LEFT_TO_PYTHON;
    }
    if (view.same_tensor) {
        return Py_NewRef(args[0]);
    }
    PyObject *made = view_of(source, array, &view, recorded);
    if (made == NULL || made == LEFT_TO_PYTHON || which < 0) {
        return made;
    }
    return record_view(data, made, which, args, count);
}

/* ---- assignment to a view of a basic index: `_write_to` in operations/indexing/getitem.py */

static const Recording unrecorded = {NULL, NULL};

/* Return the array of an assigned value that is broadcast to a view as Python does it, a new reference; NULL for one
 * that is left to Python, or with an exception. `number` is memory for an element. */
static PyArrayObject *
assigned_value(PyArrayObject *view, TensorObject *tensor, PyObject *value, char *number)
{
    if (PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value)) {
        double real = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : 0;
        bool single = PyArray_TYPE(view) == NPY_FLOAT || PyArray_TYPE(view) == NPY_CFLOAT;
        if ((single && isfinite(real) && fabs(real) > 1e38) || !PyArray_ISNOTSWAPPED(view) ||
            !store_number(value, PyArray_TYPE(view), number)) {
            return NULL; /* Such as one that is too large for the dtype. */
        }
        Py_INCREF(PyArray_DESCR(view));
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(view), 0, NULL, NULL, number,
                                                     NPY_ARRAY_CARRAY, NULL);
    }
    PyArrayObject *given = plain_array(value);
    if (given == NULL || PyArray_DESCR(given) != PyArray_DESCR(view) ||
        result_of(&unrecorded, value, UNRECORDED) == LEFT) {
        return NULL;
    }
    for (int i = 1; i <= PyArray_NDIM(given); i++) {
        npy_intp size = PyArray_DIM(given, PyArray_NDIM(given) - i);
        if (size != 1 && (i > PyArray_NDIM(view) || size != PyArray_DIM(view, PyArray_NDIM(view) - i))) {
            return NULL;
        }
    }
    /* Tensors on the same memory share a counter: Python looks whether their elements overlap. */
    if (is_set(tensor->counter) && tensor->counter == as_tensor(value)->counter && may_share(view, given)) {
        return NULL;
    }
    return (PyArrayObject *)Py_NewRef((PyObject *)given);
}

static PyObject *
handle_assigned(FunctionObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count, PyObject *Py_UNUSED(keywords))
{
    PyArrayObject *array = count == 3 ? plain_array(args[0]) : NULL;
    if (array == NULL || !PyArray_ISWRITEABLE(array) ||
        !(PyTypeNum_ISBOOL(PyArray_TYPE(array)) || PyTypeNum_ISNUMBER(PyArray_TYPE(array)))) {
        return LEFT_TO_PYTHON;
    }
    TensorObject *tensor = as_tensor(args[0]);
    Geometry geometry = {.ndim = 0};
    if (is_inference(tensor) || (is_set(tensor->counter) && !is_readable(tensor->counter)) ||
        result_of(&unrecorded, args[0], UNRECORDED) == LEFT || !view_index(&geometry, array, args + 1, 1)) {
        return LEFT_TO_PYTHON;
    }
    for (int i = 0; i < geometry.ndim; i++) {
        if (geometry.strides[i] == 0 && geometry.shape[i] > 1) {
            return LEFT_TO_PYTHON; /* Several elements are one. */
        }
    }
    PyArrayObject *view = (PyArrayObject *)array_view(array, &geometry);
    npy_clongdouble number; /* Large enough for every type, and aligned for it. */
    PyArrayObject *value = view == NULL ? NULL : assigned_value(view, tensor, args[2], (char *)&number);
    int done = value == NULL ? -1 : PyArray_CopyInto(view, value);
    bool left = value == NULL && !PyErr_Occurred();
    Py_XDECREF(view);
    Py_XDECREF(value);
    return left ? LEFT_TO_PYTHON : done < 0 || count_version(tensor) < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- attaching */

static const struct {
    const char *name;
    kind_t kind;
    kind_t spread; /* where integers may be passed one by one; NULL if there are none */
} kinds[] = {
    {"indexed", view_index, NULL},
    {"reshaped", view_shape, view_shape_spread},
    {"merged", view_merge, NULL},
    {"expanded", view_expand, view_expand_spread},
    {"reordered", view_permute, view_permute_spread},
    {"exchanged", view_exchange, NULL},
    {"transposed", view_matrix, NULL},
    {"narrower", view_squeeze, NULL},
    {"wider", view_unsqueeze, NULL},
};

static void
free_view(void *pointer)
{
    ViewData *data = pointer;
    for (int i = 0; i < MOST_RECORDINGS; i++) {
        clear_recording(&data->recordings[i]);
    }
    PyMem_Free(data);
}

/* attach_view(function, kind, spread, recordings): gives a function the handler of a kind of view. `recordings` are
 * those of `select`, `slice`, `unsqueeze` and `alias` for indexing, and one for every other kind. */
static PyObject *
attach_view(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *recordings;
    const char *name;
    int spread;
    if (!PyArg_ParseTuple(args, "OspO!:attach_view", &function, &name, &spread, &PyTuple_Type, &recordings)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0) {
            continue;
        }
        if (PyTuple_GET_SIZE(recordings) != (kinds[i].kind == view_index ? MOST_RECORDINGS : 1)) {
            PyErr_SetString(PyExc_ValueError, "attach_view(): argument 'recordings' has a wrong length");
            return NULL;
        }
        ViewData *data = PyMem_Calloc(1, sizeof(ViewData));
        if (data == NULL) {
            return PyErr_NoMemory();
        }
        data->spread = spread;
        data->kind = spread && kinds[i].spread != NULL ? kinds[i].spread : kinds[i].kind;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(recordings); k++) {
            set_recording(&data->recordings[k], PyTuple_GET_ITEM(recordings, k));
        }
        if (set_handler(function, handle_view, data, free_view, NULL) < 0) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    PyErr_Format(PyExc_ValueError, "there is no kind of view %R", PyTuple_GET_ITEM(args, 1));
    return NULL;
}

/* attach_assignment(function): gives a function the handler of `x[index] = value`. */
static PyObject *
attach_assignment(PyObject *Py_UNUSED(module), PyObject *function)
{
    return set_handler(function, handle_assigned, NULL, NULL, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"attach_assignment", attach_assignment, METH_O, NULL},
    {"attach_view", attach_view, METH_VARARGS, NULL},
    {NULL},
};

int
add_views(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
