/* repl.c - the prompt: reads a chunk (over several lines while it is incomplete), runs it, prints
** what it returns. Errors print and the prompt goes on.
**
** On a terminal what is typed goes through the line editor (edit.c) to a session object of
** lua/gilua/prompt, which decides everything else. Where input or output is no terminal the
** prompt is that of plain Lua, so that pipes see the same on any machine.
*/
#include "host/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/edit.h"

#define EOF_MARK "<eof>"

/* A chunk that stops too early fails with a message that ends in <eof>. */
static bool is_incomplete(lua_State *L, int status) {
    if (status != LUA_ERRSYNTAX) return false;
    size_t len, mark = sizeof EOF_MARK - 1;
    const char *message = lua_tolstring(L, -1, &len);
    return len >= mark && strcmp(message + len - mark, EOF_MARK) == 0;
}

/* Pushes one line without its newline; false at the end of input. */
static bool push_line(lua_State *L, const char *prompt) {
    char chunk[512];
    luaL_Buffer b;
    fputs(prompt, stdout);
    fflush(stdout);
    luaL_buffinit(L, &b);
    bool any = false, whole = false;
    while (!whole && fgets(chunk, sizeof chunk, stdin)) {
        size_t n = strlen(chunk);
        whole = n > 0 && chunk[n - 1] == '\n';
        luaL_addlstring(&b, chunk, whole ? n - 1 : n);
        any = true;
    }
    luaL_pushresult(&b);
    if (!any) lua_pop(L, 1);
    return any;
}

/* Compiles the line at index 1 as an expression if it is one. */
static int load_expression(lua_State *L) {
    lua_pushfstring(L, "return %s", lua_tostring(L, 1));
    int status = luaL_loadbuffer(L, lua_tostring(L, -1), lua_rawlen(L, -1), "=stdin");
    lua_remove(L, -2); /* the text */
    if (status != LUA_OK) lua_pop(L, 1);
    return status;
}

static int load_statement(lua_State *L) {
    for (;;) {
        size_t len;
        const char *text = lua_tolstring(L, 1, &len);
        int status = luaL_loadbuffer(L, text, len, "=stdin");
        if (!is_incomplete(L, status)) return status;
        if (!push_line(L, ">> ")) return status;
        lua_remove(L, -2); /* the message */
        lua_pushfstring(L, "%s\n%s", lua_tostring(L, 1), lua_tostring(L, -1));
        lua_replace(L, 1);
        lua_settop(L, 1);
    }
}

static void print_results(lua_State *L) {
    int n = lua_gettop(L);
    if (n == 0) return;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getglobal(L, "print");
    lua_insert(L, 1);
    host_report(L, host_call(L, n, 0));
}

static void plain_repl(lua_State *L) {
    while (push_line(L, "> ")) {
        int status = load_expression(L);
        if (status != LUA_OK) status = load_statement(L);
        lua_remove(L, 1); /* the text */
        if (status == LUA_OK) status = host_call(L, 0, LUA_MULTRET);
        if (status == LUA_OK) print_results(L);
        else host_report(L, status);
        lua_settop(L, 0);
    }
    fputs("\n", stdout);
}

/* --- on a terminal: the session is at index 1 --- */

enum { SESSION = 1 };

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

static bool open_session(lua_State *L) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "gilua.prompt.prompt");
    if (!host_report(L, host_call(L, 1, 1))) return false;
    lua_getfield(L, -1, "open");
    lua_pushboolean(L, edit_is_built_in());
    if (!host_report(L, host_call(L, 1, 1))) return false;
    lua_replace(L, SESSION);
    lua_settop(L, SESSION);
    return true;
}

static void terminal_repl(lua_State *L) {
    host_hold_on();
    if (!open_session(L)) return;
    Edit *edit = edit_open(complete, L);
    load_history(L, edit);
    read_lines(L, edit);
    edit_close(edit);
    lua_settop(L, 0);
}

void host_repl(lua_State *L) {
    lua_settop(L, 0);
    if (isatty(0) && isatty(1)) terminal_repl(L);
    else plain_repl(L);
}
