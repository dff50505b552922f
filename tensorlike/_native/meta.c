/* The autograd state that few tensors have, as members of a C struct: AutogradMeta in autograd/tensor_base.py. */
#include "families.h"

static int
meta_traverse(MetaObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->view_base);
    Py_VISIT(self->view_refuses);
    Py_VISIT(self->grad_value);
    Py_VISIT(self->grad_dtype);
    Py_VISIT(self->leaf_edge);
    Py_VISIT(self->hooks);
    Py_VISIT(self->post_accumulate_hooks);
    return 0;
}

static int
meta_clear(MetaObject *self)
{
    Py_CLEAR(self->view_base);
    Py_CLEAR(self->view_refuses);
    Py_CLEAR(self->grad_value);
    Py_CLEAR(self->grad_dtype);
    Py_CLEAR(self->leaf_edge);
    Py_CLEAR(self->hooks);
    Py_CLEAR(self->post_accumulate_hooks);
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
        /* All else is None or false by being zero. */
        self->grad_dtype = Py_NewRef(Py_False);
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

static PyMemberDef meta_members[] = {
    {"requires_grad", T_BOOL, offsetof(MetaObject, requires_grad), 0, NULL},
    {"view_base", T_OBJECT, offsetof(MetaObject, view_base), 0, NULL},
    {"view_version", T_PYSSIZET, offsetof(MetaObject, view_version), 0, NULL},
    {"view_refuses", T_OBJECT, offsetof(MetaObject, view_refuses), 0, NULL},
    {"grad_value", T_OBJECT, offsetof(MetaObject, grad_value), 0, NULL},
    {"grad_dtype", T_OBJECT, offsetof(MetaObject, grad_dtype), 0, NULL},
    {"leaf_edge", T_OBJECT, offsetof(MetaObject, leaf_edge), 0, NULL},
    {"hooks", T_OBJECT, offsetof(MetaObject, hooks), 0, NULL},
    {"post_accumulate_hooks", T_OBJECT, offsetof(MetaObject, post_accumulate_hooks), 0, NULL},
    {"retains_grad", T_BOOL, offsetof(MetaObject, retains_grad), 0, NULL},
    {"inference", T_BOOL, offsetof(MetaObject, inference), 0, NULL},
    {NULL},
};

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
    return PyModule_AddType(module, &MetaType);
}
