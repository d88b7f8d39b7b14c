/* repl.c - the prompt: lines go from the line editor (edit.c) to a session object of
** lua/gilua/prompt, which decides everything else. Where input or output is no terminal the session
** is the same; lines come as they are, and nobody is greeted.
*/
#include "host/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/edit.h"

enum { SESSION = 1 }; /* its index */

/* Calls session:method(...) with the n_args on top; true with the results on the stack, or false
** when it failed, which has been said. */
static bool call_session(lua_State *L, const char *method, int n_args, int n_results) {
    lua_getfield(L, SESSION, method);
    lua_insert(L, -n_args - 1);
    lua_pushvalue(L, SESSION);
    lua_insert(L, -n_args - 1);
    return host_report(L, host_call(L, n_args + 1, n_results));
}

/* At the index, which may be absolute only, a string or nothing. */
static void add_text(lua_State *L, int index, gi_buf *out) {
    size_t len;
    const char *text = lua_tolstring(L, index, &len);
    if (text) gi_buf_add(out, text, len);
}

static void complete(void *context, const char *before, size_t len, EditChange *change) {
    lua_State *L = context;
    int top = lua_gettop(L);
    if (!lua_checkstack(L, 10)) return;
    lua_pushlstring(L, before, len);
    if (call_session(L, "complete", 1, 3)) {
        change->remove = (int)lua_tointeger(L, top + 1);
        add_text(L, top + 2, &change->insert);
        add_text(L, top + 3, &change->list);
    }
    lua_settop(L, top);
}

static bool is_word(lua_State *L, int index, const char *word) {
    const char *text = lua_tostring(L, index);
    return text && strcmp(text, word) == 0;
}

/* Hands a line to the session and does what it answers; false: the session is to end. */
static bool take_line(lua_State *L, Edit *edit, const gi_buf *line, bool *more) {
    lua_settop(L, SESSION);
    lua_pushlstring(L, line->data ? line->data : "", line->len);
    *more = false;
    if (!call_session(L, "add", 1, LUA_MULTRET)) return true;
    for (int i = SESSION + 2; i <= lua_gettop(L); i++) edit_remember(edit, lua_tostring(L, i));
    if (is_word(L, SESSION + 1, "end")) return false;
    *more = is_word(L, SESSION + 1, "more");
    if (is_word(L, SESSION + 1, "run")) call_session(L, "run", 0, 0);
    return true;
}

static void read_lines(lua_State *L, Edit *edit) {
    bool more = false, going = true;
    while (going) {
        gi_buf line = {0};
        EditEnd end = edit_read(edit, more ? ">> " : "> ", &line);
        if (end == EDIT_LINE) {
            going = take_line(L, edit, &line, &more);
        } else if (end == EDIT_CANCELLED) {
            more = false;
            call_session(L, "cancel", 0, 0);
        } else {
            going = false;
            call_session(L, "finish", 0, 0);
            fputs("\n", stdout);
        }
        gi_buf_free(&line);
    }
}

static void load_history(lua_State *L, Edit *edit) {
    gi_err err;
    if (lua_getfield(L, SESSION, "history_path") == LUA_TSTRING &&
        !edit_load_history(edit, lua_tostring(L, -1), &err))
        fprintf(stderr, "gilua: %s\n", err.message);
    lua_pop(L, 1);
}

/* prompt.open(editing), nil where there is no terminal. */
static bool open_session(lua_State *L, bool terminal, bool editing) {
    lua_settop(L, 0);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "gilua.prompt.prompt");
    if (!host_report(L, host_call(L, 1, 1))) return false;
    lua_getfield(L, -1, "open");
    if (terminal) lua_pushboolean(L, editing);
    if (!host_report(L, host_call(L, terminal ? 1 : 0, 1))) return false;
    lua_replace(L, SESSION);
    return true;
}

void host_repl(lua_State *L) {
    bool terminal = isatty(0) && isatty(1);
    if (terminal) host_hold_on();
    Edit *edit = edit_open(terminal, complete, L);
    if (open_session(L, terminal, edit_has_keys(edit))) {
        load_history(L, edit);
        read_lines(L, edit);
    }
    edit_close(edit);
    lua_settop(L, 0);
}
