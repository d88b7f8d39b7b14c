/* source.c - gi.grammar.source: a text as the reader of C++ sees it (source/source.h). Functions,
** declarations, statements and expressions become Lua's tables when they are asked for. Tokens are
** numbered from 1, as those of gi.grammar.tokens. */
#include "source/source.h"

#include <limits.h>
#include <string.h>

#include "bind/bind.h"

#define CLASS "gilua.source"

/* Its user value is the text, so that `text` lives as long. */
static Source *check_source(lua_State *L) {
    return luaL_checkudata(L, 1, CLASS);
}

static int read_text(lua_State *L) {
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    luaL_argcheck(L, len <= INT_MAX / 2, 1, "a text of more than a gigabyte");
    Source *s = bind_new(L, CLASS, sizeof *s, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    source_read(text, (int)len, s);
    return bind_interrupted ? bind_interrupt(L) : 1;
}

static int close_source(lua_State *L) {
    source_free(check_source(L));
    return 0;
}

static int to_string(lua_State *L) {
    const Source *s = check_source(L);
    lua_pushfstring(L, "source of %d tokens", s->tokens.n);
    return 1;
}

/* ---- fields ---- */

static void set_int(lua_State *L, const char *field, int value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, field);
}

/* Only where there is one. */
static void set_token(lua_State *L, const char *field, int token) {
    if (token >= 0) set_int(L, field, token + 1);
}

static void set_flag(lua_State *L, const char *field, bool value) {
    if (!value) return; /* a field that is not there is false, too */
    lua_pushboolean(L, true);
    lua_setfield(L, -2, field);
}

static void set_string(lua_State *L, const char *field, const char *value) {
    lua_pushstring(L, value);
    lua_setfield(L, -2, field);
}

static void set_why(lua_State *L, const SourceNode *n) {
    if (n->why == NULL) return;
    set_string(L, "why", n->why);
    set_token(L, "why_at", n->why_at);
}

static void add_word(luaL_Buffer *b, const Source *s, int i) {
    const SourceToken *t = &s->tokens.v[i];
    if (s->word[i] >= 0) luaL_addstring(b, source_word(s, i));
    else luaL_addlstring(b, s->text + t->start, (size_t)(t->end - t->start));
}

/* Tokens [from, to], with one blank where anything parts two of them, or with nothing. */
static void push_words(lua_State *L, const Source *s, int from, int to, bool blanks) {
    luaL_Buffer b;
    if (from == to && s->word[from] >= 0) {
        lua_pushstring(L, source_word(s, from));
        return;
    }
    luaL_buffinit(L, &b);
    for (int i = from; i <= to; i++) {
        const SourceToken *t = &s->tokens.v[i];
        if (blanks && i > from && t->start > t[-1].end) luaL_addchar(&b, ' ');
        add_word(&b, s, i);
    }
    luaL_pushresult(&b);
}

static void set_words(lua_State *L, const Source *s, const char *field, int from, int to,
                      bool blanks) {
    push_words(L, s, from, to, blanks);
    lua_setfield(L, -2, field);
}

/* A table with what every node has. */
static void push_node(lua_State *L, const Source *s, int node) {
    const SourceNode *n = &s->node[node];
    lua_createtable(L, 0, 8);
    set_string(L, "kind", source_kind_name(n->kind));
    set_token(L, "first", n->first);
    set_token(L, "last", n->last);
}

/* ---- expressions ---- */

static void set_name(lua_State *L, const Source *s, const SourceNode *n) {
    set_words(L, s, "text", n->own, n->token, false);
    set_token(L, "token", n->token);
    if (n->open >= 0) set_words(L, s, "template", n->open + 1, n->close - 1, true);
}

static void set_literal(lua_State *L, const Source *s, const SourceNode *n) {
    static const char *const kinds[] = {
        [TOK_NUMBER] = "number", [TOK_STRING] = "string", [TOK_CHAR] = "char"};
    if (n->token < 0) {
        set_string(L, "text", "sizeof");
        return;
    }
    set_words(L, s, "text", n->token, n->token, false);
    set_token(L, "token", n->token);
    set_string(L, "literal", kinds[s->tokens.v[n->token].kind]);
}

/* Makes the table of a node of an expression, without those below it. */
static void push_tree_node(lua_State *L, const Source *s, int node) {
    const SourceNode *n = &s->node[node];
    push_node(L, s, node);
    set_flag(L, "parens", n->own != n->first);
    if (n->kind == SRC_NAME) set_name(L, s, n);
    if (n->kind == SRC_NUMBER) set_literal(L, s, n);
    if (n->kind == SRC_MEMBER) {
        set_string(L, "name", source_word(s, n->token));
        lua_pushboolean(L, source_is(s, n->token - 1, "->"));
        lua_setfield(L, -2, "arrow");
    }
    bool has_op = n->kind >= SRC_UNARY && n->kind <= SRC_ASSIGN;
    if (has_op) set_string(L, "op", source_word(s, n->token));
    if (n->kind == SRC_CAST) set_words(L, s, "type", n->open, n->close, true);
    if (n->kind == SRC_CALL) set_flag(L, "makes", n->makes);
    if (n->kind == SRC_CALL || n->kind == SRC_LIST) {
        lua_newtable(L);
        lua_setfield(L, -2, n->kind == SRC_CALL ? "args" : "items");
    }
}

/* Puts each child's table into its parent's; the table on top has them by number, from `from`
** on. */
static void join_tree(lua_State *L, const Source *s, int parent, int from) {
    static const char *const fields[] = {[ROLE_CALLEE] = "callee",
                                         [ROLE_A] = "a",
                                         [ROLE_B] = "b",
                                         [ROLE_CONDITION] = "condition",
                                         [ROLE_INDEX] = "index"};
    const SourceNode *n = &s->node[parent];
    int count = 0;
    if (n->child < 0) return;
    lua_rawgeti(L, -1, parent - from + 1);
    for (int c = n->child; c >= 0; c = s->node[c].next) {
        if (s->node[c].role == ROLE_ITEM) {
            lua_getfield(L, -1, n->kind == SRC_CALL ? "args" : "items");
            lua_rawgeti(L, -3, c - from + 1);
            lua_rawseti(L, -2, ++count);
            lua_pop(L, 1); /* args */
        } else {
            lua_rawgeti(L, -2, c - from + 1);
            lua_setfield(L, -2, fields[s->node[c].role]);
        }
    }
    lua_pop(L, 1); /* parent */
}

/* The tree of a whole expression, nil where no rewriting knows what is in it. Without recursion: a
** sum of a thousand terms is a tree a thousand deep. */
static void push_tree(lua_State *L, const Source *s, int root) {
    const SourceNode *n = root >= 0 ? &s->node[root] : NULL;
    if (n == NULL || n->why || n->kind == SRC_UNKNOWN) {
        lua_pushnil(L);
        return;
    }
    const int from = n->semi1, to = n->semi2;
    luaL_checkstack(L, 8, "expressions");
    lua_createtable(L, to - from, 0);
    for (int i = from; i < to; i++) {
        push_tree_node(L, s, i);
        lua_rawseti(L, -2, i - from + 1);
    }
    for (int i = from; i < to; i++) join_tree(L, s, i, from);
    lua_rawgeti(L, -1, root - from + 1);
    lua_remove(L, -2);
}

static void set_tree(lua_State *L, const Source *s, int node, SourceRole role, const char *field) {
    push_tree(L, s, source_child(s, node, role));
    lua_setfield(L, -2, field);
}

/* ---- declarations ---- */

/* The words of a type, without storage and attributes, a blank between two. That of a definition is
** its name. */
static void set_type(lua_State *L, const Source *s, const SourceDecl *d) {
    luaL_Buffer b;
    bool begun = false;
    luaL_buffinit(L, &b);
    for (int i = d->type; i <= d->type_last; i++) {
        int after = source_past_attribute(s, i);
        bool closed = source_is(s, i, "{") && s->tokens.v[i].match > i;
        if (after > i || closed) i = after > i ? after - 1 : s->tokens.v[i].match;
        else if (!source_is_storage(s, i)) {
            if (begun) luaL_addchar(&b, ' ');
            add_word(&b, s, i);
            begun = true;
        }
    }
    luaL_pushresult(&b);
    lua_setfield(L, -2, "type");
}

static void set_extents(lua_State *L, const Source *s, int node) {
    int n = 0;
    lua_newtable(L);
    for (int c = s->node[node].child; c >= 0; c = s->node[c].next) {
        if (s->node[c].role != ROLE_EXTENT) continue;
        push_tree(L, s, c);
        if (lua_isnil(L, -1)) lua_pop(L, 1), lua_pushboolean(L, false);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "extents");
}

static void set_flags(lua_State *L, const SourceDecl *d) {
    set_flag(L, "parameter", d->parameter);
    set_flag(L, "reference", d->reference);
    set_flag(L, "function", d->function);
    set_flag(L, "rows", d->rows);
    set_flag(L, "bound", d->bound);
    set_flag(L, "const", d->is_const);
    set_flag(L, "target_const", d->target_const || (d->rows && d->is_const));
    set_flag(L, "static", d->is_static);
    set_flag(L, "extern", d->is_extern);
    set_flag(L, "volatile", d->is_volatile);
    set_flag(L, "shared", d->shared);
    set_flag(L, "constant", d->constant);
    set_flag(L, "restrict", d->restricted);
}

/* What holds the statement that declares, "for" and "class" too; "enum" of an enumerator. */
static const char *within(const Source *s, int node) {
    int parent = s->node[node].parent;
    if (s->node[parent].kind == SRC_CLASS) return "enum";
    if (s->node[parent].kind == SRC_DECLARATION) parent = s->node[parent].parent;
    return source_kind_name(s->node[parent].kind);
}

static void push_declared(lua_State *L, const Source *s, int node) {
    const SourceDecl *d = &s->decl[s->node[node].decl];
    lua_createtable(L, 0, 16);
    set_string(L, "name", source_word(s, d->name));
    set_token(L, "token", d->name);
    set_token(L, "first", s->node[node].first);
    set_token(L, "last", s->node[node].last);
    set_int(L, "pointer", d->pointer);
    set_token(L, "scope_first", d->scope);
    set_token(L, "scope_last", d->scope_last);
    set_type(L, s, d);
    set_flags(L, d);
    set_extents(L, s, node);
    if (s->node[node].why == NULL) set_tree(L, s, node, ROLE_INIT, "init");
    set_flag(L, "unknown_init", s->node[node].why != NULL);
    set_why(L, &s->node[node]);
    if (d->init_at >= 0) set_string(L, "init_form", source_word(s, d->init_at));
    set_token(L, "init_at", d->init_at);
    set_string(L, "within", within(s, node));
}

/* The declarations of a node in a role, as a list; each with its statement, at `statement` on the
** stack, where that is not 0. */
static void push_all_declared(lua_State *L, const Source *s, int node, SourceRole role,
                              int statement) {
    int n = 0;
    lua_newtable(L);
    for (int c = s->node[node].child; c >= 0; c = s->node[c].next) {
        if (s->node[c].role != role) continue;
        push_declared(L, s, c);
        if (statement) lua_pushvalue(L, statement), lua_setfield(L, -2, "statement");
        lua_rawseti(L, -2, ++n);
    }
}

/* ---- statements ---- */

static bool is_statement(const SourceNode *n) {
    return n->kind >= SRC_BLOCK && n->kind <= SRC_UNKNOWN;
}

static void set_header(lua_State *L, const SourceNode *n) {
    const int tokens[] = {n->open, n->semi1, n->semi2, n->close};
    set_token(L, "open", n->open);
    set_token(L, "close", n->close);
    if (n->kind != SRC_FOR) return;
    set_flag(L, "ranged", n->semi1 < 0);
    if (n->semi1 < 0) return;
    lua_createtable(L, 4, 0);
    for (int i = 0; i < 4; i++) {
        lua_pushinteger(L, tokens[i] + 1);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "header");
}

static void set_directive(lua_State *L, const Source *s, const SourceNode *n) {
    const char *at = s->text + s->tokens.v[n->first].start + 1;
    const char *end = s->text + s->tokens.v[n->first].end;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    const char *word = at;
    while (at < end && *at >= 'a' && *at <= 'z') at++;
    lua_pushlstring(L, word, (size_t)(at - word));
    lua_setfield(L, -2, "name");
}

/* A statement's own fields into the table on top. */
static void set_statement(lua_State *L, const Source *s, int node) {
    const SourceNode *n = &s->node[node];
    bool headed = n->kind >= SRC_FOR && n->kind <= SRC_SWITCH;
    set_why(L, n);
    if (headed) {
        set_header(L, n);
        set_tree(L, s, node, ROLE_CONDITION, "condition");
        set_tree(L, s, node, ROLE_STEP, "step");
        set_flag(L, "unknown_header", n->why != NULL);
        if (n->kind == SRC_IF) set_token(L, "else_token", n->semi1);
    }
    if (n->kind == SRC_RETURN) set_flag(L, "unknown", n->why != NULL);
    if (n->kind == SRC_EXPRESSION || n->kind == SRC_RETURN) set_tree(L, s, node, ROLE_TREE, "tree");
    if (n->kind == SRC_DIRECTIVE) set_directive(L, s, n);
    if (n->kind == SRC_DECLARATION) {
        push_all_declared(L, s, node, ROLE_DECLARED, lua_gettop(L));
        lua_setfield(L, -2, "declared");
    }
}

/* Pushes a statement with all below it, and adds each to the list at `all`, outer ones first. Its
** depth is that of nested statements, which the reader bounds. */
static void push_statement(lua_State *L, const Source *s, int node, int all) {
    int n = 0, self;
    luaL_checkstack(L, 12, "statements");
    push_node(L, s, node);
    self = lua_gettop(L);
    set_statement(L, s, node);
    lua_pushvalue(L, self);
    lua_rawseti(L, all, luaL_len(L, all) + 1);
    if (s->node[node].kind == SRC_BLOCK) lua_newtable(L), lua_setfield(L, self, "body");
    for (int c = s->node[node].child; c >= 0; c = s->node[c].next) {
        if (!is_statement(&s->node[c]) || s->node[c].role == ROLE_EXTENT) continue;
        if (s->node[node].kind == SRC_UNKNOWN) continue; /* nobody knows when it runs */
        push_statement(L, s, c, all);
        lua_pushvalue(L, self);
        lua_setfield(L, -2, "parent");
        SourceRole role = s->node[c].role;
        if (role == ROLE_ITEM) {
            lua_getfield(L, self, "body");
            lua_insert(L, -2);
            lua_rawseti(L, -2, ++n);
            lua_pop(L, 1); /* body */
        } else
            lua_setfield(L, self,
                         role == ROLE_INIT        ? "init"
                         : role == ROLE_OTHERWISE ? "otherwise"
                                                  : "body");
    }
}

/* ---- what Lua asks ---- */

static bool is_free(const Source *s, int node) {
    const SourceNode *n = &s->node[node];
    while (n->parent > 0 && s->node[n->parent].kind == SRC_NAMESPACE) n = &s->node[n->parent];
    return n->parent == 0;
}

static const char *kind_of(const Source *s, const SourceNode *n) {
    for (int i = n->first; i <= n->open; i++) {
        if (source_is(s, i, "__global__")) return "kernel";
        if (source_is(s, i, "__device__")) return "device";
    }
    return "host";
}

/* s:functions([everywhere]) */
static int functions(lua_State *L) {
    const Source *s = check_source(L);
    bool everywhere = lua_toboolean(L, 2);
    int count = 0;
    lua_newtable(L);
    for (int i = 0; i < s->n_node; i++) {
        const SourceNode *n = &s->node[i];
        if (n->kind != SRC_FUNCTION || !(everywhere || is_free(s, i))) continue;
        lua_createtable(L, 0, 12);
        set_string(L, "name", source_word(s, n->token));
        set_string(L, "kind", kind_of(s, n));
        set_token(L, "first", n->first);
        set_token(L, "token", n->token);
        set_token(L, "head", n->open);
        set_token(L, "open", n->semi1);
        set_token(L, "close", n->last);
        set_int(L, "node", i);
        set_why(L, n);
        push_all_declared(L, s, i, ROLE_PARAM, 0);
        lua_setfield(L, -2, "params");
        push_all_declared(L, s, i, ROLE_TPARAM, 0);
        lua_setfield(L, -2, "tparams");
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* s:body(node) */
static int body(lua_State *L) {
    const Source *s = check_source(L);
    lua_Integer node = luaL_checkinteger(L, 2);
    luaL_argcheck(L, node >= 0 && node < s->n_node && s->node[node].kind == SRC_FUNCTION, 2,
                  "it is no function of the source");
    int block = s->node[node].why ? -1 : source_child(s, (int)node, ROLE_BODY);
    if (block < 0) return lua_pushnil(L), 1;
    lua_newtable(L);
    push_statement(L, s, block, lua_gettop(L));
    lua_insert(L, -2);
    return 2;
}

/* s:globals() */
static int globals(lua_State *L) {
    const Source *s = check_source(L);
    int count = 0;
    lua_newtable(L);
    for (int i = 0; i < s->n_node; i++) {
        if (s->node[i].kind != SRC_DECLARATION || !is_free(s, i)) continue;
        for (int c = s->node[i].child; c >= 0; c = s->node[c].next) {
            if (s->decl[s->node[c].decl].function) continue;
            push_declared(L, s, c);
            lua_rawseti(L, -2, ++count);
        }
    }
    return 1;
}

/* s:declarations() */
static int declarations(lua_State *L) {
    const Source *s = check_source(L);
    lua_newtable(L);
    for (int i = 0; i < s->n_decl; i++) {
        push_declared(L, s, s->decl[i].node);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* s:words() */
static int words(lua_State *L) {
    static const char *const kinds[] = {
        [TOK_NAME] = "name", [TOK_NUMBER] = "number", [TOK_STRING] = "string",
        [TOK_CHAR] = "char", [TOK_PUNCT] = "punct",   [TOK_DIRECTIVE] = "directive",
        [TOK_BAD] = "bad",
    };
    static const char *const lists[] = {"kind", "match", "line", "first", "last"};
    const Source *s = check_source(L);
    lua_settop(L, 1);
    lua_createtable(L, s->tokens.n, 5); /* 2: the words; 3 to 7: lists */
    for (int k = 0; k < 5; k++) lua_createtable(L, s->tokens.n, 0);
    for (int i = 0; i < s->tokens.n; i++) {
        const SourceToken *t = &s->tokens.v[i];
        const lua_Integer numbers[] = {t->match + 1, t->line, t->start + 1, t->end};
        push_words(L, s, i, i, false);
        lua_rawseti(L, 2, i + 1);
        lua_pushstring(L, kinds[t->kind]);
        lua_rawseti(L, 3, i + 1);
        for (int k = 0; k < 4; k++) {
            if (k == 0 && t->match < 0) continue;
            lua_pushinteger(L, numbers[k]);
            lua_rawseti(L, 4 + k, i + 1);
        }
    }
    for (int k = 5; k > 0; k--) lua_setfield(L, 2, lists[k - 1]);
    return 1;
}

/* s:unknown() */
static int unknown(lua_State *L) {
    const Source *s = check_source(L);
    int count = 0;
    lua_newtable(L);
    for (int i = 0; i < s->n_node; i++) {
        if (s->node[i].why == NULL || s->node[i].kind == SRC_FUNCTION) continue;
        push_node(L, s, i);
        set_why(L, &s->node[i]);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* Puts what a type's name stands for, on top, into the table below it. */
static void set_meaning(lua_State *L, const Source *s, int name) {
    if (name >= 0) lua_setfield(L, -2, source_word(s, name));
    else lua_pop(L, 1); /* what it stands for */
}

static void push_braces(lua_State *L, int open, int close) {
    lua_createtable(L, 0, 2);
    set_token(L, "open", open);
    set_token(L, "close", close);
}

/* s:types() */
static int types(lua_State *L) {
    const Source *s = check_source(L);
    lua_newtable(L);
    for (int i = 0; i < s->tokens.n; i++)
        if (source_declares_type(s, i)) set_flag(L, source_word(s, i), true);
    for (int i = 0; i < s->n_node; i++) {
        const SourceNode *n = &s->node[i];
        if (n->kind == SRC_TYPE && n->open >= 0) {
            push_words(L, s, n->open, n->close, true);
            set_meaning(L, s, n->token);
        } else if (n->kind == SRC_CLASS) {
            push_braces(L, n->open, n->close);
            set_meaning(L, s, source_is_storage(s, n->token) ? -1 : n->token);
            push_braces(L, n->open, n->close);
            set_meaning(L, s, source_is(s, n->first, "typedef") ? n->last - 1 : -1);
        }
    }
    return 1;
}

/* s:classes() */
static int classes(lua_State *L) {
    const Source *s = check_source(L);
    int count = 0;
    lua_newtable(L);
    for (int i = 0; i < s->n_node; i++) {
        const SourceNode *n = &s->node[i];
        int items = 0;
        if (n->kind != SRC_CLASS || source_is(s, n->semi1, "enum")) continue;
        push_node(L, s, i);
        set_int(L, "node", i);
        set_string(L, "tag", source_word(s, n->semi1));
        set_token(L, "at", n->semi1);
        if (n->token != n->semi1) set_string(L, "name", source_word(s, n->token));
        set_token(L, "open", n->open);
        set_token(L, "close", n->close);
        for (int c = n->child; c >= 0; c = s->node[c].next) {
            if (s->node[c].role != ROLE_ITEM) continue;
            push_node(L, s, c);
            set_int(L, "node", c);
            push_all_declared(L, s, c, ROLE_DECLARED, 0);
            lua_setfield(L, -2, "declared");
            lua_rawseti(L, -2, ++items);
        }
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* s:expression() */
static int expression(lua_State *L) {
    Source *s = check_source(L);
    int n_node = s->n_node, n_decl = s->n_decl;
    push_tree(L, s, source_read_expression(s));
    s->n_node = n_node; /* what was read as an expression is no part of the file's tree */
    s->n_decl = n_decl;
    return 1;
}

/* A node with its own tokens: a name or an operator, a template's arguments or a cast's type. */
static void push_part(lua_State *L, const Source *s, int node) {
    push_node(L, s, node);
    set_token(L, "token", s->node[node].token);
    set_token(L, "open", s->node[node].open);
    set_token(L, "close", s->node[node].close);
}

/* A list's next item: what was found, { first, last, kind, token, NAME = { first, last }, … }. */
static void push_match(lua_State *L, const Source *s, const SourceMatch *m) {
    push_part(L, s, m->node);
    set_flag(L, "header", source_in_header(s, m->node));
    for (int i = 0; i < m->n; i++) {
        int node = m->part[i].node, n = 0;
        SourceRole role = node < 0 ? ROLE_NONE : s->node[node].role;
        if (m->part[i].name[1] == '$') {
            lua_newtable(L);
            for (int c = node; c >= 0 && s->node[c].role == role; c = s->node[c].next) {
                push_part(L, s, c);
                lua_rawseti(L, -2, ++n);
            }
            set_token(L, "first", m->part[i].first);
            set_int(L, "last", m->part[i].last + 1);
        } else push_part(L, s, node);
        lua_setfield(L, -2, m->part[i].name + strspn(m->part[i].name, "$"));
    }
}

/* s:find(pattern) */
static int find(lua_State *L) {
    const Source *s = check_source(L);
    size_t len;
    const char *text = luaL_checklstring(L, 2, &len);
    luaL_argcheck(L, len < 10000, 2, "a pattern of ten thousand bytes");
    gi_err err = {0};
    SourcePattern pattern;
    SourceMatch m;
    int count = 0;
    Source *owned = bind_new(L, CLASS, sizeof *owned, 0); /* freed with the userdata */
    if (!source_pattern(text, (int)len, &pattern, &err)) return bind_misuse(L, &err);
    *owned = pattern.source;
    lua_newtable(L);
    for (int i = 0; i < s->n_node; i++) {
        if (!source_match(&pattern, s, i, &m)) continue;
        push_match(L, s, &m);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* s:inside(i) */
static int inside(lua_State *L) {
    const Source *s = check_source(L);
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && i <= s->tokens.n && s->tokens.v[i - 1].kind == TOK_DIRECTIVE, 2,
                  "it is no directive");
    Source *of = bind_new(L, CLASS, sizeof *of, 1);
    lua_getiuservalue(L, 1, 1);
    lua_setiuservalue(L, -2, 1);
    source_read_directive(s, (int)i - 1, of);
    return 1;
}

static int type_words(lua_State *L) {
    const char *word;
    lua_newtable(L);
    Source *s = bind_new(L, CLASS, sizeof *s, 0);
    source_read("", 0, s);
    for (int i = 0; (word = source_type_word(s, i)) != NULL; i++) {
        lua_pushboolean(L, true);
        lua_setfield(L, -3, word);
    }
    lua_pop(L, 1); /* source */
    return 1;
}

void bind_source(lua_State *L) {
    static const BindRow methods[] = {
        {"functions", functions, "source:functions([everywhere]) -> list",
         "Functions outside of types, or also those in types, each { name, kind = \"kernel\" | "
         "\"device\" | \"host\", first, token (its name), head, open, close (tokens), params, "
         "tparams (declarations), node, why }."},
        {"inside", inside, "source:inside(i) -> source",
         "The body of the macro that a directive defines, as statements: see tokens:inside."},
        {"body", body, "source:body(node) -> statement, statements | nil",
         "The tree of a function's body, and its statements in the order in which they begin."},
        {"globals", globals, "source:globals() -> list",
         "Variables that are declared outside of functions and types."},
        {"declarations", declarations, "source:declarations() -> list",
         "Every name that the text declares, parameters and members too."},
        {"unknown", unknown, "source:unknown() -> list",
         "What is not understood, or not wholly: { kind, first, last, why, why_at }."},
        {"words", words, "source:words() -> table",
         "The words of all tokens, and by the same numbers its lists kind, match, line, first and "
         "last: see gi.grammar.tokens."},
        {"types", types, "source:types() -> table",
         "The names that the text declares as types: the words that one stands for, or { open, "
         "close } of its braces, or true."},
        {"classes", classes, "source:classes() -> list",
         "Structs, classes and unions: { node, tag, at (its token), name, first, last, open, "
         "close, and a list of what is in it: { node, kind, first, last, declared } }."},
        {"find", find, "source:find(pattern) -> list",
         "The places that a pattern of C++ describes, each { kind, first, last, token, header, "
         "NAME = { kind, first, last, token, open, close }, … }: `$NAME` stands for an expression "
         "or a statement, `$$NAME` for the rest of a list, which lists them."},
        {"expression", expression, "source:expression() -> tree | nil",
         "The text as one expression."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__tostring", to_string}, {"__gc", close_source}, {"__close", close_source}, {NULL, NULL}};
    static const BindRow rows[] = {
        {"source", read_text, "gi.grammar.source(text) -> source",
         "Reads CUDA C++ as a tree of functions, declarations, statements and expressions."},
        {"type_words", type_words, "gi.grammar.type_words() -> set",
         "The words of C++ and CUDA that are types without a declaration."},
        {NULL, NULL, NULL, NULL}};
    bind_class(L, CLASS, "source:", methods, meta);
    bind_rows(L, "grammar.", rows);
}
