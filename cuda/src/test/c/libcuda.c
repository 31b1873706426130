/*
 * A stand-in for NVIDIA's driver library, for tests only. It has no GPU: device memory is host memory, and streams are
 * threads. What is proved with it is that this project calls the driver correctly, never that it works on a GPU.
 *
 * Compiled by the tests (see StandIn.java) to libcuda.so.1 and loaded before jcuda's native library, which is linked
 * with a library of that name. Addresses on a device cannot be accessed by the host: they are reserved pages, and the
 * bytes are elsewhere. Copies and fills on a stream run in its thread, in order, after an adjustable delay, and behind
 * a gate that can be closed, so that a missing synchronization shows as wrong data or as an error. Any call can be made
 * to fail. Functions that are not implemented here return CUDA_ERROR_NOT_SUPPORTED.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "unsupported.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct { char bytes[64]; } CUipcHandle;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct event *CUevent;

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201, ALREADY_MAPPED = 208, PEER_ACCESS_UNSUPPORTED = 217,
    PEER_ACCESS_ALREADY_ENABLED = 704, INVALID_HANDLE = 400, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, NOT_SUPPORTED = 801
};

enum { MAX_DEVICES = 8, MAX_NAMES = 256, MAX_CURRENT = 64, PAGE = 4096 };
static const size_t LARGEST_GARBAGE = (size_t) 64 << 20;

struct context { int device; int retained; };

/* Bytes on a device. */
struct allocation {
    struct allocation *next;
    CUdeviceptr address;
    size_t size;
    char *bytes;
    int device, fd, ready, freed, pooled, imports;
    CUipcHandle handle;
};

/* Bytes of the host that do not move. */
struct pinned { struct pinned *next; char *start; size_t size; int registered, read_only; };

struct state { unsigned long long recorded, completed; };
struct event { struct state own, *state; int fd, references; };

/* Which work the gate holds back. */
enum { ALL_STREAMS = 1, DEFAULT_STREAM = 2 };
enum kind { COPY, FILL, RECORD, AWAIT, READY, FREE };
struct operation {
    struct operation *next;
    enum kind kind;
    CUdeviceptr target_device, source_device;
    char *target_host;
    const char *source_host;
    size_t size;
    int value;
    struct event *event;
    unsigned long long generation;
    struct allocation *allocation;
    unsigned long long number;
};
struct stream {
    struct stream *next;
    pthread_t thread;
    struct operation *first, *last;
    unsigned long long submitted, done;
    int ends, device, is_independent;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int device_count = 4, first_device, version = 12040, init_result, initialized, pools = 1, moves_bytes = 1;
static size_t device_memory = (size_t) 8 << 30, pinned_limit = (size_t) 8 << 30;
static size_t used[MAX_DEVICES], pinned_bytes;
static struct context contexts[MAX_DEVICES];
static struct allocation *allocations;
static struct pinned *pinned_list;
static struct stream *streams, *default_streams[MAX_DEVICES];
static long live_events, pageable_copies, late_unpinned, direct_copies, all_calls, delay_micros, largest_copy;
static int gate_closed, sticky, read_only_pinning = 1, peers_possible = 1, peer_access[MAX_DEVICES][MAX_DEVICES];
static unsigned long long operations;
static struct { const char *name; long calls; } counted[MAX_NAMES];

static char fail_name[64];
static long fail_countdown;
static int fail_code, failed;

static __thread CUcontext current[MAX_CURRENT];
static __thread int depth;

/* ---- counting and failing ---- */

static CUresult enter_locked(const char *name) {
    int i = 0;
    while (i < MAX_NAMES - 1 && counted[i].name && strcmp(counted[i].name, name)) {
        i++;
    }
    counted[i].name = name;
    counted[i].calls++;
    all_calls++;
    if (fail_countdown > 0 && (!strcmp(fail_name, "*") || !strcmp(fail_name, name)) && --fail_countdown == 0) {
        failed = 1;
        return fail_code;
    }
    return sticky;
}

static CUresult enter(const char *name) {
    pthread_mutex_lock(&lock);
    CUresult result = enter_locked(name);
    pthread_mutex_unlock(&lock);
    return result;
}

#define ENTER(name) do { CUresult entered = enter(#name); if (entered) return entered; } while (0)
#define WITH_CONTEXT(name) do { ENTER(name); if (!context()) return INVALID_CONTEXT; } while (0)
#define EXPORT __attribute__((visibility("default")))

static CUcontext context(void) { return depth > 0 ? current[depth - 1] : NULL; }

static void pause_micros(long micros) {
    struct timespec time = { micros / 1000000, micros % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

/* ---- memory ---- */

static size_t pages(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

static struct allocation *find_any(CUdeviceptr address, size_t size, int freed_too) {
    for (struct allocation *a = allocations; a; a = a->next) {
        if ((freed_too || !a->freed) && address >= a->address && address - a->address <= a->size
                && size <= a->size - (address - a->address)) {
            return a;
        }
    }
    return NULL;
}

static struct allocation *find(CUdeviceptr address, size_t size) { return find_any(address, size, 0); }

static struct pinned *find_pinned(const char *start, size_t size) {
    for (struct pinned *p = pinned_list; p; p = p->next) {
        if (start >= p->start && start + size <= p->start + p->size) {
            return p;
        }
    }
    return NULL;
}

/* Whether a page of a range is pinned. */
static int shares_page(const char *start, size_t size) {
    uintptr_t first = (uintptr_t) start / PAGE, last = ((uintptr_t) start + size - 1) / PAGE;
    for (struct pinned *p = pinned_list; p; p = p->next) {
        if (first <= ((uintptr_t) p->start + p->size - 1) / PAGE && (uintptr_t) p->start / PAGE <= last) {
            return 1;
        }
    }
    return 0;
}

static struct allocation *reserve(size_t size) {
    struct allocation *made = calloc(1, sizeof *made);
    made->size = size;
    made->fd = -1;
    made->address = (CUdeviceptr) (uintptr_t) mmap(NULL, pages(size), PROT_NONE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made;
}

static void unmap(struct allocation *a) {
    munmap(a->bytes, pages(a->size));
    munmap((void *) (uintptr_t) a->address, pages(a->size));
    if (a->fd >= 0) {
        close(a->fd);
    }
    struct allocation **at = &allocations;
    while (*at != a) {
        at = &(*at)->next;
    }
    *at = a->next;
    used[a->device] -= a->imports ? 0 : a->size;
    free(a);
}

static CUresult make(CUdeviceptr *address, size_t size, int pooled) {
    int device = context()->device;
    pthread_mutex_lock(&lock);
    CUresult result = size == 0 ? INVALID_VALUE : used[device] + size > device_memory ? OUT_OF_MEMORY : SUCCESS;
    if (!result) {
        struct allocation *made = reserve(size);
        made->device = device;
        made->pooled = pooled;
        made->ready = !pooled;
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        if (!pooled) {
            /* Memory of a file, which another process can map. */
            made->fd = memfd_create("undercroft-test-stand-in", MFD_CLOEXEC);
            flags = ftruncate(made->fd, (off_t) pages(size)) ? flags : MAP_SHARED | MAP_NORESERVE;
        }
        made->bytes = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, flags, made->fd, 0);
        if (size <= LARGEST_GARBAGE && moves_bytes) {
            memset(made->bytes, 0xCD, size);
        }
        used[device] += size;
        made->next = allocations;
        allocations = made;
        *address = made->address;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- streams ---- */

static void drop_event(struct event *event) {
    if (--event->references == 0) {
        if (event->state != &event->own) {
            munmap(event->state, PAGE);
            close(event->fd);
        }
        free(event);
    }
}

/* On the default stream, work of others that was submitted before the memory was freed is done before that. */
static void execute(struct operation *op, int is_default) {
    const char *source = op->source_host;
    char *target = op->target_host;
    int sparse = op->size > LARGEST_GARBAGE;
    pthread_mutex_lock(&lock);
    if (op->source_device) {
        struct allocation *a = find_any(op->source_device, op->size, is_default);
        source = a && a->ready ? a->bytes + (op->source_device - a->address) : NULL;
    }
    if (op->target_device) {
        struct allocation *a = find_any(op->target_device, op->size, is_default);
        target = a && a->ready ? a->bytes + (op->target_device - a->address) : NULL;
        sparse |= a && a->size > LARGEST_GARBAGE;
    }
    if ((long) op->size > largest_copy) {
        largest_copy = (long) op->size;
    }
    if (!target || (op->kind == COPY && !source)) {
        sticky = ILLEGAL_ADDRESS;
        pthread_mutex_unlock(&lock);
        return;
    }
    pthread_mutex_unlock(&lock);
    if (!moves_bytes) {
        return;
    }
    if (op->kind == FILL) {
        size_t whole = op->value == 0 && op->size > LARGEST_GARBAGE && (uintptr_t) target % PAGE == 0
                ? op->size / PAGE * PAGE : 0;
        if (whole) {
            madvise(target, whole, MADV_REMOVE);
            madvise(target, whole, MADV_DONTNEED);
        }
        memset(target + whole, op->value, op->size - whole);
        return;
    }
    /* Overlapping bytes are undefined on a GPU. Here they come out wrong for sure. */
    int overlap = target < source + op->size && source < target + op->size;
    if (sparse && !overlap) {
        /* Pages of zeros that nobody has written to take no memory, and take none when they are copied. */
        for (size_t at = 0; at < op->size; at += PAGE) {
            size_t length = op->size - at < PAGE ? op->size - at : PAGE;
            if (memcmp(target + at, source + at, length)) {
                memcpy(target + at, source + at, length);
            }
        }
        return;
    }
    memcpy(target, source, op->size);
    if (overlap) {
        memset(target, 0xEE, op->size);
    }
}

static int is_default(struct stream *stream) { return stream == default_streams[stream->device]; }

static int is_before(struct stream *stream, struct operation *op) {
    return stream && stream->first && stream->first->number < op->number;
}

/* Work of the default stream of a device is done after what was submitted before to all other streams of it but the
 * independent ones, and the other way round. */
static int must_wait(struct stream *stream, struct operation *op) {
    if (gate_closed == ALL_STREAMS && op->kind != READY) {
        return 1;
    }
    if (!is_default(stream)) {
        return !stream->is_independent && is_before(default_streams[stream->device], op);
    }
    if (gate_closed) {
        return 1;
    }
    for (struct stream *s = streams; s; s = s->next) {
        if (s != stream && s->device == stream->device && !s->is_independent && is_before(s, op)) {
            return 1;
        }
    }
    return 0;
}

static void *work(void *argument) {
    struct stream *stream = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        struct operation *op = stream->first;
        if (!op && stream->ends) {
            break;
        }
        if (!op || must_wait(stream, op)) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        if (op->kind == AWAIT && !stream->ends && op->event->state->completed < op->generation) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 1000000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&changed, &lock, &until);
            continue;
        }
        long micros = delay_micros;
        pthread_mutex_unlock(&lock);
        if (micros) {
            pause_micros(micros);
        }
        if (op->kind == COPY || op->kind == FILL) {
            execute(op, is_default(stream));
        }
        pthread_mutex_lock(&lock);
        if (op->kind == RECORD && op->event->state->completed < op->generation) {
            op->event->state->completed = op->generation;
        } else if (op->kind == READY) {
            op->allocation->ready = 1;
        } else if (op->kind == FREE) {
            unmap(op->allocation);
        }
        if (op->event) {
            drop_event(op->event);
        }
        stream->first = op->next;
        if (!stream->first) {
            stream->last = NULL;
        }
        stream->done++;
        free(op);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void drain(struct stream *stream) {
    unsigned long long target = stream->submitted;
    while (stream->done < target) {
        pthread_cond_wait(&changed, &lock);
    }
}

static void submit(struct stream *stream, struct operation op) {
    struct operation *made = malloc(sizeof *made);
    *made = op;
    made->next = NULL;
    made->number = ++operations;
    if (stream->last) {
        stream->last->next = made;
    } else {
        stream->first = made;
    }
    stream->last = made;
    stream->submitted++;
    pthread_cond_broadcast(&changed);
}

static CUresult run(struct stream *stream, struct operation op) {
    if (!stream) {
        while (gate_closed == ALL_STREAMS) {
            pthread_cond_wait(&changed, &lock);
        }
        long micros = delay_micros;
        pthread_mutex_unlock(&lock);
        if (micros) {
            pause_micros(micros);
        }
        execute(&op, 1);
        pthread_mutex_lock(&lock);
        return sticky;
    }
    submit(stream, op);
    return SUCCESS;
}

static CUresult transfer(struct stream *stream, struct operation op) {
    pthread_mutex_lock(&lock);
    CUresult result = SUCCESS;
    if ((op.target_device && !find(op.target_device, op.size))
            || (op.source_device && !find(op.source_device, op.size))) {
        result = INVALID_VALUE;
    } else {
        const char *host = op.target_host ? op.target_host : op.source_host;
        int pageable = host && !find_pinned(host, op.size);
        pageable_copies += pageable;
        result = run(stream, op);
        if (pageable && stream) {
            drain(stream);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- what tests set and ask ---- */

__attribute__((constructor)) static void read_environment(void) {
    char *text = getenv("UNDERCROFT_STANDIN_DEVICES");
    device_count = text ? atoi(text) : device_count;
    text = getenv("UNDERCROFT_STANDIN_FIRST");
    first_device = text ? atoi(text) : first_device;
    text = getenv("UNDERCROFT_STANDIN_VERSION");
    version = text ? atoi(text) : version;
    text = getenv("UNDERCROFT_STANDIN_INIT");
    init_result = text ? atoi(text) : init_result;
    text = getenv("UNDERCROFT_STANDIN_POOLS");
    pools = text ? atoi(text) : pools;
    text = getenv("UNDERCROFT_STANDIN_MEMORY");
    device_memory = text ? strtoull(text, NULL, 10) : device_memory;
    /* With 0, copies and fills do nothing: the time that a load takes is then that of the host. */
    text = getenv("UNDERCROFT_STANDIN_MOVES");
    moves_bytes = text ? atoi(text) : moves_bytes;
    text = getenv("UNDERCROFT_STANDIN_PINNED");
    pinned_limit = text ? strtoull(text, NULL, 10) : pinned_limit;
}

/* How much memory each device has, and how much of the host can be pinned, in bytes. */
EXPORT void undercroft_standin_limits(size_t device, size_t host) {
    pthread_mutex_lock(&lock);
    device_memory = device;
    pinned_limit = host;
    pthread_mutex_unlock(&lock);
}

/* The nth call of a function from now on ("*": of any) returns a code. With 0 no call fails any more. */
EXPORT void undercroft_standin_fail(const char *name, long nth, int code) {
    pthread_mutex_lock(&lock);
    snprintf(fail_name, sizeof fail_name, "%s", name);
    fail_countdown = nth;
    fail_code = code;
    failed = 0;
    pthread_mutex_unlock(&lock);
}

EXPORT void undercroft_standin_delay(long micros) {
    pthread_mutex_lock(&lock);
    delay_micros = micros;
    pthread_mutex_unlock(&lock);
}

/* 0 opens it, 1 holds the work of all streams back, 2 that of the default stream. */
EXPORT void undercroft_standin_gate(int closed) {
    pthread_mutex_lock(&lock);
    gate_closed = closed;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Every call returns this code from now on, as after a fault of a kernel. With 0 the fault is undone. */
EXPORT void undercroft_standin_fault(int code) {
    pthread_mutex_lock(&lock);
    sticky = code;
    pthread_mutex_unlock(&lock);
}

/* Whether memory can be pinned that the host may only read. */
EXPORT void undercroft_standin_read_only(int possible) {
    pthread_mutex_lock(&lock);
    read_only_pinning = possible;
    pthread_mutex_unlock(&lock);
}

/* Forgets the memory that was pinned where it is and was not unpinned, as the end of the process does. */
static CUresult unpin(char *start, int registered);
EXPORT void undercroft_standin_unpin(void) {
    pthread_mutex_lock(&lock);
    for (struct pinned *p = pinned_list; p;) {
        if (p->registered) {
            unpin(p->start, 1);
            p = pinned_list;
        } else {
            p = p->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* Whether devices can access each other's memory. */
EXPORT void undercroft_standin_peers(int possible) {
    pthread_mutex_lock(&lock);
    peers_possible = possible;
    pthread_mutex_unlock(&lock);
}

EXPORT void undercroft_standin_forget(void) {
    pthread_mutex_lock(&lock);
    memset(counted, 0, sizeof counted);
    all_calls = pageable_copies = largest_copy = late_unpinned = direct_copies = 0;
    pthread_mutex_unlock(&lock);
}

/* The pushed contexts of the calling thread. */
EXPORT long undercroft_standin_depth(void) { return depth; }

EXPORT long undercroft_standin_get(const char *what) {
    long result = 0;
    pthread_mutex_lock(&lock);
    if (!strcmp(what, "allocations")) {
        for (struct allocation *a = allocations; a; a = a->next) {
            result += !a->freed;
        }
    } else if (!strcmp(what, "bytes")) {
        for (int i = 0; i < MAX_DEVICES; i++) {
            result += (long) used[i];
        }
    } else if (!strcmp(what, "pinned")) {
        result = (long) pinned_bytes;
    } else if (!strcmp(what, "registered")) {
        for (struct pinned *p = pinned_list; p; p = p->next) {
            result += p->registered;
        }
    } else if (!strcmp(what, "read-only")) {
        for (struct pinned *p = pinned_list; p; p = p->next) {
            result += p->read_only;
        }
    } else if (!strcmp(what, "direct")) {
        result = direct_copies;
    } else if (!strcmp(what, "busy")) {
        for (int i = 0; i < MAX_DEVICES; i++) {
            int busy = 0;
            for (struct stream *s = streams; s; s = s->next) {
                busy |= s->first && s->device == i;
            }
            result += busy;
        }
    } else if (!strcmp(what, "late")) {
        result = late_unpinned;
    } else if (!strcmp(what, "streams")) {
        for (struct stream *s = streams; s; s = s->next) {
            result += !is_default(s);
        }
    } else if (!strcmp(what, "imports")) {
        for (struct allocation *a = allocations; a; a = a->next) {
            result += a->imports;
        }
    } else if (!strcmp(what, "pending")) {
        for (struct stream *s = streams; s; s = s->next) {
            for (struct operation *op = s->first; op; op = op->next) {
                result += op->kind == COPY || op->kind == FILL;
            }
        }
    } else if (!strcmp(what, "events")) {
        result = live_events;
    } else if (!strcmp(what, "pageable")) {
        result = pageable_copies;
    } else if (!strcmp(what, "largest")) {
        result = largest_copy;
    } else if (!strcmp(what, "failed")) {
        result = failed;
    } else if (!strcmp(what, "*")) {
        result = all_calls;
    } else {
        for (int i = 0; i < MAX_NAMES; i++) {
            result += counted[i].name && !strcmp(counted[i].name, what) ? counted[i].calls : 0;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- the driver: devices and contexts ---- */

EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
    (void) error;
    *text = NULL;
    return INVALID_VALUE;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text) { return cuGetErrorName(error, text); }

EXPORT CUresult cuDriverGetVersion(int *result) {
    *result = version;
    return SUCCESS;
}

EXPORT CUresult cuInit(unsigned flags) {
    (void) flags;
    ENTER(cuInit);
    if (init_result || device_count == 0) {
        return init_result ? init_result : NO_DEVICE;
    }
    initialized = 1;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount);
    *count = device_count;
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    ENTER(cuDeviceGet);
    *device = ordinal;
    return !initialized ? NOT_INITIALIZED : ordinal < 0 || ordinal >= device_count ? INVALID_DEVICE : SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    ENTER(cuDeviceGetName);
    snprintf(name, (size_t) length, "Test stand-in %d (no GPU)", device);
    return SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    (void) device;
    ENTER(cuDeviceTotalMem_v2);
    *bytes = device_memory;
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
    ENTER(cuDeviceGetPCIBusId);
    snprintf(text, (size_t) length, "0000:%02x:00.0", 0x17 + first_device + device);
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid(void *uuid, CUdevice device) {
    ENTER(cuDeviceGetUuid);
    memset(uuid, device, 16);
    return SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    (void) device;
    ENTER(cuDeviceGetAttribute);
    switch (attribute) {
        case 75: *value = 9; break;          /* compute capability, major */
        case 76: *value = 0; break;          /* minor */
        case 40: *value = 2; break;          /* asynchronous engines */
        case 41: *value = 1; break;          /* unified addressing */
        case 99: *value = 1; break;          /* host registration */
        case 113: *value = read_only_pinning; break; /* read-only host registration */
        case 115: *value = pools; break;     /* memory pools */
        default: *value = 0;
    }
    return SUCCESS;
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice one, CUdevice other) {
    ENTER(cuDeviceCanAccessPeer);
    *can = peers_possible && one != other;
    return SUCCESS;
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    WITH_CONTEXT(cuCtxEnablePeerAccess);
    int here = context()->device;
    if (flags || !peers_possible || here == peer->device) {
        return flags ? INVALID_VALUE : PEER_ACCESS_UNSUPPORTED;
    }
    pthread_mutex_lock(&lock);
    CUresult result = peer_access[here][peer->device] ? PEER_ACCESS_ALREADY_ENABLED : SUCCESS;
    peer_access[here][peer->device] = 1;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device) {
    ENTER(cuDevicePrimaryCtxRetain);
    contexts[device].device = device;
    contexts[device].retained++;
    *result = &contexts[device];
    return SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxRelease_v2);
    contexts[device].retained--;
    return SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext pushed) {
    ENTER(cuCtxPushCurrent_v2);
    if (!pushed || depth == MAX_CURRENT) {
        return INVALID_CONTEXT;
    }
    current[depth++] = pushed;
    return SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *popped) {
    CUresult result = enter("cuCtxPopCurrent_v2");
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    CUcontext last = current[--depth];
    if (popped) {
        *popped = last;
    }
    return result;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext set) {
    ENTER(cuCtxSetCurrent);
    depth = depth == 0 ? 1 : depth;
    current[depth - 1] = set;
    return SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *result) {
    ENTER(cuCtxGetCurrent);
    *result = context();
    return SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    WITH_CONTEXT(cuCtxGetDevice);
    *device = context()->device;
    return SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void) {
    WITH_CONTEXT(cuCtxSynchronize);
    pthread_mutex_lock(&lock);
    for (struct stream *s = streams; s; s = s->next) {
        drain(s);
    }
    CUresult result = sticky;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
    WITH_CONTEXT(cuMemGetInfo_v2);
    pthread_mutex_lock(&lock);
    *total = device_memory;
    size_t taken = used[context()->device];
    *available = taken < device_memory ? device_memory - taken : 0;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

/* ---- the driver: memory ---- */

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    WITH_CONTEXT(cuMemAlloc_v2);
    return make(address, size, 0);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    WITH_CONTEXT(cuMemFree_v2);
    pthread_mutex_lock(&lock);
    for (struct stream *s = streams; s; s = s->next) {
        drain(s);
    }
    struct allocation *a = find(address, 0);
    CUresult result = a && a->address == address && !a->imports ? SUCCESS : INVALID_VALUE;
    if (!result) {
        unmap(a);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    WITH_CONTEXT(cuMemAllocAsync);
    CUresult result = !pools ? NOT_SUPPORTED : make(address, size, 1);
    if (!result) {
        pthread_mutex_lock(&lock);
        submit(stream, (struct operation) { .kind = READY, .allocation = find(*address, size) });
        pthread_mutex_unlock(&lock);
    }
    return result;
}

EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    WITH_CONTEXT(cuMemFreeAsync);
    pthread_mutex_lock(&lock);
    struct allocation *a = find(address, 0);
    CUresult result = a && a->address == address && !a->imports ? SUCCESS : INVALID_VALUE;
    if (!result) {
        a->freed = 1;
        submit(stream, (struct operation) { .kind = FREE, .allocation = a });
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    WITH_CONTEXT(cuMemGetAddressRange_v2);
    pthread_mutex_lock(&lock);
    struct allocation *a = find(address, 0);
    if (a) {
        if (base) *base = a->address;
        if (size) *size = a->size;
    }
    pthread_mutex_unlock(&lock);
    return a ? SUCCESS : INVALID_VALUE;
}

EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address) {
    WITH_CONTEXT(cuPointerGetAttribute);
    pthread_mutex_lock(&lock);
    struct allocation *a = find(address, 0);
    struct pinned *p = find_pinned((char *) (uintptr_t) address, 0);
    CUresult result = a || p ? SUCCESS : INVALID_VALUE;
    if (!result) {
        switch (attribute) {
            case 1: *(CUcontext *) data = &contexts[a ? a->device : 0]; break;
            case 2: *(unsigned *) data = a ? 2 : 1; break;
            case 3: *(CUdeviceptr *) data = address; break;
            case 9: *(int *) data = a ? a->device : 0; break;
            case 10: *(int *) data = a && !a->pooled; break;
            case 11: *(CUdeviceptr *) data = a ? a->address : (CUdeviceptr) (uintptr_t) p->start; break;
            case 12: *(size_t *) data = a ? a->size : p->size; break;
            default: result = NOT_SUPPORTED;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Whether all pages of a range are mapped, and may be written to if that is asked. */
static int is_mapped(const char *start, size_t size, int writable) {
    unsigned long at = (unsigned long) start / PAGE * PAGE, end = (unsigned long) start + size, from, to;
    char line[4096], access[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && at < end && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, access) == 3 && from <= at && at < to) {
            if (access[0] != 'r' || (writable && access[1] != 'w')) {
                break;
            }
            at = to;
        }
    }
    if (maps) {
        fclose(maps);
    }
    return at >= end;
}

static CUresult pin(char *start, size_t size, int registered, int read_only) {
    struct pinned *made = calloc(1, sizeof *made);
    made->start = start;
    made->size = size;
    made->registered = registered;
    made->read_only = read_only;
    made->next = pinned_list;
    pinned_list = made;
    pinned_bytes += size;
    return SUCCESS;
}

static CUresult unpin(char *start, int registered) {
    struct pinned **at = &pinned_list;
    while (*at && ((*at)->start != start || (*at)->registered != registered)) {
        at = &(*at)->next;
    }
    struct pinned *p = *at;
    if (!p) {
        return registered ? NOT_REGISTERED : INVALID_VALUE;
    }
    *at = p->next;
    pinned_bytes -= p->size;
    late_unpinned += registered && !is_mapped(start, p->size, 0);
    if (!registered) {
        munmap(p->start, pages(p->size));
    }
    free(p);
    return SUCCESS;
}

EXPORT CUresult cuMemHostAlloc(void **result, size_t size, unsigned flags) {
    (void) flags;
    WITH_CONTEXT(cuMemHostAlloc);
    pthread_mutex_lock(&lock);
    CUresult code = size == 0 ? INVALID_VALUE : pinned_bytes + size > pinned_limit ? OUT_OF_MEMORY : SUCCESS;
    if (!code) {
        *result = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memset(*result, 0xCD, size < PAGE ? size : PAGE);
        pin(*result, size, 0, 0);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

EXPORT CUresult cuMemFreeHost(void *start) {
    WITH_CONTEXT(cuMemFreeHost);
    pthread_mutex_lock(&lock);
    CUresult result = unpin(start, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuMemHostRegister_v2(void *start, size_t size, unsigned flags) {
    WITH_CONTEXT(cuMemHostRegister_v2);
    pthread_mutex_lock(&lock);
    int read_only = (flags & 8) != 0;
    CUresult result = read_only && !read_only_pinning ? NOT_SUPPORTED
            : size == 0 || !is_mapped(start, size, !read_only) ? INVALID_VALUE
            : shares_page(start, size) ? ALREADY_REGISTERED
            : pinned_bytes + size > pinned_limit ? OUT_OF_MEMORY : pin(start, size, 1, read_only);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuMemHostUnregister(void *start) {
    WITH_CONTEXT(cuMemHostUnregister);
    pthread_mutex_lock(&lock);
    CUresult result = unpin(start, 1);
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- the driver: copies ---- */

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t size) {
    WITH_CONTEXT(cuMemcpyHtoD_v2);
    return transfer(NULL, (struct operation) { .kind = COPY, .target_device = target, .source_host = source, .size = size });
}

EXPORT CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t size) {
    WITH_CONTEXT(cuMemcpyDtoH_v2);
    return transfer(NULL, (struct operation) { .kind = COPY, .target_host = target, .source_device = source, .size = size });
}

EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t size) {
    WITH_CONTEXT(cuMemcpyDtoD_v2);
    return transfer(NULL, (struct operation) { .kind = COPY, .target_device = target, .source_device = source, .size = size });
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t size, CUstream stream) {
    WITH_CONTEXT(cuMemcpyHtoDAsync_v2);
    return transfer(stream, (struct operation) { .kind = COPY, .target_device = target, .source_host = source, .size = size });
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size, CUstream stream) {
    WITH_CONTEXT(cuMemcpyDtoHAsync_v2);
    return transfer(stream, (struct operation) { .kind = COPY, .target_host = target, .source_device = source, .size = size });
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream) {
    WITH_CONTEXT(cuMemcpyDtoDAsync_v2);
    return transfer(stream, (struct operation) { .kind = COPY, .target_device = target, .source_device = source, .size = size });
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext there, CUdeviceptr source, CUcontext here, size_t size,
        CUstream stream) {
    WITH_CONTEXT(cuMemcpyPeerAsync);
    pthread_mutex_lock(&lock);
    struct allocation *to = find(target, size), *from = find(source, size);
    int matches = to && from && to->device == there->device && from->device == here->device;
    /* What pools have is not accessed directly by cuCtxEnablePeerAccess, but by cuMemPoolSetAccess. */
    direct_copies += matches && peer_access[there->device][here->device] && !from->pooled;
    pthread_mutex_unlock(&lock);
    return matches
            ? transfer(stream, (struct operation) { .kind = COPY, .target_device = target, .source_device = source, .size = size })
            : INVALID_VALUE;
}

EXPORT CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t size) {
    WITH_CONTEXT(cuMemsetD8_v2);
    return transfer(NULL, (struct operation) { .kind = FILL, .target_device = target, .value = value, .size = size });
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t size, CUstream stream) {
    WITH_CONTEXT(cuMemsetD8Async);
    return transfer(stream, (struct operation) { .kind = FILL, .target_device = target, .value = value, .size = size });
}

/* ---- the driver: streams and events ---- */

static struct stream *make_stream(int device) {
    struct stream *made = calloc(1, sizeof *made);
    made->device = device;
    made->next = streams;
    streams = made;
    pthread_create(&made->thread, NULL, work, made);
    return made;
}

/* What is NULL to the driver's functions: the stream that other libraries use by default. */
static struct stream *default_stream(int device) {
    if (!default_streams[device]) {
        default_streams[device] = make_stream(device);
    }
    return default_streams[device];
}

static struct stream *stream_or_default(struct stream *stream) {
    return stream ? stream : default_stream(context()->device);
}

/* Work of another library of the process, on the default stream: fills bytes. */
EXPORT void undercroft_standin_submit(CUdeviceptr target, size_t size, int value) {
    pthread_mutex_lock(&lock);
    submit(default_stream(find(target, size)->device),
            (struct operation) { .kind = FILL, .target_device = target, .value = value, .size = size });
    pthread_mutex_unlock(&lock);
}

EXPORT CUresult cuStreamCreate(CUstream *result, unsigned flags) {
    WITH_CONTEXT(cuStreamCreate);
    pthread_mutex_lock(&lock);
    *result = make_stream(context()->device);
    (*result)->is_independent = flags & 1;
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    WITH_CONTEXT(cuStreamDestroy_v2);
    pthread_mutex_lock(&lock);
    stream->ends = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&lock);
    struct stream **at = &streams;
    while (*at != stream) {
        at = &(*at)->next;
    }
    *at = stream->next;
    pthread_mutex_unlock(&lock);
    free(stream);
    return SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    WITH_CONTEXT(cuStreamSynchronize);
    pthread_mutex_lock(&lock);
    drain(stream_or_default(stream));
    CUresult result = sticky;
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuStreamQuery(CUstream stream) {
    WITH_CONTEXT(cuStreamQuery);
    pthread_mutex_lock(&lock);
    CUresult result = stream->done < stream->submitted ? NOT_READY : SUCCESS;
    pthread_mutex_unlock(&lock);
    return result;
}

static struct event *make_event(void) {
    struct event *made = calloc(1, sizeof *made);
    made->references = 1;
    made->fd = -1;
    made->state = &made->own;
    return made;
}

EXPORT CUresult cuEventCreate(CUevent *result, unsigned flags) {
    WITH_CONTEXT(cuEventCreate);
    struct event *made = make_event();
    if (flags & 4) {
        made->fd = memfd_create("undercroft-test-stand-in", MFD_CLOEXEC);
        if (!ftruncate(made->fd, PAGE)) {
            made->state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, made->fd, 0);
        }
    }
    pthread_mutex_lock(&lock);
    live_events++;
    pthread_mutex_unlock(&lock);
    *result = made;
    return SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    WITH_CONTEXT(cuEventDestroy_v2);
    pthread_mutex_lock(&lock);
    live_events--;
    drop_event(event);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    WITH_CONTEXT(cuEventRecord);
    pthread_mutex_lock(&lock);
    event->references++;
    unsigned long long generation = ++event->state->recorded;
    submit(stream_or_default(stream), (struct operation) { .kind = RECORD, .event = event, .generation = generation });
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    (void) flags;
    WITH_CONTEXT(cuStreamWaitEvent);
    pthread_mutex_lock(&lock);
    event->references++;
    submit(stream, (struct operation) { .kind = AWAIT, .event = event, .generation = event->state->recorded });
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

EXPORT CUresult cuEventQuery(CUevent event) {
    WITH_CONTEXT(cuEventQuery);
    return event->state->completed < event->state->recorded ? NOT_READY : SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent event) {
    WITH_CONTEXT(cuEventSynchronize);
    unsigned long long generation = event->state->recorded;
    while (*(volatile unsigned long long *) &event->state->completed < generation) {
        pause_micros(100);
    }
    return sticky;
}

/* ---- the driver: other processes ---- */

/* Which descriptor of which process has the bytes. */
struct exported { int process, fd; size_t size; CUdeviceptr address; int device; };

static int open_exported(const struct exported *e) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", e->process, e->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

EXPORT CUresult cuIpcGetMemHandle(CUipcHandle *handle, CUdeviceptr address) {
    WITH_CONTEXT(cuIpcGetMemHandle);
    pthread_mutex_lock(&lock);
    struct allocation *a = find(address, 0);
    CUresult result = a && a->fd >= 0 && !a->imports ? SUCCESS : INVALID_VALUE;
    if (!result) {
        memset(handle, 0, sizeof *handle);
        struct exported e = { getpid(), a->fd, a->size, a->address, a->device };
        memcpy(handle, &e, sizeof e);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcHandle handle, unsigned flags) {
    (void) flags;
    WITH_CONTEXT(cuIpcOpenMemHandle_v2);
    struct exported e;
    memcpy(&e, &handle, sizeof e);
    if (e.process == getpid()) {
        return INVALID_CONTEXT;
    }
    pthread_mutex_lock(&lock);
    for (struct allocation *a = allocations; a; a = a->next) {
        if (a->imports && !memcmp(&a->handle, &handle, sizeof handle)) {
            a->imports++;
            *address = a->address;
            pthread_mutex_unlock(&lock);
            return SUCCESS;
        }
    }
    int fd = open_exported(&e);
    if (fd >= 0) {
        struct allocation *made = reserve(e.size);
        made->device = context()->device;
        made->fd = fd;
        made->ready = made->imports = 1;
        made->handle = handle;
        made->bytes = mmap(NULL, pages(e.size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        made->next = allocations;
        allocations = made;
        *address = made->address;
    }
    pthread_mutex_unlock(&lock);
    return fd >= 0 ? SUCCESS : INVALID_HANDLE;
}

EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    WITH_CONTEXT(cuIpcCloseMemHandle);
    pthread_mutex_lock(&lock);
    struct allocation *a = find(address, 0);
    CUresult result = a && a->imports && a->address == address ? SUCCESS : INVALID_VALUE;
    if (!result && a->imports == 1) {
        unmap(a);
    } else if (!result) {
        a->imports--;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT CUresult cuIpcGetEventHandle(CUipcHandle *handle, CUevent event) {
    WITH_CONTEXT(cuIpcGetEventHandle);
    if (event->fd < 0) {
        return INVALID_VALUE;
    }
    memset(handle, 0, sizeof *handle);
    struct exported e = { getpid(), event->fd, PAGE, 0, 0 };
    memcpy(handle, &e, sizeof e);
    return SUCCESS;
}

EXPORT CUresult cuIpcOpenEventHandle(CUevent *result, CUipcHandle handle) {
    WITH_CONTEXT(cuIpcOpenEventHandle);
    struct exported e;
    memcpy(&e, &handle, sizeof e);
    int fd = open_exported(&e);
    if (fd < 0) {
        return INVALID_HANDLE;
    }
    struct event *made = make_event();
    made->fd = fd;
    made->state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutex_lock(&lock);
    live_events++;
    pthread_mutex_unlock(&lock);
    *result = made;
    return SUCCESS;
}
