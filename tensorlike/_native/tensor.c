/* The state of a tensor as members of a C struct: see Note [What a tensor stores] in autograd/tensor_base.py.
 *
 * Note [Slots in C]
 * The interpreter reads and writes a member in 6 ns where it is an object whose absence raises AttributeError
 * (T_OBJECT_EX), as `__slots__` are, and in 19 ns where it is of another kind. So all five are such objects, even the
 * flag, and a new tensor stores None and False in them. A tensor that `object.__new__` has made has none of them yet.
 */
#include "native.h"

static int
storage_traverse(TensorObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->data);
    Py_VISIT(self->edge);
    Py_VISIT(self->counter);
    Py_VISIT(self->meta);
    Py_VISIT(self->flag);
    return 0;
}

static int
storage_clear(TensorObject *self)
{
    Py_CLEAR(self->data);
    Py_CLEAR(self->edge);
    Py_CLEAR(self->counter);
    Py_CLEAR(self->meta);
    Py_CLEAR(self->flag);
    return 0;
}

static void
storage_dealloc(TensorObject *self)
{
    PyObject_GC_UnTrack(self);
    storage_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef storage_members[] = {
    {"_tl_data", T_OBJECT_EX, offsetof(TensorObject, data), 0, NULL},
    {"_tl_edge", T_OBJECT_EX, offsetof(TensorObject, edge), 0, NULL},
    {"_tl_counter", T_OBJECT_EX, offsetof(TensorObject, counter), 0, NULL},
    {"_tl_meta", T_OBJECT_EX, offsetof(TensorObject, meta), 0, NULL},
    {"_tl_tracked", T_OBJECT_EX, offsetof(TensorObject, flag), 0, NULL},
    {NULL},
};

PyTypeObject StorageType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.Storage",
    .tp_doc = "The state of a tensor.",
    .tp_basicsize = sizeof(TensorObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = (destructor)storage_dealloc,
    .tp_traverse = (traverseproc)storage_traverse,
    .tp_clear = (inquiry)storage_clear,
    .tp_members = storage_members,
};

PyObject *
new_tensor_of(PyTypeObject *type, PyObject *array)
{
    if (array == NULL) {
        return NULL;
    }
    TensorObject *self = (TensorObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(array);
        return NULL;
    }
    self->data = array;
    self->edge = Py_NewRef(Py_None);
    self->counter = Py_NewRef(Py_None);
    self->meta = Py_NewRef(Py_None);
    self->flag = Py_NewRef(Py_False);
    return (PyObject *)self;
}

PyObject *
new_tensor(PyObject *array)
{
    return new_tensor_of(provided.tensor, array);
}

bool
can_make(PyTypeObject *type)
{
    if (!PyType_IsSubtype(type, &StorageType) || type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) {
        return false;
    }
    while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        type = type->tp_base;
    }
    return type == &StorageType; /* Not so for a class that has another class in C among its bases. */
}

int
count_version(TensorObject *tensor)
{
    PyObject *counter = tensor->counter;
    if (!is_set(counter)) {
        PyObject *one = PyLong_FromLong(1);
        counter = one == NULL ? NULL : PyList_New(1);
        if (counter == NULL) {
            Py_XDECREF(one);
            return -1;
        }
        PyList_SET_ITEM(counter, 0, one);
        Py_XSETREF(tensor->counter, counter);
        return 0;
    }
    if (!PyList_Check(counter) || PyList_GET_SIZE(counter) == 0) {
        PyErr_SetString(PyExc_TypeError, "a version counter must be a list of one integer");
        return -1;
    }
    long long version = PyLong_AsLongLong(PyList_GET_ITEM(counter, 0));
    PyObject *next = version == -1 && PyErr_Occurred() ? NULL : PyLong_FromLongLong(version + 1);
    if (next == NULL) {
        return -1;
    }
    return PyList_SetItem(counter, 0, next);
}

bool
is_inference(TensorObject *tensor)
{
    if (!is_set(tensor->meta)) {
        return false;
    }
    PyObject *flag = PyObject_GetAttrString(tensor->meta, "inference");
    if (flag == NULL) {
        PyErr_Clear();
        return true;
    }
    Py_DECREF(flag);
    return flag != Py_False;
}

int
add_tensor(PyObject *module)
{
    /* `object.__new__(Tensor)` makes tensors without a constructor, which takes the same `tp_new` in a class in C. */
    StorageType.tp_new = PyBaseObject_Type.tp_new;
    return PyModule_AddType(module, &StorageType);
}
