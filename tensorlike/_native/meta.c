/* The autograd state that few tensors have, as members of a C struct: AutogradMeta in autograd/tensor_base.py. */
#include "families.h"

/* Fields and their defaults; objects all, for Note [Slots in C] in tensor.c. */
#define FIELDS(each)                                                                                                   \
    each(requires_grad, Py_False) each(view_base, Py_None) each(view_version, zero) each(view_refuses, Py_None)        \
        each(grad_value, Py_None) each(grad_dtype, Py_False) each(leaf_edge, Py_None) each(hooks, Py_None)             \
            each(post_accumulate_hooks, Py_None) each(retains_grad, Py_False) each(inference, Py_False)

#define VISIT(name, default) Py_VISIT(self->name);
#define CLEAR(name, default) Py_CLEAR(self->name);
#define FILL(name, default) self->name = Py_NewRef(default);
#define MEMBER(name, default) {#name, T_OBJECT_EX, offsetof(MetaObject, name), 0, NULL},

static PyObject *zero;

static int
meta_traverse(MetaObject *self, visitproc visit, void *arg)
{
    FIELDS(VISIT)
    return 0;
}

static int
meta_clear(MetaObject *self)
{
    FIELDS(CLEAR)
    return 0;
}

static void
meta_dealloc(MetaObject *self)
{
    PyObject_GC_UnTrack(self);
    meta_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

MetaObject *
new_meta(void)
{
    MetaObject *self = (MetaObject *)MetaType.tp_alloc(&MetaType, 0);
    if (self != NULL) {
        FIELDS(FILL)
    }
    return self;
}

static PyObject *
meta_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(args) > 0 || (keywords != NULL && PyDict_GET_SIZE(keywords) > 0)) {
        PyErr_SetString(PyExc_TypeError, "AutogradMeta() takes no arguments");
        return NULL;
    }
    return (PyObject *)new_meta();
}

/* keep_leaf_edge(edge): the first of two threads that make an edge for a leaf decides. */
static PyObject *
meta_keep_leaf_edge(MetaObject *self, PyObject *edge)
{
    if (!is_set(self->leaf_edge)) {
        Py_XSETREF(self->leaf_edge, Py_NewRef(edge));
    }
    return Py_NewRef(self->leaf_edge);
}

static PyMethodDef meta_methods[] = {
    {"keep_leaf_edge", (PyCFunction)meta_keep_leaf_edge, METH_O,
     "Keep this edge as that of the leaf if it has none, and return the one that is kept."},
    {NULL},
};

static PyMemberDef meta_members[] = {FIELDS(MEMBER){NULL}};

PyTypeObject MetaType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "tensorlike._native.core.AutogradMeta",
    .tp_doc = "The autograd state of a tensor that is a leaf, a view, hooked, or made under inference mode.",
    .tp_basicsize = sizeof(MetaObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = meta_new,
    .tp_dealloc = (destructor)meta_dealloc,
    .tp_traverse = (traverseproc)meta_traverse,
    .tp_clear = (inquiry)meta_clear,
    .tp_methods = meta_methods,
    .tp_members = meta_members,
};

int
add_meta(PyObject *module)
{
    zero = PyLong_FromLong(0);
    return zero == NULL ? -1 : PyModule_AddType(module, &MetaType);
}
