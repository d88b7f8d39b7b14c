/* modules.h - lua/gilua as the program has it compiled within, for starting sooner: a tenth of the
** time that reading the sources takes. Written by precompile.c, when gilua is built; read by
** modules.c.
**
** The sources stay what is run. A module is taken from here only where its file, found as ever, has
** the very text that was compiled: so files that were changed, or are of another version, go the
** usual way, and no one can tell but by the time.
**
**     Modules | Module × n | bytes: names and code, by their offset from the beginning
*/
#ifndef GILUA_HOST_MODULES_H
#define GILUA_HOST_MODULES_H

#include <lua.h>
#include <stdint.h>

/* The name of the file is not in the code: it is put between its head and the rest, see
** modules.c. Code is as lua_dump writes it, with lines and names for messages. */
enum { MODULE_HEAD = 32 };

typedef struct Modules {
    char lua[256]; /* which Lua compiled them: its lua_ident */
    uint64_t n;
} Modules;

typedef struct Module {
    uint64_t hash, len; /* of its source: gi_hash from 0, bytes */
    uint64_t name;      /* where it is: "gilua.base.trace", with a NUL behind */
    uint64_t code, code_len;
} Module;

/* Has `require` take what is here, and say why a file cannot be opened, where Lua alone would call
** the module missing. */
void modules_offer(lua_State *L);

#endif
