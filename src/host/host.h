/* host.h - the program around Lua: command line in main.c, the prompt in repl.c, the line editor
** in edit.c. */
#ifndef GILUA_HOST_H
#define GILUA_HOST_H

#include <lauxlib.h>
#include <lua.h>

#include <stdbool.h>

/* Calls the function below its n arguments on the stack, with a traceback handler and Ctrl-C
** turned into the Lua error "interrupted!". Returns lua_pcall's status. */
int host_call(lua_State *L, int n_args, int n_results);
/* Prints "gilua: message" for a failed host_call and pops it; returns status == LUA_OK. */
bool host_report(lua_State *L, int status);
/* From now on Ctrl-C ends the program only when pressed three times in one host_call, with a
** warning at the second; before, twice. Outside of host_call it does nothing any more. */
void host_hold_on(void);
/* The prompt of lua/gilua/prompt, until end of input. */
void host_repl(lua_State *L);

#endif
