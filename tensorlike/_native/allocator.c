/* The memory of results: a caching allocator that NumPy calls through the handler of NEP 49.
 *
 * Note [Memory of results]
 * The C library maps large blocks from the system and unmaps them again, so that every page of every result is faulted
 * in and zeroed anew: several times the computation itself at 10^5 elements. Here blocks that results leave are kept by
 * size, up to a limit, and serve the next result of that size. The handler is set in the Context in which kernels run
 * (Note [Kernels run quietly]) and nowhere else. An array keeps the handler that it was made with, and this module is
 * never unloaded: an array may live on anywhere and be freed by anyone, as the interpreter ends, too.
 *
 * A block is `offset` bytes of padding, which end in a Header, and `capacity` bytes for the array. Nothing relies on
 * the size that NumPy passes when it frees: for an array without elements it may not be the size that was asked for.
 *
 * Blocks below KEPT_FROM come from malloc, go back to it, and are not counted: it has no pages to map for them, and
 * gives the memory that was used last, which the processor's caches still hold (a training step of a small network took
 * a quarter more where all sizes were kept). Larger ones wait in a list of their class and in one list of all, in the
 * order in which they were freed: the oldest go back to the system when the limit is reached. The lock is held for a
 * few pointers only, never for a call of the system or of Python. It is needed since NumPy does not promise to call
 * with the interpreter's lock held.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ALIGNMENT 64                          /* a register of AVX-512, and a line of the cache */
#define MALLOC_ALIGNMENT (2 * sizeof(size_t)) /* what malloc promises */
#define PAGE 4096
#define HUGE_PAGE ((size_t)1 << 21)
#define KEPT_EXPONENT 16
#define KEPT_FROM ((size_t)1 << KEPT_EXPONENT)
#define FROM_MAP ((size_t)1 << 17) /* from here on blocks are mapped from the system: the C library's own threshold */
#if SIZE_MAX > 0xffffffff
#define LARGEST_EXPONENT 46 /* blocks of up to 2^47 bytes, all that a process can address */
#else
#define LARGEST_EXPONENT 29
#endif
#define CLASSES ((LARGEST_EXPONENT - KEPT_EXPONENT + 1) * 8)
#define TOO_LARGE CLASSES
#define NOT_KEPT (CLASSES + 1)

/* Before the array's first byte. */
typedef struct {
    uint64_t capacity;
    uint32_t offset; /* of the array from where the block begins */
    uint16_t class;
    uint16_t mapped; /* from the system, else from malloc */
} Header;

/* At the array's first byte while a block waits for the next array. */
typedef struct Waiting {
    struct Waiting *below; /* in its class */
    struct Waiting *above;
    struct Waiting *older; /* among all blocks */
    struct Waiting *newer;
} Waiting;

typedef struct {
    Py_ssize_t allocated_bytes;
    Py_ssize_t allocated_blocks;
    Py_ssize_t peak_allocated_bytes;
    Py_ssize_t hits;
    Py_ssize_t misses;
    Py_ssize_t released; /* blocks given back to the system */
    Py_ssize_t retries;  /* allocations that failed, and were tried again without the cache */
} Counters;

static struct {
#ifdef _WIN32
    SRWLOCK lock;
#else
    atomic_flag lock;
#endif
    Waiting *top[CLASSES];
    Waiting *oldest, *newest;
    size_t waiting_bytes;
    Py_ssize_t waiting_blocks;
    size_t limit; /* of waiting_bytes */
    Counters counters;
    bool huge_pages;
} cache = {
#ifdef _WIN32
    .lock = SRWLOCK_INIT,
#else
    .lock = ATOMIC_FLAG_INIT,
#endif
    .huge_pages = true,
};

/* ---- the lock */

static inline void
take_lock(void)
{
#ifdef _WIN32
    AcquireSRWLockExclusive(&cache.lock);
#else
    for (int tries = 1; atomic_flag_test_and_set_explicit(&cache.lock, memory_order_acquire); tries++) {
        if (tries % 64 == 0) {
            sched_yield();
        }
    }
#endif
}

static inline void
drop_lock(void)
{
#ifdef _WIN32
    ReleaseSRWLockExclusive(&cache.lock);
#else
    atomic_flag_clear_explicit(&cache.lock, memory_order_release);
#endif
}

/* ---- sizes: from KEPT_FROM on, eight classes in each power of 2 */

static inline unsigned
class_of(size_t size, size_t *capacity)
{
    if (size <= KEPT_FROM) {
        *capacity = size < sizeof(void *) ? sizeof(void *) : size;
        return NOT_KEPT;
    }
    unsigned exponent = KEPT_EXPONENT;
    for (size_t rest = (size - 1) >> (KEPT_EXPONENT + 1); rest; rest >>= 1) {
        exponent++;
    }
    if (exponent > LARGEST_EXPONENT) {
        return TOO_LARGE;
    }
    size_t power = (size_t)1 << exponent, step = power / 8;
    size_t steps = (size - 1 - power) / step + 1;
    *capacity = power + steps * step;
    return (exponent - KEPT_EXPONENT) * 8 + (unsigned)steps - 1;
}

static inline Header *
header_of(void *data)
{
    return (Header *)data - 1;
}

/* ---- blocks from the system */

static void *
map_pages(size_t size)
{
#ifdef _WIN32
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
    bool huge = size >= HUGE_PAGE && cache.huge_pages;
    size_t room = huge ? size + HUGE_PAGE : size;
    char *start = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    if (huge) {
        /* Cut it to where a huge page begins. */
        size_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
        if (before) {
            munmap(start, before);
        }
        start += before;
        if (room - before > size) {
            munmap(start + size, room - before - size);
        }
#ifdef MADV_HUGEPAGE
        madvise(start, size, MADV_HUGEPAGE); /* Advice: a kernel without huge pages refuses it. */
#endif
    }
    return start;
#endif
}

static inline size_t
mapped_size(const Header *header)
{
    return (header->offset + (size_t)header->capacity + PAGE - 1) / PAGE * PAGE;
}

/* Return the data of a new block, or NULL. `zeroed` asks for zeros. */
static void *
new_block(unsigned class, size_t capacity, bool zeroed)
{
    size_t padding = sizeof(Header);
    if (capacity >= ALIGNMENT) {
        padding += ALIGNMENT - MALLOC_ALIGNMENT;
    }
    char *start = NULL;
    bool mapped = capacity + padding >= FROM_MAP;
    if (mapped) {
        start = map_pages((padding + capacity + PAGE - 1) / PAGE * PAGE); /* The system gives zeros. */
    }
    if (start == NULL) {
        /* For large blocks, too: there is a limit to the number of mappings. */
        mapped = false;
        start = zeroed ? calloc(1, padding + capacity) : malloc(padding + capacity);
        if (start == NULL) {
            return NULL;
        }
    }
    char *data = start + padding;
    if (capacity >= ALIGNMENT) {
        data -= (uintptr_t)data % ALIGNMENT;
    }
    Header *header = header_of(data);
    header->capacity = capacity;
    header->offset = (uint32_t)(data - start);
    header->class = (uint16_t)class;
    header->mapped = mapped;
    return data;
}

static void
release_block(void *data)
{
    Header *header = header_of(data);
    char *start = (char *)data - header->offset;
    ASAN_UNPOISON_MEMORY_REGION(data, header->capacity);
    if (!header->mapped) {
        free(start);
        return;
    }
#ifdef _WIN32
    VirtualFree(start, 0, MEM_RELEASE);
#else
    munmap(start, mapped_size(header));
#endif
}

static void
release_blocks(Waiting *chain)
{
    while (chain != NULL) {
        Waiting *below = chain->below;
        release_block(chain);
        chain = below;
    }
}

/* ---- the cache; all of these are called with the lock held */

static void
forget(Waiting *block)
{
    Header *header = header_of(block);
    if (block->above != NULL) {
        block->above->below = block->below;
    }
    else {
        cache.top[header->class] = block->below;
    }
    if (block->below != NULL) {
        block->below->above = block->above;
    }
    *(block->older != NULL ? &block->older->newer : &cache.oldest) = block->newer;
    *(block->newer != NULL ? &block->newer->older : &cache.newest) = block->older;
    cache.waiting_bytes -= header->capacity;
    cache.waiting_blocks--;
}

static inline Waiting *
take_kept(unsigned class)
{
    Waiting *block = cache.top[class];
    if (block != NULL) {
        forget(block);
    }
    return block;
}

/* Take the oldest blocks out, until `size` more bytes fit into the limit: a chain of those that must be released. */
static Waiting *
make_room(size_t size)
{
    Waiting *chain = NULL;
    while (cache.oldest != NULL && cache.waiting_bytes + size > cache.limit) {
        Waiting *block = cache.oldest;
        forget(block);
        block->below = chain;
        chain = block;
        cache.counters.released++;
    }
    return chain;
}

/* Keep a block, and return a chain of those that must be released, the block itself among them if there is no room. */
static Waiting *
keep(Waiting *block, unsigned class)
{
    size_t capacity = header_of(block)->capacity;
    if (capacity > cache.limit) {
        block->below = NULL;
        cache.counters.released++;
        return block;
    }
    Waiting *chain = make_room(capacity);
    Waiting *top = cache.top[class];
    block->below = top;
    block->above = NULL;
    if (top != NULL) {
        top->above = block;
    }
    cache.top[class] = block;
    block->newer = NULL;
    block->older = cache.newest;
    *(cache.newest != NULL ? &cache.newest->newer : &cache.oldest) = block;
    cache.newest = block;
    cache.waiting_bytes += capacity;
    cache.waiting_blocks++;
    return chain;
}

/* Set the limit and take out what it leaves no room for: a chain of what must be released. */
static Waiting *
limit_to(size_t limit)
{
    cache.limit = limit;
    return make_room(0);
}

static Waiting *
take_all(void)
{
    size_t limit = cache.limit;
    Waiting *chain = limit_to(0);
    limit_to(limit);
    return chain;
}

/* Give all waiting blocks back to the system, since it has no memory left. */
static void
free_all(void)
{
    take_lock();
    Waiting *chain = take_all();
    cache.counters.retries++;
    drop_lock();
    release_blocks(chain);
}

/* ---- what NumPy calls */

static void *
allocate(size_t size, bool zeroed)
{
    size_t capacity = 0;
    unsigned class = class_of(size, &capacity);
    if (class == TOO_LARGE) {
        return NULL;
    }
    if (class == NOT_KEPT) {
        void *data = new_block(class, capacity, zeroed);
        if (data == NULL) {
            free_all();
            data = new_block(class, capacity, zeroed);
        }
        return data;
    }
    take_lock();
    void *data = take_kept(class);
    if (data != NULL) {
        cache.counters.hits++;
    }
    else {
        cache.counters.misses++;
        drop_lock();
        data = new_block(class, capacity, zeroed);
        if (data == NULL) {
            free_all();
            data = new_block(class, capacity, zeroed);
            if (data == NULL) {
                return NULL;
            }
        }
        zeroed = false;
        take_lock();
    }
    cache.counters.allocated_blocks++;
    cache.counters.allocated_bytes += (Py_ssize_t)capacity;
    if (cache.counters.allocated_bytes > cache.counters.peak_allocated_bytes) {
        cache.counters.peak_allocated_bytes = cache.counters.allocated_bytes;
    }
    drop_lock();
    ASAN_UNPOISON_MEMORY_REGION(data, capacity);
    if (zeroed) {
        memset(data, 0, size);
    }
    return data;
}

static void *
handler_malloc(void *Py_UNUSED(context), size_t size)
{
    return allocate(size, false);
}

static void *
handler_calloc(void *Py_UNUSED(context), size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        return NULL;
    }
    return allocate(count * size, true);
}

static void
handler_free(void *Py_UNUSED(context), void *data, size_t Py_UNUSED(size))
{
    if (data == NULL) {
        return;
    }
    size_t capacity = header_of(data)->capacity;
    unsigned class = header_of(data)->class;
    if (class == NOT_KEPT) {
        release_block(data);
        return;
    }
    ASAN_POISON_MEMORY_REGION((char *)data + sizeof(Waiting), capacity - sizeof(Waiting));
    take_lock();
    cache.counters.allocated_blocks--;
    cache.counters.allocated_bytes -= (Py_ssize_t)capacity;
    Waiting *chain = keep(data, class);
    drop_lock();
    release_blocks(chain);
}

static void *
handler_realloc(void *context, void *data, size_t size)
{
    if (data == NULL) {
        return allocate(size, false);
    }
    size_t before = header_of(data)->capacity, capacity = 0;
    unsigned class = class_of(size, &capacity);
    if (class == header_of(data)->class && capacity <= before) {
        return data;
    }
    void *moved = allocate(size, false);
    if (moved == NULL) {
        return size <= before ? data : NULL; /* NumPy does not expect that making an array smaller fails. */
    }
    memcpy(moved, data, size < before ? size : before);
    handler_free(context, data, before);
    return moved;
}

static PyDataMem_Handler handler = {
    "tensorlike",
    1,
    {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free},
};

/* The handler for NumPy; NULL where the memory of results is left to NumPy. */
static PyObject *capsule;

PyArrayObject *
new_result(PyArray_Descr *descr, int dimensions, const npy_intp *shape, int flags)
{
    npy_intp count = PyArray_MultiplyList(shape, dimensions);
    PyObject *before = NULL;
    if (capsule != NULL && (size_t)count * (size_t)PyDataType_ELSIZE(descr) >= KEPT_FROM) {
        /* The two changes of the Context take 100 ns, which smaller arrays need not pay. */
        before = PyDataMem_SetHandler(capsule);
        if (before == NULL) {
            Py_DECREF(descr);
            return NULL;
        }
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, dimensions, shape, NULL, NULL, flags, NULL);
    if (before != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *ours = PyDataMem_SetHandler(before);
        Py_DECREF(before);
        if (ours == NULL) {
            Py_CLEAR(array);
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
            return NULL;
        }
        Py_DECREF(ours);
        PyErr_Restore(type, value, traceback);
    }
    return (PyArrayObject *)array;
}

/* ---- what Python calls */

static PyObject *
set_data_allocator(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (capsule == NULL) {
        capsule = PyCapsule_New(&handler, "mem_handler", NULL);
        if (capsule == NULL) {
            return NULL;
        }
    }
    PyObject *before = PyDataMem_SetHandler(capsule);
    if (before == NULL) {
        return NULL;
    }
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyObject *
set_memory_cache_limit(PyObject *Py_UNUSED(module), PyObject *number)
{
    size_t limit = PyLong_AsSize_t(number);
    if (limit == (size_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    take_lock();
    Waiting *chain = limit_to(limit);
    drop_lock();
    release_blocks(chain);
    Py_RETURN_NONE;
}

static PyObject *
set_huge_pages(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    int on = PyObject_IsTrue(wanted);
    if (on < 0) {
        return NULL;
    }
    cache.huge_pages = on;
    Py_RETURN_NONE;
}

static PyObject *
empty_cache(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    take_lock();
    Waiting *chain = take_all();
    drop_lock();
    release_blocks(chain);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    Py_RETURN_NONE;
}

static PyObject *
memory_stats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    take_lock();
    Counters now = cache.counters;
    size_t limit = cache.limit;
    Py_ssize_t cached_bytes = (Py_ssize_t)cache.waiting_bytes, cached_blocks = cache.waiting_blocks;
    drop_lock();
    return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "allocated_bytes", now.allocated_bytes,
                         "allocated_blocks", now.allocated_blocks, "peak_allocated_bytes", now.peak_allocated_bytes,
                         "cached_bytes", cached_bytes, "cached_blocks", cached_blocks, "cache_limit", (Py_ssize_t)limit,
                         "hits", now.hits, "misses", now.misses, "released_blocks", now.released, "retries",
                         now.retries);
}

static PyMethodDef methods[] = {
    {"set_data_allocator", set_data_allocator, METH_NOARGS, "Have arrays made in this Context come from the cache."},
    {"set_memory_cache_limit", set_memory_cache_limit, METH_O, "Set how many bytes of freed memory are kept."},
    {"set_huge_pages", set_huge_pages, METH_O, "Set whether large blocks are to have huge pages."},
    {"empty_cache", empty_cache, METH_NOARGS, "Give the kept memory back to the system."},
    {"memory_stats", memory_stats, METH_NOARGS, "Return the counters as a dict."},
    {NULL},
};

int
add_allocator(PyObject *module)
{
#ifndef _WIN32
    /* A fork waits for the lock, so that the child has whole lists and a lock that is free. The module is executed once
     * in a process. */
    if (pthread_atfork(take_lock, drop_lock, drop_lock) != 0) {
        PyErr_NoMemory();
        return -1;
    }
#endif
    return PyModule_AddFunctions(module, methods);
}
