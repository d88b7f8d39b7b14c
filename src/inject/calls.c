/* calls.c - the driver's functions, by CUPTI's numbers of them (cupti_driver_cbid.h, which only
** grows), and what each means to a recording. Those whose work cannot be recorded end the program
** with a sentence. What is not here neither moves data nor runs anything.
*/
#include "inject/calls.h"

#include <string.h>

#include "inject/inject.h"

typedef struct Row Row;
typedef void Take(const CuptiCall *c, const Row *row);

struct Row {
    uint32_t id;
    Take *enter, *leave; /* leave: it has worked; of a launch in any case */
    int how;             /* a MemoryKind, or which sides a copy has, or bytes of an element */
    bool async;          /* its stream is the last argument */
    bool per_thread;     /* no stream is the thread's own */
    const char *why;     /* it is refused: "the program …" */
};

#define PER_THREAD_STREAM ((void *)2)

static void *stream_of(void *stream, const Row *row) {
    return stream == NULL && row->per_thread ? PER_THREAD_STREAM : stream;
}

static void refused(const CuptiCall *c, const Row *row) {
    refuse("the program %s (%s), which cannot be recorded on a GPU", row->why, c->name);
}

/* --- memory --- */

static void alloc(const CuptiCall *c, const Row *row) {
    const ArgsAlloc *a = c->params;
    tape_memory(*a->address, a->bytes, (MemoryKind)row->how);
}

static void pitch(const CuptiCall *c, const Row *row) {
    const ArgsPitch *a = c->params;
    tape_memory(*a->address, *a->pitch * a->height, (MemoryKind)row->how);
}

static void registered(const CuptiCall *c, const Row *row) {
    const ArgsRegister *a = c->params;
    tape_memory(a->address, a->bytes, (MemoryKind)row->how);
}

static void freed(const CuptiCall *c, const Row *row) {
    const ArgsAddress *a = c->params;
    (void)row;
    tape_free(a->address);
}

static void context_gone(const CuptiCall *c, const Row *row) {
    (void)c, (void)row;
    tape_free_all();
}

static void host_pointer(const CuptiCall *c, const Row *row) {
    const ArgsHostPointer *a = c->params;
    (void)row;
    if (*a->device != a->host)
        refuse("the GPU has memory of the host's at another address than the host, which cannot be "
               "recorded");
}

/* --- copies and fills --- */

enum { TO_DEVICE, TO_HOST, ON_BOTH, UNIFIED };

static const int sides[][2] = {[TO_DEVICE] = {ON_DEVICE, ON_HOST},
                               [TO_HOST] = {ON_HOST, ON_DEVICE},
                               [ON_BOTH] = {ON_DEVICE, ON_DEVICE},
                               [UNIFIED] = {ANYWHERE, ANYWHERE}};

static void copy(const CuptiCall *c, const Row *row) {
    const ArgsCopy *a = c->params;
    Side to = {.address = a->to, .row = a->bytes, .rows = 1};
    Side from = {.address = a->from, .row = a->bytes, .rows = 1};
    Extent e = {a->bytes, 1, 1};
    tape_copy(&to, sides[row->how][0], &from, sides[row->how][1], &e,
              stream_of(row->async ? a->stream : NULL, row));
}

static int side_of(int type) {
    return type == CU_MEMORY_HOST ? ON_HOST : type == CU_MEMORY_DEVICE ? ON_DEVICE : ANYWHERE;
}

/* The height of a slice is nothing where there is one. */
static Side place(const CuPlace3D *p, const Extent *e) {
    size_t row = p->pitch ? p->pitch : e->width, rows = p->height ? p->height : e->height;
    uint64_t begins = p->type == CU_MEMORY_HOST ? p->host : p->device;
    if (p->type == CU_MEMORY_ARRAY)
        return (Side){.array = p->array, .x = p->x, .y = p->y, .z = p->z};
    return (Side){.address = begins + (p->z * rows + p->y) * row + p->x, .row = row, .rows = rows};
}

static void copy_places(const CuPlace3D *to, const CuPlace3D *from, const Extent *e, void *stream) {
    int to_where = side_of(to->type), from_where = side_of(from->type);
    Side t = place(to, e), f = place(from, e);
    tape_copy(&t, to_where, &f, from_where, e, stream);
}

static CuPlace3D flat(const CuPlace2D *p) {
    return (CuPlace3D){.x = p->x,
                       .y = p->y,
                       .type = p->type,
                       .host = p->host,
                       .device = p->device,
                       .array = p->array,
                       .pitch = p->pitch};
}

static void copy_2d(const CuptiCall *c, const Row *row) {
    const ArgsCopyND *a = c->params;
    const CuCopy2D *d = a->copy;
    CuPlace3D to = flat(&d->to), from = flat(&d->from);
    Extent e = {d->width, d->height, 1};
    copy_places(&to, &from, &e, stream_of(row->async ? a->stream : NULL, row));
}

static void copy_3d(const CuptiCall *c, const Row *row) {
    const ArgsCopyND *a = c->params;
    const CuCopy3D *d = a->copy;
    Extent e = {d->width, d->height, d->depth};
    copy_places(&d->to, &d->from, &e, stream_of(row->async ? a->stream : NULL, row));
}

static void fill(uint64_t to, size_t pitch_bytes, unsigned value, int element, size_t n,
                 size_t rows) {
    Extent e = {n * (size_t)element, rows, 1};
    Side s = {.address = to, .row = rows == 1 ? e.width : pitch_bytes, .rows = rows};
    tape_set(&s, value, (unsigned)element, &e);
}

static void set(const CuptiCall *c, const Row *row) {
    const ArgsSet8 *b = c->params;
    const ArgsSet16 *s = c->params;
    const ArgsSet32 *w = c->params;
    if (row->how == 1) fill(b->to, 0, b->value, 1, b->n, 1);
    if (row->how == 2) fill(s->to, 0, s->value, 2, s->n, 1);
    if (row->how == 4) fill(w->to, 0, w->value, 4, w->n, 1);
}

static void set_rows(const CuptiCall *c, const Row *row) {
    const ArgsSetRows8 *b = c->params;
    const ArgsSetRows16 *s = c->params;
    const ArgsSetRows32 *w = c->params;
    if (row->how == 1) fill(b->to, b->pitch, b->value, 1, b->width, b->height);
    if (row->how == 2) fill(s->to, s->pitch, s->value, 2, s->width, s->height);
    if (row->how == 4) fill(w->to, w->pitch, w->value, 4, w->width, w->height);
}

/* --- arrays and textures --- */

static void array_2d(const CuptiCall *c, const Row *row) {
    const ArgsArray *a = c->params;
    const CuArray2D *d = a->description;
    CuArray3D all = {d->width, d->height, 0, d->format, d->channels, 0};
    (void)row;
    texture_array(*a->array, &all);
}

static void array_3d(const CuptiCall *c, const Row *row) {
    const ArgsArray *a = c->params;
    (void)row;
    texture_array(*a->array, a->description);
}

static void array_gone(const CuptiCall *c, const Row *row) {
    const ArgsModule *a = c->params;
    (void)row;
    texture_array_gone(a->module);
}

static void texture(const CuptiCall *c, const Row *row) {
    const ArgsTexture *a = c->params;
    (void)row;
    texture_made(*a->texture, a->resource, a->description, a->view);
}

static void texture_end(const CuptiCall *c, const Row *row) {
    const ArgsAddress *a = c->params;
    (void)row;
    texture_gone(a->address);
}

/* --- code --- */

static void load(const CuptiCall *c, const Row *row) {
    const ArgsLoad *a = c->params;
    (void)row;
    code_loaded(*a->module, a->image);
}

static void load_file(const CuptiCall *c, const Row *row) {
    const ArgsLoadFile *a = c->params;
    (void)row;
    code_loaded_file(*a->module, a->path);
}

static void unload(const CuptiCall *c, const Row *row) {
    const ArgsModule *a = c->params;
    (void)row;
    code_gone(a->module);
}

static void function(const CuptiCall *c, const Row *row) {
    const ArgsFunction *a = c->params;
    (void)row;
    code_function(*a->function, a->module, a->name);
}

static void same(const CuptiCall *c, const Row *row) {
    const ArgsSame *a = c->params;
    (void)row;
    code_same(*a->out, a->of);
}

static void variable(const CuptiCall *c, const Row *row) {
    const ArgsVariable *a = c->params; /* the caller may want only one of the two */
    uint64_t address = a->address ? *a->address : 0;
    size_t bytes = a->bytes ? *a->bytes : 0;
    bool known = (a->address && a->bytes) || gpu_variable(c->name, a->module, a->name, &address,
                                                          &bytes);
    if (known && a->name)
        tape_variable(a->module, a->name, address, bytes, row->how == MEMORY_MANAGED);
}

/* --- launches and waits --- */

enum { PLAIN, COOPERATIVE };

static TapeLaunch launch_of(const CuptiCall *c, const Row *row) {
    const ArgsLaunch *a = c->params;
    return (TapeLaunch){.function = a->function,
                        .symbol = c->symbol,
                        .grid = a->grid,
                        .block = a->block,
                        .shared = a->shared,
                        .cooperative = row->how == COOPERATIVE,
                        .stream = stream_of(a->stream, row),
                        .params = a->params,
                        .extra = row->how == COOPERATIVE ? NULL : a->extra};
}

static TapeLaunch launch_ex_of(const CuptiCall *c, const Row *row) {
    const ArgsLaunchEx *a = c->params;
    const CuLaunchConfig *how = a->config;
    TapeLaunch l = {.function = a->function,
                    .symbol = c->symbol,
                    .grid = how->grid,
                    .block = how->block,
                    .shared = how->shared,
                    .stream = stream_of(how->stream, row),
                    .params = a->params,
                    .extra = a->extra};
    for (unsigned i = 0; i < how->n_attributes; i++) {
        const CuLaunchAttribute *x = &how->attributes[i];
        const unsigned *n = x->value.cluster;
        if (x->id == CU_ATTRIBUTE_COOPERATIVE) l.cooperative = x->value.on != 0;
        if (x->id == CU_ATTRIBUTE_CLUSTER && n[0] * n[1] * n[2] > 1)
            memcpy(l.cluster, n, sizeof l.cluster);
    }
    return l;
}

static void before_launch(const CuptiCall *c, const Row *row) {
    TapeLaunch l = launch_of(c, row);
    tape_before(&l);
}

static void launched(const CuptiCall *c, const Row *row) {
    TapeLaunch l = launch_of(c, row);
    tape_launch(&l, *c->result == 0);
}

static void before_launch_ex(const CuptiCall *c, const Row *row) {
    TapeLaunch l = launch_ex_of(c, row);
    tape_before(&l);
}

static void launched_ex(const CuptiCall *c, const Row *row) {
    TapeLaunch l = launch_ex_of(c, row);
    tape_launch(&l, *c->result == 0);
}

static void waited(const CuptiCall *c, const Row *row) {
    (void)c, (void)row;
    tape_wait();
}

/* A function of the host's runs in the order of a stream: what it writes is there from now on. */
static void host_function(const CuptiCall *c, const Row *row) {
    const ArgsStream *a = c->params;
    gpu_wait_stream(stream_of(a->stream, row));
    tape_wait();
}

/* --- the rows --- */

#define ALLOC(id, kind)     {id, NULL, alloc, kind, false, false, NULL}
#define FREE(id)            {id, freed, NULL, 0, false, false, NULL}
#define COPY(id, how)       {id, NULL, copy, how, false, false, NULL}
#define COPY_PT(id, how)    {id, NULL, copy, how, false, true, NULL}
#define COPY_IN(id, how)    {id, NULL, copy, how, true, false, NULL}
#define COPY_IN_PT(id, how) {id, NULL, copy, how, true, true, NULL}
#define TAKE(id, f, how)    {id, NULL, f, how, false, false, NULL}
#define REFUSE(id, why)     {id, refused, NULL, 0, false, false, why}
#define GRAPH       "makes a graph of what it asks for"
#define SURFACE     "makes a surface, mipmaps or a texture reference"
#define ARRAY       "copies to or from an array"
#define MAPPED      "maps memory by itself"
#define FOREIGN     "shares memory with others"
#define BATCH       "copies in batches"
#define PEER        "copies between GPUs"
#define WORD        "writes words in the order of a stream"
#define OLD         "launches in a way of CUDA 3's"

static const Row rows[] = {
    ALLOC(243, MEMORY_DEVICE),  /* cuMemAlloc_v2 */
    TAKE(244, pitch, MEMORY_DEVICE), /* cuMemAllocPitch_v2 */
    ALLOC(371, MEMORY_MANAGED), /* cuMemAllocManaged */
    ALLOC(294, MEMORY_PINNED),  /* cuMemAllocHost_v2 */
    ALLOC(39, MEMORY_PINNED),   /* cuMemHostAlloc, _v2 */
    ALLOC(271, MEMORY_PINNED),
    ALLOC(598, MEMORY_DEVICE),  /* cuMemAllocAsync, _ptsz */
    ALLOC(599, MEMORY_DEVICE),
    ALLOC(611, MEMORY_DEVICE), /* cuMemAllocFromPoolAsync, _ptsz */
    ALLOC(612, MEMORY_DEVICE),
    TAKE(301, registered, MEMORY_REGISTERED), /* cuMemHostRegister, _v2 */
    TAKE(379, registered, MEMORY_REGISTERED),
    FREE(245), /* cuMemFree_v2 */
    FREE(302), /* cuMemHostUnregister */
    FREE(38),  /* cuMemFreeHost */
    FREE(600), /* cuMemFreeAsync, _ptsz */
    FREE(601),
    TAKE(247, host_pointer, 0),                 /* cuMemHostGetDevicePointer_v2 */
    {322, context_gone, NULL, 0, false, false, NULL}, /* cuCtxDestroy_v2 */
    {389, context_gone, NULL, 0, false, false, NULL}, /* cuDevicePrimaryCtxReset, _v2 */
    {545, context_gone, NULL, 0, false, false, NULL},

    COPY(305, UNIFIED), /* cuMemcpy, _v2, _ptds, cuMemcpyAsync, _ptsz */
    COPY(248, UNIFIED),
    COPY_PT(408, UNIFIED),
    COPY_IN(306, UNIFIED),
    COPY_IN_PT(418, UNIFIED),
    COPY(276, TO_DEVICE), /* cuMemcpyHtoD_v2, _ptds, Async, _ptsz */
    COPY_PT(397, TO_DEVICE),
    COPY_IN(277, TO_DEVICE),
    COPY_IN_PT(421, TO_DEVICE),
    COPY(278, TO_HOST), /* cuMemcpyDtoH_v2 … */
    COPY_PT(398, TO_HOST),
    COPY_IN(279, TO_HOST),
    COPY_IN_PT(422, TO_HOST),
    COPY(280, ON_BOTH), /* cuMemcpyDtoD_v2 … */
    COPY_PT(399, ON_BOTH),
    COPY_IN(281, ON_BOTH),
    COPY_IN_PT(423, ON_BOTH),
    TAKE(287, copy_2d, 0), /* cuMemcpy2D_v2, _ptds, Unaligned, _ptds, Async, _ptsz */
    {405, NULL, copy_2d, 0, false, true, NULL},
    TAKE(288, copy_2d, 0),
    {406, NULL, copy_2d, 0, false, true, NULL},
    {289, NULL, copy_2d, 0, true, false, NULL},
    {424, NULL, copy_2d, 0, true, true, NULL},
    TAKE(290, copy_3d, 0), /* cuMemcpy3D_v2, _ptds, Async, _ptsz */
    {407, NULL, copy_3d, 0, false, true, NULL},
    {291, NULL, copy_3d, 0, true, false, NULL},
    {425, NULL, copy_3d, 0, true, true, NULL},
    TAKE(249, set, 1), /* cuMemsetD8_v2, D16, D32, each with _ptds, Async, _ptsz */
    TAKE(411, set, 1),
    TAKE(216, set, 1),
    TAKE(428, set, 1),
    TAKE(250, set, 2),
    TAKE(412, set, 2),
    TAKE(218, set, 2),
    TAKE(429, set, 2),
    TAKE(251, set, 4),
    TAKE(413, set, 4),
    TAKE(220, set, 4),
    TAKE(430, set, 4),
    TAKE(252, set_rows, 1), /* cuMemsetD2D8_v2 … */
    TAKE(414, set_rows, 1),
    TAKE(222, set_rows, 1),
    TAKE(431, set_rows, 1),
    TAKE(253, set_rows, 2),
    TAKE(415, set_rows, 2),
    TAKE(224, set_rows, 2),
    TAKE(432, set_rows, 2),
    TAKE(254, set_rows, 4),
    TAKE(416, set_rows, 4),
    TAKE(226, set_rows, 4),
    TAKE(433, set_rows, 4),

    TAKE(272, array_2d, 0), /* cuArrayCreate_v2, cuArray3DCreate_v2, cuArrayDestroy */
    TAKE(274, array_3d, 0),
    {89, array_gone, NULL, 0, false, false, NULL},
    TAKE(339, texture, 0), /* cuTexObjectCreate, cuTexObjectDestroy */
    {340, texture_end, NULL, 0, false, false, NULL},

    TAKE(18, load_file, 0), /* cuModuleLoad, Data, DataEx, FatBinary */
    TAKE(19, load, 0),
    TAKE(20, load, 0),
    TAKE(21, load, 0),
    TAKE(678, load, 0), /* cuLibraryLoadData, FromFile */
    TAKE(679, load_file, 0),
    {22, unload, NULL, 0, false, false, NULL}, /* cuModuleUnload, cuLibraryUnload */
    {680, unload, NULL, 0, false, false, NULL},
    TAKE(23, function, 0), /* cuModuleGetFunction, cuLibraryGetKernel */
    TAKE(681, function, 0),
    TAKE(682, same, 0), /* cuLibraryGetModule, cuKernelGetFunction */
    TAKE(683, same, 0),
    TAKE(241, variable, MEMORY_VARIABLE), /* cuModuleGetGlobal_v2, cuLibraryGetGlobal, Managed */
    TAKE(684, variable, MEMORY_VARIABLE),
    TAKE(685, variable, MEMORY_MANAGED),

    {307, before_launch, launched, PLAIN, false, false, NULL}, /* cuLaunchKernel, _ptsz */
    {442, before_launch, launched, PLAIN, false, true, NULL},
    {477, before_launch, launched, COOPERATIVE, false, false, NULL}, /* …CooperativeKernel */
    {478, before_launch, launched, COOPERATIVE, false, true, NULL},
    {652, before_launch_ex, launched_ex, 0, false, false, NULL}, /* cuLaunchKernelEx, _ptsz */
    {653, before_launch_ex, launched_ex, 0, false, true, NULL},
    TAKE(17, waited, 0), /* cuCtxSynchronize, _v2, cuStreamSynchronize, _ptsz */
    TAKE(800, waited, 0),
    TAKE(126, waited, 0),
    TAKE(440, waited, 0),
    TAKE(121, waited, 0), /* cuEventSynchronize, cuEventQuery, cuStreamQuery, _ptsz */
    TAKE(120, waited, 0),
    TAKE(125, waited, 0),
    TAKE(439, waited, 0),
    TAKE(527, host_function, 0), /* cuLaunchHostFunc, _ptsz, cuStreamAddCallback, _ptsz */
    {528, NULL, host_function, 0, false, true, NULL},
    TAKE(346, host_function, 0),
    {437, NULL, host_function, 0, false, true, NULL},

    REFUSE(495, GRAPH), /* cuStreamBeginCapture … */
    REFUSE(496, GRAPH),
    REFUSE(539, GRAPH),
    REFUSE(540, GRAPH),
    REFUSE(720, GRAPH),
    REFUSE(721, GRAPH),
    REFUSE(514, GRAPH), /* cuGraphLaunch */
    REFUSE(515, GRAPH),
    REFUSE(343, SURFACE), /* cuSurfObjectCreate, …GetTexRef, …GetSurfRef, cuMipmappedArrayCreate */
    REFUSE(26, SURFACE),
    REFUSE(190, SURFACE),
    REFUSE(347, SURFACE),
    REFUSE(286, ARRAY), /* cuMemcpyAtoA_v2, AtoD, AtoH, AtoHAsync, DtoA, HtoA, HtoAAsync */
    REFUSE(284, ARRAY),
    REFUSE(282, ARRAY),
    REFUSE(283, ARRAY),
    REFUSE(285, ARRAY),
    REFUSE(292, ARRAY),
    REFUSE(293, ARRAY),
    REFUSE(400, ARRAY), /* _ptds, _ptsz of them */
    REFUSE(401, ARRAY),
    REFUSE(402, ARRAY),
    REFUSE(403, ARRAY),
    REFUSE(404, ARRAY),
    REFUSE(419, ARRAY),
    REFUSE(420, ARRAY),
    REFUSE(551, MAPPED), /* cuMemMap, cuMemMapArrayAsync, cuMulticastBindMem */
    REFUSE(584, MAPPED),
    REFUSE(585, MAPPED),
    REFUSE(708, MAPPED),
    REFUSE(709, MAPPED),
    REFUSE(329, FOREIGN), /* cuIpcOpenMemHandle, cuImportExternalMemory, cuGraphicsMapResources */
    REFUSE(567, FOREIGN),
    REFUSE(485, FOREIGN),
    REFUSE(133, FOREIGN),
    REFUSE(443, FOREIGN),
    REFUSE(616, FOREIGN), /* cuMemPoolImportPointer */
    REFUSE(395, FOREIGN), /* cuEGLStreamConsumerAcquireFrame, cuGLMapBufferObject … */
    REFUSE(180, FOREIGN),
    REFUSE(184, FOREIGN),
    REFUSE(269, FOREIGN),
    REFUSE(270, FOREIGN),
    REFUSE(417, FOREIGN),
    REFUSE(445, FOREIGN),
    REFUSE(776, BATCH), /* cuMemcpyBatchAsync, cuMemcpy3DBatchAsync */
    REFUSE(777, BATCH),
    REFUSE(778, BATCH),
    REFUSE(779, BATCH),
    REFUSE(796, BATCH),
    REFUSE(797, BATCH),
    REFUSE(798, BATCH),
    REFUSE(799, BATCH),
    REFUSE(761, "has the GPU unpack what it copies"), /* cuMemBatchDecompressAsync */
    REFUSE(762, "has the GPU unpack what it copies"),
    REFUSE(318, PEER), /* cuMemcpyPeer, Async, cuMemcpy3DPeer, Async */
    REFUSE(409, PEER),
    REFUSE(319, PEER),
    REFUSE(426, PEER),
    REFUSE(320, PEER),
    REFUSE(410, PEER),
    REFUSE(321, PEER),
    REFUSE(427, PEER),
    REFUSE(460, WORD), /* cuStreamWriteValue32, 64, cuStreamBatchMemOp */
    REFUSE(461, WORD),
    REFUSE(475, WORD),
    REFUSE(476, WORD),
    REFUSE(663, WORD),
    REFUSE(664, WORD),
    REFUSE(665, WORD),
    REFUSE(666, WORD),
    REFUSE(462, WORD),
    REFUSE(463, WORD),
    REFUSE(667, WORD),
    REFUSE(668, WORD),
    REFUSE(115, OLD), /* cuLaunch, cuLaunchGrid, cuLaunchGridAsync */
    REFUSE(116, OLD),
    REFUSE(117, OLD),
    REFUSE(480, "launches on several GPUs at once"), /* cuLaunchCooperativeKernelMultiDevice */
};

enum { N_ROWS = sizeof rows / sizeof *rows };

uint32_t calls_id(int i) {
    return i < N_ROWS ? rows[i].id : 0;
}

static bool is_launch(const Row *row) {
    return row->enter && row->leave;
}

void calls_take(uint32_t id, const CuptiCall *c) {
    static const Row *by_id[1024];
    if (id >= sizeof by_id / sizeof *by_id) return;
    for (int i = 0; by_id[id] == NULL && i < N_ROWS; i++)
        if (rows[i].id == id) by_id[id] = &rows[i];
    const Row *row = by_id[id];
    if (row == NULL) return;
    if (c->site == CUPTI_ENTER && row->enter) row->enter(c, row);
    if (c->site == CUPTI_EXIT && row->leave && (*c->result == 0 || is_launch(row)))
        row->leave(c, row);
}
