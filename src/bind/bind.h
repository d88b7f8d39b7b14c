/* bind.h - how the C rooms meet Lua: one registration row per function, one file per room.
**
** Three kinds of failure (docs/lua.md): misuse raises an error at the caller's line; the world
** answers nil, message, code; what a mutant does is data. In a binding: check every argument, then
** create the userdata, then acquire. Every row carries the text that help() and the reference
** print.
*/
#ifndef GILUA_BIND_H
#define GILUA_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

#include "array/array.h"
#include "array/share.h"
#include "base/base.h"
#include "device/device.h"

typedef struct BindRow {
    const char *name;
    lua_CFunction fn;
    const char *usage; /* "g:rules([type]) -> list" */
    const char *doc;   /* one sentence */
} BindRow;

/* Opens the module gilua.core: a table with one field per room. */
int bind_open(lua_State *L);

/* Adds rows to the table on top of the stack, documented as PREFIX.name (or PREFIX:name for a
 * class). */
void bind_rows(lua_State *L, const char *prefix, const BindRow *rows);
/* Makes the metatable `class` (methods in __index, metamethods from meta, which may be NULL). */
void bind_class(lua_State *L, const char *class, const char *prefix, const BindRow *methods,
                const luaL_Reg *meta);
/* A zeroed userdata of the class, with n user values: "create closed, then acquire". */
void *bind_new(lua_State *L, const char *class, size_t size, int user_values);

/* Returns nil, message, code. */
int bind_failed(lua_State *L, const gi_err *err);
/* Raises err as misuse. */
int bind_misuse(lua_State *L, const gi_err *err);

/* Makes room for n more values on the stack. Where there is no memory for it, that is raised in
** Lua's own words; of more than Lua ever holds, there are too many `things`. */
void bind_room(lua_State *L, int n, const char *things);

/* Reads field `name` of the options table at index; refuses unknown keys, naming the nearest.
** known is NULL-ended. A missing table (none or nil) is an empty one. */
void bind_check_options(lua_State *L, int index, const char *const *known);
bool bind_option_bool(lua_State *L, int index, const char *name, bool fallback);
lua_Integer bind_option_int(lua_State *L, int index, const char *name, lua_Integer fallback);
double bind_option_number(lua_State *L, int index, const char *name, double fallback);
/* The string stays on the stack (one slot), so that it lives as long as the call. */
const char *bind_option_string(lua_State *L, int index, const char *name, const char *fallback);
/* Which of the NULL-ended words it is; another raises. The string stays on the stack. */
int bind_option_enum(lua_State *L, int index, const char *name, const char *const *words,
                     int fallback);
/* A list of strings as a NULL-ended vector, kept alive on the stack; NULL when absent. */
const char **bind_option_strings(lua_State *L, int index, const char *name);

/* Ctrl-C and its kin. The host's signal handler raises the flag; long C calls poll it and a Lua
** hook sees it. bind_interrupt lowers both and raises the error "interrupted!". */
extern volatile int bind_interrupted;
int bind_interrupt(lua_State *L);
/* What the host's handlers leave for scripts: that the program is to end, and that what was found
** so far is wanted now (SIGUSR1). */
extern volatile sig_atomic_t bind_ending, bind_asked;

/* One room each; each leaves its table on the stack. */
void bind_array(lua_State *L);
void bind_share(lua_State *L); /* adds to the table on top: the array's */
void bind_grammar(lua_State *L);
void bind_tokens(lua_State *L); /* adds to the table on top: the grammar's */
void bind_source(lua_State *L); /* the same */
void bind_compile(lua_State *L);
void bind_device(lua_State *L);
void bind_nifti(lua_State *L);
void bind_image(lua_State *L);
void bind_file(lua_State *L);
void bind_farm(lua_State *L);
void bind_box(lua_State *L); /* adds to the table on top: the farm's */
void bind_wire(lua_State *L);
void bind_net(lua_State *L);
void bind_ptx(lua_State *L);
void bind_llvm(lua_State *L);
void bind_rng(lua_State *L);
void bind_exact(lua_State *L);
void bind_library(lua_State *L);
void bind_store(lua_State *L);
void bind_record(lua_State *L);
void bind_system(lua_State *L);
void bind_program(lua_State *L); /* adds to the table on top: the system's */

/* Shared between rooms. */
Array *bind_check_array(lua_State *L, int index);
Array *bind_test_array(lua_State *L, int index);
void bind_push_array(lua_State *L, Array *a); /* takes over the caller's reference */
CompareOptions bind_compare_options(lua_State *L, int index,
                                    bool threads); /* may it say how many? */
void bind_push_comparison(lua_State *L, const Comparison *c, const CompareOptions *o);
gi_rng *bind_check_rng(lua_State *L, int index);
Share *bind_optional_share(lua_State *L, int index); /* NULL for none or nil */
Share **bind_new_share(lua_State *L);                /* pushes an empty one ... */
void bind_set_share(Share **box, Share *s);          /* ... and fills it: takes the reference */

/* The option of the functions that read images, their only one: 0 where it is not given. */
uint64_t bind_max_bytes(lua_State *L, int index);

/* A scalar written { "i32", 5 } at index: its bytes (at most 8) and their number; raises misuse
** that names `what` ("argument 2"). */
size_t bind_scalar(lua_State *L, int index, unsigned char bytes[8], ArrayType *type,
                   const char *what);

#endif
