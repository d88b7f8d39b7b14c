/* device.h - what the files of gi.device share: handles, launches, measurements. Private to
** src/bind.
**
** Children keep their parents alive through user values: a buffer, texture or module its device, a
** buffer and a texture their array. A parent collected in the same cycle is closed by its last
** child: `users` counts them.
**
** Misuse raises; a driver that fails, a lost device and no memory answer nil, message, code.
*/
#ifndef GILUA_BIND_DEVICE_H
#define GILUA_BIND_DEVICE_H

#include "bind/bind.h"

#include "replay/gpu.h"

#define BIND_BUFFER  "gilua.buffer"
#define BIND_TEXTURE "gilua.texture"
#define BIND_MODULE  "gilua.module"

/* --- device.c: handles and their lives --- */

/* The device outlives its userdata while children use it: finalisers run in any order. */
typedef struct BindDevice {
    Device *device;
    int users;
} BindDevice;

typedef struct BindChild {
    BindDevice *owner; /* NULL: closed */
    union {
        DeviceBuffer *buffer;
        DeviceTexture *texture;
        DeviceModule *module;
        ReplayGpu *replay;
    } u;
} BindChild;

/* A model { name =, clock_ghz =, … }: every field is known, every known field is there. */
void bind_read_model(lua_State *L, int index, EmuModel *model);
BindDevice *bind_check_device(lua_State *L, int index);
/* A closed child on the stack, its device (at 1) and array (at 2, if any) anchored. */
BindChild *bind_new_child(lua_State *L, const char *class, bool with_array);
/* Opens it: its handle has been set. */
void bind_adopt(BindChild *c, BindDevice *owner);
/* Raises for one that is closed or of another class. */
BindChild *bind_check_child(lua_State *L, int index, const char *class);
/* __gc and __close of the child at 1: `drop` frees the handle of one that is open. */
int bind_close_child(lua_State *L, const char *class, void (*drop)(BindChild *));
/* "usage" raises, everything else is the world's: nil, message, code. */
int bind_refused(lua_State *L, const gi_err *err);

/* --- buffer.c, texture.c, module.c: a class each --- */

void bind_buffer_class(lua_State *L);
void bind_texture_class(lua_State *L);
void bind_module_class(lua_State *L);
void bind_replay_class(lua_State *L);
int bind_buffer_new(lua_State *L);
int bind_texture_new(lua_State *L);
int bind_module_new(lua_State *L);
int bind_replay_new(lua_State *L);
DeviceBuffer *bind_check_buffer(lua_State *L, int index);
DeviceTexture *bind_check_texture(lua_State *L, int index);
DeviceModule *bind_check_module(lua_State *L, int index);

/* exact.c: what a certificate is of, in a launch's table; NULL: none. */
EmuExact *bind_option_exact(lua_State *L, int index);

/* The bytes of a value for a variable or a kernel's parameter (module.c): of a buffer, texture,
** { type, value } or string. `what` begins the message that anything else raises. They are in
** `small` or the string's own. */
const void *bind_value_bytes(lua_State *L, int index, const char *what, unsigned char small[8],
                             size_t *size);

/* --- record.c: what replays share --- */

Recording *bind_check_recording(lua_State *L, int index);
/* code = { [N] = PTX }, kept alive by the table at index (0: none). Leaves a userdata on the stack.
*/
const ReplayCode *bind_read_code(lua_State *L, int index, int *n);
/* The option "shapes" of a replay: six whole numbers of four bytes for each launch. */
const ReplayShape *bind_read_shapes(lua_State *L, int index, int *n);
/* The option "joins" of one: a whole number of four bytes for each launch. */
const ReplayJoin *bind_read_joins(lua_State *L, int index, int *n);
/* The option "turns": five of them for each launch, the stream and what it waits for. */
const ReplayTurn *bind_read_turns(lua_State *L, int index, int *n);

/* --- launch.c, timing.c --- */

#define BIND_TIMING_FIELDS                                                                         \
    "min_samples", "max_samples", "warmup", "rel_error", "stop_above_ns", "flush_l2",              \
        "clock_tolerance"

/* Of the table at index, whose keys the caller has checked. */
DeviceTiming bind_read_timing(lua_State *L, int index);

/* A launch as a script describes it. Its pointers are anchored in values that bind_read_launch
** leaves on the stack. */
typedef struct BindLaunch {
    DeviceLaunch launch;
    bool print;
} BindLaunch;

#define BIND_LAUNCH_FIELDS                                                                         \
    "kernel", "grid", "block", "shared", "args", "budget", "print", "count_uninitialised",         \
        "check_races", "benign_races", "max_faults", "backwards", "keep_variables", "cache",       \
        "carveout", "cooperative", "cluster", "exact", "timeout_s", "threads", "meets", "fill"

/* Fills *out from the table at index, whose keys the caller has checked; false: *err says why the
** kernel could not be asked for. */
bool bind_read_launch(lua_State *L, int index, DeviceModule *m, BindLaunch *out, gi_err *err);

/* The module at 1 of a method that takes a table with the known fields at 2, where the stack ends
** now. */
DeviceModule *bind_check_run(lua_State *L, const char *const *known);
int bind_module_launch(lua_State *L);
int bind_module_time(lua_State *L);
int bind_module_pair(lua_State *L);
int bind_module_spans(lua_State *L);
int bind_buffer_time_sentinel(lua_State *L);

/* --- measurement.c: what a device measured, as a table on the stack --- */

void bind_push_measurement(lua_State *L, const Measurement *m);
/* What the virtual GPU counted of it, into the table on top. */
void bind_push_work(lua_State *L, const EmuWork *work);
void bind_push_samples(lua_State *L, const DeviceSamples *s);
/* Fields of the table on top. */
void bind_set_number(lua_State *L, const char *name, double value);
void bind_set_count(lua_State *L, const char *name, uint64_t value);
void bind_set_findings(lua_State *L, const char *name, const EmuFindings *found);
void bind_set_meets(lua_State *L, const EmuMeets *meets);
void bind_set_numbers(lua_State *L, const char *name, const double *values, int n);

/* --- record.c: the kernels of a replay, as the field `kernels` of the table on top --- */

void bind_push_kernels(lua_State *L, const ReplayKernel *kernels, int n);

#endif
