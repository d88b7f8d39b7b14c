/* file.c - core.file: files whose writes are whole or did not happen, locks, temporary folders. */
#include "base/file.h"
#include "base/folder.h"

#include <stdlib.h>

#include "bind/bind.h"

#define JOURNAL "gilua.journal"
#define LOCK    "gilua.lock"
#define FOLDER  "gilua.folder"

static int done(lua_State *L, bool well, const gi_err *err) {
    if (!well) return bind_failed(L, err);
    lua_pushboolean(L, true);
    return 1;
}

static int write_file(lua_State *L) {
    size_t len;
    const char *path = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &len);
    gi_err err;
    return done(L, gi_file_write(path, text, len, &err), &err);
}

static int link_file(lua_State *L) {
    const char *target = luaL_checkstring(L, 1), *path = luaL_checkstring(L, 2);
    gi_err err;
    return done(L, gi_file_link(target, path, &err), &err);
}

/* --- journals --- */

static int open_journal(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    gi_journal *j = bind_new(L, JOURNAL, sizeof *j, 0);
    gi_err err;
    return gi_journal_open(j, path, &err) ? 1 : bind_failed(L, &err);
}

static int add_to_journal(lua_State *L) {
    gi_journal *j = luaL_checkudata(L, 1, JOURNAL);
    size_t len;
    const char *text = luaL_checklstring(L, 2, &len);
    luaL_argcheck(L, j->path, 1, "the journal is closed");
    gi_err err;
    return done(L, gi_journal_add(j, text, len, &err), &err);
}

static int close_journal(lua_State *L) {
    gi_journal_close(luaL_checkudata(L, 1, JOURNAL));
    return 0;
}

/* --- locks --- */

typedef struct Lock {
    char *path; /* NULL: not held */
    int fd;
} Lock;

static int lock(lua_State *L) {
    const char *path = luaL_checkstring(L, 1), *who = luaL_checkstring(L, 2);
    Lock *held = bind_new(L, LOCK, sizeof *held, 0);
    gi_err err;
    held->fd = gi_lock(path, who, &err);
    if (held->fd < 0) return bind_failed(L, &err);
    held->path = gi_strdup(path);
    return 1;
}

static int unlock(lua_State *L) {
    Lock *held = luaL_checkudata(L, 1, LOCK);
    if (held->path) gi_unlock(held->fd, held->path);
    free(held->path);
    held->path = NULL;
    return 0;
}

static int is_locked(lua_State *L) {
    lua_pushboolean(L, gi_is_locked(luaL_checkstring(L, 1)));
    return 1;
}

/* --- a folder that goes when nobody holds it --- */

static int make_folder(lua_State *L) {
    gi_folder *f = bind_new(L, FOLDER, sizeof *f, 0);
    gi_err err;
    return gi_folder_open(f, &err) ? 1 : bind_failed(L, &err);
}

static int folder_path(lua_State *L) {
    const gi_folder *f = luaL_checkudata(L, 1, FOLDER);
    luaL_argcheck(L, f->path, 1, "the folder is closed");
    lua_pushstring(L, f->path);
    return 1;
}

static int close_folder(lua_State *L) {
    gi_folder_close(luaL_checkudata(L, 1, FOLDER));
    return 0;
}

static void open_class(lua_State *L, const char *class, const char *prefix, const BindRow *methods,
                       lua_CFunction close) {
    const luaL_Reg meta[] = {{"__gc", close}, {"__close", close}, {NULL, NULL}};
    bind_class(L, class, prefix, methods, meta);
}

void bind_file(lua_State *L) {
    static const BindRow journal[] = {
        {"add", add_to_journal, "journal:add(text) -> true | nil, message, code",
         "Appends all of a text or none of it; code \"full\": there is no room on the disk."},
        {"close", close_journal, "journal:close()", "Closes it."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow held[] = {
        {"close", unlock, "lock:close()", "Lets go, and removes the file."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow folder[] = {
        {"path", folder_path, "folder:path() -> string", "Where it is."},
        {"close", close_folder, "folder:close()", "Removes it and all that is in it."},
        {NULL, NULL, NULL, NULL}};
    static const BindRow rows[] = {
        {"write", write_file, "core.file.write(path, text) -> true | nil, message, code",
         "A whole file, written beside it and moved into its place: the old text or the new one is "
         "there at any time; code \"full\": there is no room on the disk."},
        {"journal", open_journal, "core.file.journal(path) -> journal | nil, message, code",
         "An empty file that a text is added to, piece by piece."},
        {"lock", lock, "core.file.lock(path, who) -> lock | nil, message, code",
         "Holds a file that says who holds it; code \"busy\": somebody else does, and message is "
         "what that one wrote."},
        {"locked", is_locked, "core.file.locked(path) -> boolean",
         "Does anybody hold a file that core.file.lock makes?"},
        {"link", link_file, "core.file.link(target, path) -> true | nil, message, code",
         "A symbolic link, in place of one that is there."},
        {"folder", make_folder, "core.file.folder() -> folder | nil, message, code",
         "A new folder in $TMPDIR, removed with all that is in it when it is closed or collected; "
         "what killed processes have left of theirs is removed by the next."},
        {NULL, NULL, NULL, NULL}};
    open_class(L, JOURNAL, "journal:", journal, close_journal);
    open_class(L, LOCK, "lock:", held, unlock);
    open_class(L, FOLDER, "folder:", folder, close_folder);
    lua_newtable(L);
    bind_rows(L, "file.", rows);
}
