/* What the files of the native core share.
 *
 * Note [Leaving a call to Python]
 * Every rule of a call is written in Python. A handler in C answers the calls that it knows and returns LEFT_TO_PYTHON
 * for every other one, before it has changed anything; the Python function behind it then runs as if there were no C.
 */
#ifndef TENSORLIKE_NATIVE_H
#define TENSORLIKE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PY_ARRAY_UNIQUE_SYMBOL tensorlike_native_array_api
#define PY_UFUNC_UNIQUE_SYMBOL tensorlike_native_ufunc_api
#ifndef TENSORLIKE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* ---- tensor.c: the state of a tensor, the base of TensorBase in tensorlike/autograd/tensor_base.py */

typedef struct {
    PyObject_HEAD
    PyObject *data;    /* _tl_data: the array */
    PyObject *edge;    /* _tl_edge: (node, number), or None */
    PyObject *counter; /* _tl_counter: a list of one integer, or None */
    PyObject *meta;    /* _tl_meta: an AutogradMeta, or None */
    PyObject *flag;    /* _tl_tracked, an object for Note [Slots in C]: read it with is_tracked */
} TensorObject;

extern PyTypeObject StorageType;

/* Return a new plain tensor around an array, whose reference it takes over; NULL with an exception (the reference is
 * gone then, too). `array` may be NULL, for an exception that is passed on. */
PyObject *new_tensor(PyObject *array);
/* The same of a subclass of Tensor. */
PyObject *new_tensor_of(PyTypeObject *type, PyObject *array);

/* Whether `new_tensor_of` may make tensors of a class, as `object.__new__` would. */
bool can_make(PyTypeObject *type);
/* Add one to the version of a tensor that was written: -1 with an exception. */
int count_version(TensorObject *tensor);
/* Whether a tensor was made under inference mode; yes where that cannot be read. */
bool is_inference(TensorObject *tensor);

/* ---- module.c: objects of the Python side, given once by `core.provide(...)`; strong references */

typedef struct {
    PyTypeObject *tensor;      /* tensorlike.Tensor */
    PyTypeObject *parameter;   /* tensorlike.nn.Parameter: plain as well */
    PyObject *tensors;         /* the set state.TENSORS: Note [The plain set is the mode flag] */
    PyObject *plain;           /* the set state.PLAIN, which is filled last */
    PyObject *state;           /* the ContextVar state.STATE */
    PyObject *clear;           /* state.CLEAR: nothing is switched, and calls are recorded */
    PyObject *missing;         /* missing.MISSING */
    PyObject *ordinary;        /* the set state.ORDINARY: types of arguments that are never asked */
    PyObject *plans;           /* the dict core._PLANS: operand types -> Plan */
    PyObject *prepare;         /* prepare(function): gives a function its handler at its first call */
    PyObject *unanswered;      /* core.unanswered: what follows when every type returned NotImplemented */
    PyObject *went_in_circles; /* core.went_in_circles: the error for a RecursionError of a handler */
    PyObject *shorten;    /* tracebacks.shorten: takes the library's frames out of an error and names what failed */
    PyObject *files;      /* the dict tracebacks.FILES: whose code is in a file, 0 for others' */
    PyObject *activation; /* the class state.Activation */
    Py_ssize_t large;     /* threads.LARGE: larger arrays are left to Python, which may use more threads */
    /* Where a State and an Activation have their slots. */
    struct {
        Py_ssize_t clear, recording, modes, trace, all_disabled, subclasses_disabled, without_mode, mode, over;
    } slots;
} Provided;

extern Provided provided;

/* Whether the State of this thread or task has neither modes nor guards nor traces (`clear`), and whether operations
 * are recorded (`recording`). Both say no where the State cannot be read. */
PyObject *current_state(void); /* a new reference, NULL without an exception where there is none */
bool state_is_clear(void);
bool is_recording(void);

/* Whether a value is a plain tensor, and no mode is on that would see it. */
static inline bool
is_plain_tensor(PyObject *value)
{
    return (Py_TYPE(value) == provided.tensor || Py_TYPE(value) == provided.parameter) && provided.tensors != NULL &&
           (PySet_GET_SIZE(provided.tensors) > 0 || state_is_clear());
}

/* Whether a value is a tensor of any class. */
static inline bool
is_tensor(PyObject *value)
{
    return PyType_IsSubtype(Py_TYPE(value), &StorageType);
}

/* Whether an object is there: fields of tensors are None or NULL where nothing is stored. */
static inline bool
is_set(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* A slot of an instance of a Python class, borrowed. */
static inline PyObject *
slot_of(PyObject *instance, Py_ssize_t offset)
{
    return *(PyObject **)((char *)instance + offset);
}

static inline bool
is_tracked(const TensorObject *tensor)
{
    return tensor->flag == Py_True;
}

static inline void
set_tracked(TensorObject *tensor, bool tracked)
{
    PyObject *former = tensor->flag;
    tensor->flag = Py_NewRef(tracked ? Py_True : Py_False);
    Py_XDECREF(former);
}

static inline TensorObject *
as_tensor(PyObject *value)
{
    return (TensorObject *)value;
}

/* ---- function.c: public functions */

typedef struct FunctionObject FunctionObject;

/* Answer a call, with the arguments of a vectorcall: a new reference, NULL with an exception, or LEFT_TO_PYTHON. A
 * function whose parameters are described gets them all by place, and no keywords: Note [Keywords become places]. */
typedef PyObject *(*handler_t)(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

/* Answer a call of positional arguments for a subclass of Tensor that inherits the default implementation: the
 * result is of the class `type`. */
typedef PyObject *(*inherited_t)(FunctionObject *self, PyTypeObject *type, PyObject *const *args, Py_ssize_t count);

/* Return the tensor of class `type` for the array of a result, with its node if an operand has a history; called while
 * operations are recorded, for operands some of which are `_tl_tracked`. Takes `array` over, whatever it returns. */
typedef PyObject *(*recorder_t)(FunctionObject *self, PyTypeObject *type, PyObject *array, PyObject *const *operands,
                                int count);

struct FunctionObject {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python; /* the Python function that answers what C leaves; names and attributes are its own */
    PyObject *dict;   /* the dict of `python` */
    PyObject *weak_references;
    handler_t handler; /* or NULL */
    void *data;        /* what the handler knows of the operation */
    void (*free_data)(void *data);
    int (*traverse_data)(void *data, visitproc visit, void *arg); /* or NULL */
    inherited_t inherited;                                        /* or NULL; it may use `data` */
    recorder_t recorder;                                          /* or NULL: recorded calls are left to Python */
    void *recorder_data;
    void (*free_recorder_data)(void *data);
    /* What answers the calls that the handler leaves: general.c. It gets keywords as they are. NULL, or with its data. */
    handler_t general;
    struct General *general_data;
    struct Dispatched *dispatched; /* what dispatch knows of the operands, or NULL: dispatch.c */
    struct Parameters *parameters; /* the description of the parameters, or NULL */
    Py_ssize_t most;               /* arguments by position that the handler may be asked with */
    bool is_inner;                 /* called by functions that are public, whose errors these are */
};

extern PyTypeObject FunctionType;
extern PyObject left_to_python;
#define LEFT_TO_PYTHON (&left_to_python)

#define MOST_PARAMETERS 32

/* Ask the handler of a call with keywords, or what answers for the subclass `type` of Tensor if it is given. */
PyObject *ask_by_name(FunctionObject *self, PyTypeObject *type, PyObject *const *args, Py_ssize_t count,
                      PyObject *keywords);

/* Whether every call is left to Python now, for tools that watch Python's frames. */
bool is_paused(void);

/* Take the library's frames out of the error that is set, which leaves a function, and have its message name that. */
void shorten_traceback(FunctionObject *self);

/* Give a function its handler. Raises TypeError (-1) for what is no function of the core. Takes `data` over, also when
 * it fails. A handler that is set so replaces the one that finds the handler at the first call. */
int set_handler(PyObject *function, handler_t handler, void *data, void (*free_data)(void *),
                int (*traverse_data)(void *, visitproc, void *));

/* What the handlers of general.c know of a function, and what frees it. */
typedef struct General {
    void (*free)(struct General *data);
    int (*traverse)(struct General *data, visitproc visit, void *arg); /* or NULL */
} General;

/* Give a function what answers the calls that its handler leaves, as `set_handler`, unless it has one. */
int set_general(PyObject *function, handler_t handler, General *data);

/* Put the arguments of a call with keywords into the places of the parameters, borrowed: their number, or -1 for a call
 * that is Python's, with no exception set. */
Py_ssize_t bind_arguments(const FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                          PyObject **places);

/* Give a function what makes the tensors of its recorded results. Takes `data` over, also when it fails. */
int set_recorder(PyObject *function, recorder_t recorder, void *data, void (*free_data)(void *));

/* ---- elementwise.c: ufuncs on arrays of one dtype */

/* The inner loops of a ufunc, by the type number of its operands. */
typedef struct {
    int inputs; /* 1 or 2 */
    PyUFuncGenericFunction loops[NPY_NTYPES_LEGACY];
    void *data[NPY_NTYPES_LEGACY];
    char results[NPY_NTYPES_LEGACY]; /* type number of the result */
} Kernel;

/* Fill a kernel with the loops for operands whose kind is in `kinds` (all where it is empty) and whose result has their
 * type, or is boolean if `boolean`. Returns -1 with an exception for what is no ufunc. */
int fill_kernel(Kernel *kernel, PyObject *ufunc, const char *kinds, bool boolean);

/* Whether elements of two arrays may share memory: they lie in overlapping parts of it. */
bool may_share(PyArrayObject *a, PyArrayObject *b);

/* Store a Python number as an element of a type, or a bool as one of booleans. Returns false where NumPy would give the
 * result another type, raise an error, or take a way of its own. */
bool store_number(PyObject *number, int type, char *to);

/* Return the array of a kernel's result; LEFT_TO_PYTHON for operands that it does not know: another type, byte order,
 * layout or shape. `b` is an array or a Python number of a type in FLOATS (exact int and float); NULL for one input.
 * `out` may be NULL. The floating-point state of NumPy is neither read nor changed. */
PyObject *run_kernel(const Kernel *kernel, PyObject *a, PyObject *b, PyArrayObject *out);

/* ---- dispatch.c: overriding types and modes */

/* Answer a call by asking modes and types, in the order that dispatch/core.py gives; LEFT_TO_PYTHON for plain operands
 * and all that is unusual. */
PyObject *dispatch_call(FunctionObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
/* Whether an argument that is no operand is never asked, nor anything in it: Note [What overrides] in collect.py. Says no
 * where only Python can tell. */
bool is_ordinary(PyObject *value);
void free_dispatched(struct Dispatched *dispatched);
int traverse_dispatched(struct Dispatched *dispatched, visitproc visit, void *arg);

/* ---- allocator.c: Note [Memory of results] */

/* Return a new array for a result, whose memory is kept when it is freed, if it is large. Takes `descr` over. */
PyArrayObject *new_result(PyArray_Descr *descr, int dimensions, const npy_intp *shape, int flags);

/* ---- families.c */

/* Whether a tensor or its base has a history, as far as C can tell: `no_history` in autograd/tensor_base.py. */
bool has_history(TensorObject *tensor);

/* ---- what each file adds to the module; -1 with an exception */

int add_build(PyObject *module);
int add_tensor(PyObject *module);
int add_function(PyObject *module);
int add_elementwise(PyObject *module);
int add_dispatch(PyObject *module);
int add_allocator(PyObject *module);
int add_node(PyObject *module);
int add_record(PyObject *module);
int add_program(PyObject *module);
int add_engine(PyObject *module);
int add_meta(PyObject *module);
int add_families(PyObject *module);
int add_views(PyObject *module);
int add_reductions(PyObject *module);
int add_products(PyObject *module);
int add_joining(PyObject *module);
int add_copies(PyObject *module);
int add_updates(PyObject *module);
int add_context(PyObject *module);
int add_custom(PyObject *module);
int add_api(PyObject *module);
int add_general(PyObject *module);

#endif
