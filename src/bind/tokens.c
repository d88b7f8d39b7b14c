/* tokens.c - gi.grammar.tokens: the words of a text, numbered from 1. */
#include "bind/bind.h"

#include <limits.h>
#include <string.h>

#include "grammar/grammar.h"

#define CLASS "gilua.tokens"

/* Its user value is the text, so that `text` lives as long. */
typedef struct Box {
    SourceTokens tokens;
    const char *text;
} Box;

static Box *check_tokens(lua_State *L) {
    return luaL_checkudata(L, 1, CLASS);
}

/* The token whose number is argument 2; NULL where there is none. */
static const SourceToken *token_at(lua_State *L, const Box *b) {
    lua_Integer i = luaL_checkinteger(L, 2);
    return i >= 1 && i <= b->tokens.n ? &b->tokens.v[i - 1] : NULL;
}

/* Tokens of the text at stack index `text`, whose byte `from` stands on `line`. */
static int push_tokens(lua_State *L, int text, int from, int to, int line) {
    text = lua_absindex(L, text);
    Box *b = bind_new(L, CLASS, sizeof *b, 1);
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, 1);
    b->text = lua_tostring(L, text);
    source_tokens(b->text, from, to, line, &b->tokens);
    return bind_interrupted ? bind_interrupt(L) : 1;
}

static int tokens(lua_State *L) {
    size_t len;
    luaL_checklstring(L, 1, &len);
    luaL_argcheck(L, len <= INT_MAX / 2, 1, "a text of more than a gigabyte");
    return push_tokens(L, 1, 0, (int)len, 1);
}

static int close_tokens(lua_State *L) {
    source_tokens_free(&check_tokens(L)->tokens);
    return 0;
}

static int count(lua_State *L) {
    lua_pushinteger(L, check_tokens(L)->tokens.n);
    return 1;
}

/* A name that stands on two lines. What parts them is not of it. */
static bool is_spliced(const Box *b, const SourceToken *t) {
    return t->kind == TOK_NAME && memchr(b->text + t->start, '\\', (size_t)(t->end - t->start));
}

static void push_unspliced(lua_State *L, const char *text, int n) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 0; i < n; i++)
        if (text[i] != '\\' && text[i] != '\n' && text[i] != '\r') luaL_addchar(&b, text[i]);
    luaL_pushresult(&b);
}

static void push_token(lua_State *L, const Box *b, const SourceToken *t) {
    const char *text = b->text + t->start;
    int n = t->end - t->start;
    if (is_spliced(b, t)) push_unspliced(L, text, n);
    else lua_pushlstring(L, text, (size_t)n);
}

static int get(lua_State *L) {
    Box *b = check_tokens(L);
    if (lua_isinteger(L, 2)) {
        const SourceToken *t = token_at(L, b);
        if (t) push_token(L, b, t);
        else lua_pushnil(L);
        return 1;
    }
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(1)); /* methods */
    return 1;
}

static int kind(lua_State *L) {
    static const char *const names[] = {
        [TOK_NAME] = "name",   [TOK_NUMBER] = "number", [TOK_STRING] = "string",
        [TOK_CHAR] = "char",   [TOK_PUNCT] = "punct",   [TOK_DIRECTIVE] = "directive",
        [TOK_BAD] = "bad",
    };
    const SourceToken *t = token_at(L, check_tokens(L));
    lua_pushstring(L, t ? names[t->kind] : NULL); /* NULL pushes nil */
    return 1;
}

static int push_or_nil(lua_State *L, const SourceToken *t, int value) {
    if (t) lua_pushinteger(L, value);
    else lua_pushnil(L);
    return 1;
}

static int first(lua_State *L) {
    const SourceToken *t = token_at(L, check_tokens(L));
    return push_or_nil(L, t, t ? t->start + 1 : 0);
}

static int last(lua_State *L) {
    const SourceToken *t = token_at(L, check_tokens(L));
    return push_or_nil(L, t, t ? t->end : 0);
}

static int line(lua_State *L) {
    const SourceToken *t = token_at(L, check_tokens(L));
    return push_or_nil(L, t, t ? t->line : 0);
}

static int match(lua_State *L) {
    const SourceToken *t = token_at(L, check_tokens(L));
    return push_or_nil(L, t && t->match >= 0 ? t : NULL, t ? t->match + 1 : 0);
}

static int text(lua_State *L) {
    Box *b = check_tokens(L);
    lua_Integer from = luaL_checkinteger(L, 2), to = luaL_optinteger(L, 3, from);
    if (from < 1) from = 1;
    if (to > b->tokens.n) to = b->tokens.n;
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (lua_Integer i = from; i <= to; i++) {
        const SourceToken *t = &b->tokens.v[i - 1];
        if (i > from && t->start > t[-1].end) luaL_addchar(&out, ' ');
        push_token(L, b, t);
        luaL_addvalue(&out);
    }
    luaL_pushresult(&out);
    return 1;
}

static bool is_word(lua_State *L, const Box *b, const SourceToken *t, int arg) {
    size_t n;
    const char *wanted = lua_tolstring(L, arg, &n), *text = b->text + t->start;
    size_t len = (size_t)(t->end - t->start);
    if (!is_spliced(b, t)) return len == n && memcmp(text, wanted, n) == 0;
    push_token(L, b, t);
    bool same = lua_rawequal(L, -1, arg);
    lua_pop(L, 1); /* token */
    return same;
}

static int find(lua_State *L) {
    Box *b = check_tokens(L);
    lua_Integer from = luaL_checkinteger(L, 2);
    int n = lua_gettop(L) - 2;
    for (int k = 0; k < (n ? n : 1); k++) luaL_checkstring(L, 3 + k);
    for (lua_Integer i = from < 1 ? 0 : from - 1; i + n <= b->tokens.n; i++) {
        int k = 0;
        while (k < n && is_word(L, b, &b->tokens.v[i + k], 3 + k)) k++;
        if (k < n) continue;
        lua_pushinteger(L, i + 1);
        return 1;
    }
    lua_pushnil(L);
    return 1;
}

static bool is_directive(TokenKind kind) {
    return kind == TOK_DIRECTIVE;
}

static bool is_wordy(TokenKind kind) {
    return kind != TOK_NUMBER && kind != TOK_PUNCT;
}

/* Pushes the first token from argument 2 on that is of a kind; nil if there is none. */
static int first_of(lua_State *L, bool (*is)(TokenKind kind)) {
    const SourceTokens *t = &check_tokens(L)->tokens;
    lua_Integer i = luaL_checkinteger(L, 2);
    for (i = i < 1 ? 1 : i; i <= t->n; i++)
        if (is(t->v[i - 1].kind)) return lua_pushinteger(L, i), 1;
    return lua_pushnil(L), 1;
}

static int directive(lua_State *L) {
    return first_of(L, is_directive);
}

static int word(lua_State *L) {
    return first_of(L, is_wordy);
}

static int inside(lua_State *L) {
    const SourceToken *t = token_at(L, check_tokens(L));
    if (t == NULL || t->kind != TOK_DIRECTIVE) return luaL_argerror(L, 2, "it is no directive");
    lua_getiuservalue(L, 1, 1);
    return push_tokens(L, -1, t->start + 1, t->end, t->line);
}

static int to_string(lua_State *L) {
    lua_pushfstring(L, "%d tokens", check_tokens(L)->tokens.n);
    return 1;
}

void bind_tokens(lua_State *L) {
    static const BindRow methods[] = {
        {"kind", kind, "tokens:kind(i) -> string | nil",
         "name, number, string, char, punct, directive, or bad: a literal or comment without an "
         "end; nil where there is no such token."},
        {"first", first, "tokens:first(i) -> integer | nil", "Its first byte in the text."},
        {"last", last, "tokens:last(i) -> integer | nil", "Its last byte in the text."},
        {"line", line, "tokens:line(i) -> integer | nil", "The line on which it begins."},
        {"match", match, "tokens:match(i) -> integer | nil",
         "The bracket that closes it, or that it closes: ( ) [ ] { }."},
        {"text", text, "tokens:text(i [, j]) -> string",
         "What stands from token i to j, without comments: one blank where anything parts two."},
        {"find", find, "tokens:find(i, word, …) -> integer | nil",
         "The first token from i on that is the word; of several words they follow each other."},
        {"directive", directive, "tokens:directive(i) -> integer | nil",
         "The first directive from token i on."},
        {"word", word, "tokens:word(i) -> integer | nil",
         "The first token from i on that is no number and no punctuation."},
        {"inside", inside, "tokens:inside(i) -> tokens",
         "The tokens of a directive, behind its '#': its name is the first."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__len", count},
                                    {"__tostring", to_string},
                                    {"__gc", close_tokens},
                                    {"__close", close_tokens},
                                    {NULL, NULL}};
    static const BindRow rows[] = {
        {"tokens", tokens, "gi.grammar.tokens(text) -> tokens",
         "The words of CUDA source, of any text, which is never refused: t[i] is the i-th, #t how "
         "many there are. Comments are none of them, macros stand as they are, a directive with "
         "its continuation lines is one."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "tokens:", methods, meta);
    luaL_getmetatable(L, CLASS);
    lua_getfield(L, -1, "__index");
    lua_pushcclosure(L, get, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1); /* metatable */
    bind_rows(L, "grammar.", rows);
}
