/* batch.c - compile_batch, see compile.h: many renamed units in one NVRTC call.
**
** A unit becomes this piece of the common source, all tags of one width so that mangled names have
** the same length whatever the unit's number:
**
**     namespace n {} namespace n__gilua0007 { using namespace n; }    headers may have one, too
**     #define saxpy saxpy__gilua0007      every top-level name; one that a header has, too, and
**                                         that the unit takes from there (cub::BlockReduce), is
**                                         written out where it is the unit's
**     #line 1 "kernel__gilua0007.cu"      log and .loc lines name the unit
**     ...                                 the source, #include lines that always count blanked
**     #undef saxpy                        and every macro that the unit itself defined
**
** The #include lines stand once at the top, where no name is redefined yet; only units with the
** same ones share a call. A unit's own header (#include "x.h") may go by macros that the unit
** defines before it: these stand before it there, too, and are undefined behind the last #include,
** for the unit defines them itself. Where NVRTC keeps compiled headers (headers.h) there is no
** #line before them, which it would not take; as they have been compiled, no message speaks of
** these lines. One under an #if stays where it is, for its condition is of the unit's macros, and
** so does a header of the unit's own behind code or behind macros that are defined under
** conditions; where the compiler comes to one in a call of several units, that call fails. Unit 0
** alone goes the same way, so that a unit's PTX never depends on its company. When a call fails the
** units that the log blames are compiled alone, which decides their fate and gives their log, and
** the rest again without them; with nobody to blame (or a third time), it is halved. So a unit that
** cannot live with others - an unclosed brace, an operator that is defined in each - costs time,
** never the others' result.
**
** To machine code the units of a call also share their constants, see shared.h.
**
** Limits: x, y, z and w are never renamed, because threadIdx.x is spelled so, nor double3 and its
** like, which a unit may define under a condition that is not met, nor pow, which overloads.h
** renames, nor atomicAdd and its like where it is defined under one; two units with such a
** top-level name end up compiled one by one.
** __COUNTER__ goes on from unit to unit.
*/
#include "compile/compile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/cubin.h"
#include "compile/inside.h"
#include "compile/log.h"
#include "compile/shared.h"
#include "compile/split.h"

enum { MAX_ROUNDS = 2 }; /* failed calls with somebody to blame before a batch is halved */

typedef struct Strings { /* owned texts */
    char **v;
    int n, cap;
} Strings;

typedef struct Unit {
    const CompileUnit *in;
    CompileResult *out;
    gi_buf source;    /* #include lines blanked, but for those under conditions */
    gi_buf includes;  /* the blanked lines, each with its #line, tagged as unit 0 */
    gi_buf defines;   /* macros behind the last of those, as they would stand there */
    bool unclear;     /* by now there is code, or a macro under a condition */
    Strings macros;   /* that the unit defines or undefines */
    Strings above;    /* those of them that stand among the includes */
    Strings foreign;  /* names that it takes from others: BlockReduce of cub:: */
    Shared constants; /* to machine code: those it has in common with the others of a call */
    KeptKey key;
} Unit;

typedef struct Batch {
    Compiler *compiler;
    const CompileOptions *options;
    CompileImages *images; /* NULL: to PTX */
    gi_err *err;
} Batch;

static void strings_add(Strings *s, const char *text, size_t len) {
    for (int i = 0; i < s->n; i++)
        if (strlen(s->v[i]) == len && memcmp(s->v[i], text, len) == 0) return;
    gi_grow(s->v, s->n, s->cap);
    s->v[s->n++] = gi_strndup(text, len);
}

static bool strings_have(const Strings *s, const char *text) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->v[i], text) == 0) return true;
    return false;
}

static void strings_free(Strings *s) {
    for (int i = 0; i < s->n; i++) free(s->v[i]);
    free(s->v);
}

/* --- reading a unit's preprocessor lines */

static const char *skip_spaces(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

/* Whether the word at p is `word`; *after gets what follows it and its blanks. */
static bool word_is(const char *p, const char *end, const char *word, const char **after) {
    size_t len = strlen(word);
    if ((size_t)(end - p) < len || memcmp(p, word, len) != 0) return false;
    if (p + len < end && gi_is_letter(p[len])) return false;
    *after = skip_spaces(p + len, end);
    return true;
}

/* Follows block comments over the line [p, end), *inside says whether one is open; true where there
** is anything outside of comments. */
static bool read_code(const char *p, const char *end, bool *inside) {
    bool code = false;
    for (; p < end; p++) {
        bool pair = p + 1 < end;
        if (*inside) {
            if (pair && p[0] == '*' && p[1] == '/') *inside = false, p++;
        } else if (p[0] == '"') {
            code = true;
            for (p++; p < end && *p != '"'; p++)
                if (*p == '\\') p++;
        } else if (pair && p[0] == '/' && p[1] == '/') {
            break;
        } else if (pair && p[0] == '/' && p[1] == '*') {
            *inside = true, p++;
        } else if (!isspace((unsigned char)*p)) {
            code = true;
        }
    }
    return code;
}

/* #line for what stands among the includes: its number, and the file of unit 0. */
#define FILE_LINE            "#line %d \"kernel%s%0*d.cu\"\n"
#define FILE_LINE_ARGS(line) (line), SPLIT_TAG, SPLIT_DIGITS, 0

/* What is open around a line. `#ifndef NAME` with `#define NAME` behind it is none: it guards
** against reading twice, or gives NAME a value that it has not yet. */
typedef struct Conditions {
    int n;
    bool given;         /* the line defines the NAME of such an #ifndef */
    const char *unless; /* NAME of an #ifndef on the line before, else NULL */
    size_t unless_len;
} Conditions;

static size_t word_length(const char *p, const char *end) {
    const char *q = p;
    while (q < end && gi_is_letter(*q)) q++;
    return (size_t)(q - p);
}

/* Follows the directive whose words are at p. */
static void follow_conditions(Conditions *c, const char *p, const char *end) {
    const char *rest, *unless = NULL;
    c->given = false;
    if (word_is(p, end, "ifndef", &rest)) {
        c->n++;
        unless = rest;
    } else if (word_is(p, end, "if", &rest) || word_is(p, end, "ifdef", &rest)) {
        c->n++;
    } else if (word_is(p, end, "endif", &rest)) {
        if (c->n > 0) c->n--;
    } else if (c->unless && word_is(p, end, "define", &rest)) {
        bool same =
            word_length(rest, end) == c->unless_len && memcmp(rest, c->unless, c->unless_len) == 0;
        if (same) c->n--, c->given = true;
    }
    c->unless = unless;
    c->unless_len = unless ? word_length(unless, end) : 0;
}

/* An #include that may not count: the macro says whether the call has several units. */
static void add_conditional(Unit *u, const char *p, const char *end, int line) {
    gi_buf_addf(&u->source,
                "#if gilua_units > 1\n#error included under a condition\n#endif\n#line %d\n%.*s",
                line, (int)(end - p), p);
}

/* Notes the line [p, end), # and all, that defines or undefines a macro. One that only an #ifndef
** gives a value does so there, too. */
static void read_macro(const char *p, const char *end, const char *name, int line,
                       const Conditions *c, Unit *u) {
    size_t len = word_length(name, end);
    if (len == 0) return;
    strings_add(&u->macros, name, len);
    if (c->n > 0) {
        u->unclear = true;
        return;
    }
    if (c->given) gi_buf_addf(&u->defines, "#ifndef %.*s\n", (int)len, name);
    gi_buf_addf(&u->defines, FILE_LINE "%.*s\n", FILE_LINE_ARGS(line), (int)(end - p), p);
    if (c->given) gi_buf_adds(&u->defines, "#endif\n");
}

/* Notes the #include [p, end) of the unit's own file or of another at `file`. */
static void read_include(const char *p, const char *end, const char *file, int line,
                         const Conditions *c, Unit *u) {
    bool own = file < end && *file == '"';
    if (c->n > 0 || (own && u->unclear)) {
        add_conditional(u, p, end, line);
        return;
    }
    if (own && u->defines.len) {
        gi_buf_add(&u->includes, u->defines.data, u->defines.len);
        gi_buf_free(&u->defines);
        for (int i = 0; i < u->macros.n; i++)
            strings_add(&u->above, u->macros.v[i], strlen(u->macros.v[i]));
    }
    gi_buf_addf(&u->includes, FILE_LINE "%.*s\n", FILE_LINE_ARGS(line), (int)(end - p), p);
}

/* Reads the directive [p, end), whose # is at p; true when it is an #include, which then stands
** where it has to. */
static bool read_directive(const char *p, const char *end, int line, Conditions *c, Unit *u) {
    const char *rest, *word = skip_spaces(p + 1, end);
    follow_conditions(c, word, end);
    if (word_is(word, end, "define", &rest) || word_is(word, end, "undef", &rest))
        read_macro(p, end, rest, line, c, u);
    else if (word_is(word, end, "include", &rest)) {
        read_include(p, end, rest, line, c, u);
        return true;
    }
    return false;
}

/* The end of the line at p, without its newline; `joined`: with those that backslashes join to it,
** which *lines counts. */
static const char *end_of_line(const char *p, const char *end, bool joined, int *lines) {
    for (;;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        *lines += 1;
        if (newline == NULL) return end;
        const char *last = newline;
        if (last > p && last[-1] == '\r') last--;
        if (!joined || last == p || last[-1] != '\\') return newline;
        p = newline + 1;
    }
}

static void read_unit(Unit *u) {
    const char *p = u->in->source, *end = p + u->in->len;
    Conditions conditions = {0};
    bool comment = false;
    for (int line = 1, lines; p < end; line += lines) {
        const char *word = skip_spaces(p, end);
        bool directive = !comment && word < end && *word == '#', include = false;
        lines = 0;
        const char *line_end = end_of_line(p, end, directive, &lines);
        if (directive) include = read_directive(word, line_end, line, &conditions, u);
        /* A directive whose comment goes on cannot stand elsewhere. */
        if (read_code(p, line_end, &comment) && (!directive || comment)) u->unclear = true;
        if (!include) gi_buf_add(&u->source, p, (size_t)(line_end - p));
        for (int i = include ? 0 : lines - 1; i < lines; i++) gi_buf_adds(&u->source, "\n");
        p = line_end < end ? line_end + 1 : end;
    }
}

static void free_unit(Unit *u) {
    gi_buf_free(&u->source);
    gi_buf_free(&u->includes);
    gi_buf_free(&u->defines);
    strings_free(&u->macros);
    strings_free(&u->above);
    strings_free(&u->foreign);
    shared_free(&u->constants);
}

/* --- the common source */

/* The value that an option gives macro `name`, "" for a bare NAME; NULL when none does. */
static const char *option_value(const CompileOptions *o, const char *name) {
    size_t len = strlen(name);
    for (int i = 0; o->defines && o->defines[i]; i++) {
        const char *d = o->defines[i];
        if (strncmp(d, name, len) != 0) continue;
        if (d[len] == '=') return d + len + 1;
        if (d[len] == '\0') return "1";
    }
    return NULL;
}

/* Is it a top-level name of the unit's? */
static bool is_named(const Unit *u, const char *name) {
    const char *const *names = u->in->names;
    for (int i = 0; names && names[i]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

/* Is a name of the unit's another name of a namespace: `namespace name = …`? */
static bool is_alias(const Unit *u, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = u->source.data; (at = strstr(at, "namespace")) != NULL;) {
        at += strlen("namespace");
        const char *word = at + strspn(at, " \t\n");
        if (word == at || strncmp(word, name, length) != 0) continue;
        const char *behind = word + length;
        behind += strspn(behind, " \t\n");
        if (*behind == '=') return true;
    }
    return false;
}

/* Is the word at [p, end) a name of the unit's own, and no other name of a namespace of others
** (`namespace cg = cooperative_groups;`)? */
static bool is_own(const Unit *u, const char *p, const char *end) {
    char *name = gi_strndup(p, (size_t)(end - p));
    const bool own = is_named(u, name) && !is_alias(u, name);
    free(name);
    return own;
}

/* The first word of `outer::inner` that ends before `at`; *end is behind it. NULL where there is no
** word: `::name` is the unit's. */
static const char *outermost(const char *text, const char *at, const char **end) {
    const char *first = NULL;
    for (;;) {
        while (at > text && isspace((unsigned char)at[-1])) at--;
        const char *last = at;
        while (at > text && gi_is_letter(at[-1])) at--;
        if (at == last) return first;
        first = at, *end = last;
        if (at < text + 2 || at[-1] != ':' || at[-2] != ':') return first;
        at -= 2;
    }
}

/* Notes the names that stand behind `other::`, where that is not the unit's: to rename these would
** ask the other for a name that it does not have. */
static void find_foreign(Unit *u) {
    const char *text = u->source.data ? u->source.data : "", *last;
    for (const char *at = text; (at = strstr(at, "::")) != NULL; at += 2) {
        const char *word = at + 2 + strspn(at + 2, " \t\n"), *end = word;
        while (gi_is_letter(*end)) end++;
        const char *first = end > word ? outermost(text, at, &last) : NULL;
        if (first && !is_own(u, first, last)) strings_add(&u->foreign, word, (size_t)(end - word));
    }
}

/* Is a name one of the compiler's functions, by its spelling: atomicAdd, __ldg? */
static bool is_builtin(const char *name) {
    return strncmp(name, "__", 2) == 0 ||
           (strncmp(name, "atomic", 6) == 0 && name[6] >= 'A' && name[6] <= 'Z');
}

static bool is_renamed(const Unit *u, const char *name, const CompileOptions *o) {
    if (name[0] && name[1] == '\0' && strchr("xyzw", name[0])) return false;
    if (gi_is_vector_type(name) || strcmp(name, "pow") == 0) return false;
    if (is_builtin(name) && !shared_stands(&u->source, name)) return false;
    if (shared_has(&u->constants, name, strlen(name))) return false;
    return !strings_have(&u->macros, name) && option_value(o, name) == NULL;
}

/* Is it renamed by a macro, wherever it stands? */
static bool is_macro(const Unit *u, const char *name, const CompileOptions *o) {
    return !strings_have(&u->foreign, name) && is_renamed(u, name, o);
}

/* Does a unit open a namespace of this name? */
static bool opens_namespace(const Unit *u, const char *name) {
    const char *at = u->source.data ? u->source.data : "";
    size_t length = strlen(name);
    while ((at = strstr(at, "namespace")) != NULL) {
        at += strlen("namespace");
        const char *word = at + strspn(at, " \t\n");
        if (word == at || strncmp(word, name, length) != 0) continue;
        const char *behind = word + length;
        behind += strspn(behind, " \t\n");
        if (*behind == '{' || (behind[0] == ':' && behind[1] == ':')) return true;
    }
    return false;
}

/* A header may open it too, under the name that it has there: the unit's sees what is in that. */
static void join_namespace(const Unit *u, const char *name, int tag, gi_buf *out) {
    if (opens_namespace(u, name))
        gi_buf_addf(out, "namespace %s {} namespace %s%s%0*d { using namespace %s; }\n", name, name,
                    SPLIT_TAG, SPLIT_DIGITS, tag, name);
}

/* Is the word at `at` behind `other::`, where that is not the unit's? */
static bool is_foreign(const Unit *u, const char *text, const char *at) {
    const char *last;
    while (at > text && isspace((unsigned char)at[-1])) at--;
    if (at < text + 2 || at[-1] != ':' || at[-2] != ':') return false;
    const char *first = outermost(text, at - 2, &last);
    return first && !is_own(u, first, last);
}

/* Writes a unit's text; of names that are others', too, its own get the tag here. */
static void add_text(const Unit *u, int tag, const CompileOptions *o, const gi_buf *text,
                     gi_buf *out) {
    const char *p = text->len ? text->data : "", *end = p + text->len, *begin = p;
    if (u->foreign.n == 0) {
        gi_buf_add(out, p, text->len);
        return;
    }
    while (p < end) {
        const char *from = p;
        while (p < end && !gi_is_letter(*p)) p++;
        gi_buf_add(out, from, (size_t)(p - from));
        from = p;
        while (p < end && gi_is_letter(*p)) p++;
        char *word = gi_strndup(from, (size_t)(p - from));
        gi_buf_adds(out, word);
        if (strings_have(&u->foreign, word) && is_named(u, word) && is_renamed(u, word, o) &&
            !is_foreign(u, begin, from))
            gi_buf_addf(out, "%s%0*d", SPLIT_TAG, SPLIT_DIGITS, tag);
        free(word);
    }
}

/* Macros are as they were: undefined, or what an option gives them. */
static void forget_macros(const Strings *macros, const CompileOptions *o, gi_buf *out) {
    for (int i = 0; i < macros->n; i++) {
        const char *value = option_value(o, macros->v[i]);
        gi_buf_addf(out, "#undef %s\n", macros->v[i]);
        if (value) gi_buf_addf(out, "#define %s %s\n", macros->v[i], value);
    }
}

static void add_unit(const Unit *u, int tag, const CompileOptions *o, gi_buf *out) {
    const char *const *names = u->in->names;
    for (int i = 0; names && names[i]; i++)
        if (is_renamed(u, names[i], o)) join_namespace(u, names[i], tag, out);
    for (int i = 0; names && names[i]; i++)
        if (is_macro(u, names[i], o))
            gi_buf_addf(out, "#define %s %s%s%0*d\n", names[i], names[i], SPLIT_TAG, SPLIT_DIGITS,
                        tag);
    gi_buf_addf(out, "#line 1 \"kernel%s%0*d.cu\"\n", SPLIT_TAG, SPLIT_DIGITS, tag);
    gi_buf text = {0};
    if (tag > 0) shared_declare(&u->constants, &u->source, &text);
    add_text(u, tag, o, tag > 0 ? &text : &u->source, out);
    gi_buf_free(&text);
    for (int i = 0; names && names[i]; i++)
        if (is_macro(u, names[i], o)) gi_buf_addf(out, "#undef %s\n", names[i]);
    forget_macros(&u->macros, o, out);
}

/* A macro that a header or the compiler defines could not be given back to the next unit as it was:
** such units have to be compiled one by one, and this makes the call fail. */
static void add_guards(const Unit *u, const CompileOptions *o, gi_buf *out) {
    for (int i = 0; i < u->macros.n; i++)
        if (option_value(o, u->macros.v[i]) == NULL)
            gi_buf_addf(out, "#ifdef %s\n#error %s is defined outside the unit\n#endif\n",
                        u->macros.v[i], u->macros.v[i]);
}

/* Every call has this kernel. Found by trial with NVRTC 13.0: beside a kernel that stores a float4
** made of parts, other kernels lose dead stores that they keep when they are alone or beside
** kernels without one. With it, 1 unit in 100 that was compiled otherwise alone than in a batch is
** the same. */
static const char *const companion =
    "#line 1 \"gilua.cu\"\n"
    "extern \"C\" __global__ void gilua_companion(float4 *gilua_p, int gilua_n) {\n"
    "    *gilua_p = make_float4(gilua_n, 1, 1, 1);\n}\n";

/* The units' #include lines without their numbers. */
static void add_plain_includes(const Unit *u, gi_buf *out) {
    const char *p = u->includes.data, *end = p + u->includes.len;
    while (p < end) {
        const char *next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
        if (strncmp(p, "#line ", 6) != 0) gi_buf_add(out, p, (size_t)(next - p));
        p = next;
    }
}

static void make_source(Unit *const *units, int n, const CompileOptions *o, const gi_buf *includes,
                        gi_buf *out) {
    if (includes->len) gi_buf_add(out, includes->data, includes->len);
    forget_macros(&units[0]->above, o, out);
    gi_buf_adds(out, companion);
    gi_buf_addf(out, "#define gilua_units %d\n", n);
    for (int i = 0; i < n && n > 1; i++) add_guards(units[i], o, out);
    for (int i = 0; i < n; i++) add_unit(units[i], i, o, out);
}

/* --- results */

/* Adds the blocks of the log that are about the file of unit `tag` to its log, untagged. */
static void add_own_log(const char *log, int tag, gi_buf *out) {
    char file[64];
    LogBlock b;
    snprintf(file, sizeof file, "kernel%s%0*d.cu", SPLIT_TAG, SPLIT_DIGITS, tag);
    while (log_next(&log, &b))
        if (b.file && b.file_len == strlen(file) && memcmp(b.file, file, b.file_len) == 0)
            split_untag(b.start, (size_t)(b.end - b.start), out);
}

static const char *text_of(const gi_buf *b) {
    return b->len ? b->data : "";
}

/* Whether [p, end), a declaration outside functions in PTX, gives the code something whose place
** depends on what else is in the image: a variable that is not common to all units, or a function
** that the driver adds. */
static bool has_own_place(const Unit *u, const char *p, const char *end) {
    bool variable = false, external = false, function = false;
    for (const char *word = p; word < end;) {
        while (word < end && !gi_is_letter(*word) && *word != '.' && *word != '$') word++;
        const char *start = word;
        while (word < end && (gi_is_letter(*word) || *word == '.' || *word == '$')) word++;
        size_t len = (size_t)(word - start);
        if (len == 7 && memcmp(start, ".global", 7) == 0) return true;
        variable = variable || (len == 6 && memcmp(start, ".const", 6) == 0);
        external = external || (len == 7 && memcmp(start, ".extern", 7) == 0);
        function = function || (len == 5 && memcmp(start, ".func", 5) == 0);
        if (variable && len && shared_has(&u->constants, start, len)) return false;
    }
    return variable || (external && function);
}

/* Declarations outside functions are what begins a line with a full stop. */
static bool has_own_places(const Unit *u, const gi_buf *ptx) {
    const char *p = text_of(ptx), *end = p + ptx->len;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        if (*p == '.' && has_own_place(u, p, line_end)) return true;
        p = newline ? newline + 1 : end;
    }
    return false;
}

/* What stands for the code's hash where the code differs from image to image: the PTX without its
** source lines, and all that decides what becomes of it. */
static uint64_t hash_of_ptx(const CompileOptions *o, const gi_buf *ptx) {
    uint64_t hash = gi_hash(o->target, strlen(o->target) + 1, 0);
    for (int i = 0; o->options && o->options[i]; i++)
        hash = gi_hash(o->options[i], strlen(o->options[i]) + 1, hash);
    const char *p = text_of(ptx), *end = p + ptx->len;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *ignored;
        const char *line_end = newline ? newline : end, *word = skip_spaces(p, line_end);
        if (!word_is(word, line_end, ".loc", &ignored) &&
            !word_is(word, line_end, ".file", &ignored))
            hash = gi_hash(p, (size_t)(line_end - p), hash);
        p = newline ? newline + 1 : end;
    }
    return hash;
}

/* Where the unit is in the machine code of its call. */
static void give_place(const Batch *b, const Unit *u, int tag, const gi_buf *image) {
    CompileResult *out = u->out;
    gi_buf kernel = {0};
    snprintf(out->tag, sizeof out->tag, "%s%0*d", SPLIT_TAG, SPLIT_DIGITS, tag);
    gi_buf_addf(&kernel, "%s%s", u->in->kernel ? u->in->kernel : "", out->tag);
    out->image = b->images->n;
    if (!cubin_code_hash(image->data, image->len, kernel.data,
                         (const char *const *)u->constants.names, &out->code_hash, NULL))
        out->code_hash = 0;
    else if (has_own_places(u, &out->code)) out->code_hash = hash_of_ptx(b->options, &out->code);
    gi_buf_free(&kernel);
}

/* The call's machine code becomes the last of the images. */
static void give_image(Batch *b, Unit *const *units, int n, CompileResult *r) {
    CompileImages *all = b->images;
    for (int i = 0; i < n; i++) give_place(b, units[i], i, &r->code);
    gi_grow(all->v, all->n, all->cap);
    all->v[all->n++] = r->code;
    r->code = (gi_buf){0};
}

static void give_results(Batch *b, Unit *const *units, int n, CompileResult *r) {
    const gi_buf *ptx = b->images ? &r->ptx : &r->code;
    gi_buf **codes = gi_alloc((size_t)n * sizeof *codes);
    for (int i = 0; i < n; i++) codes[i] = &units[i]->out->code;
    split_ptx(text_of(ptx), ptx->len, n, codes);
    if (b->images) give_image(b, units, n, r);
    for (int i = 0; i < n; i++) {
        CompileResult *out = units[i]->out;
        out->ok = true;
        add_own_log(text_of(&r->log), i, &out->log);
        log_messages(text_of(&out->log), "kernel.cu", out);
    }
    free(codes);
}

/* A unit that fails alone: the whole log is its own. */
static void give_failure(CompileResult *out, const CompileResult *r) {
    out->ok = false;
    split_untag(text_of(&r->log), r->log.len, &out->log);
    log_messages(text_of(&out->log), "kernel.cu", out);
}

/* --- calls */

/* Moves the units that the log has errors for to the end; returns how many. */
static int blame(Unit **units, int n, const char *log) {
    LogBlock b;
    bool *guilty = gi_alloc((size_t)n * sizeof *guilty);
    Unit **order = gi_alloc((size_t)n * sizeof *order);
    int innocent = 0, last = n;
    const size_t before = strlen("kernel" SPLIT_TAG);
    while (log_next(&log, &b)) {
        if (b.kind != LOG_ERROR || b.file == NULL || b.file_len <= before) continue;
        if (strncmp(b.file, "kernel" SPLIT_TAG, before) != 0) continue;
        int tag = atoi(b.file + before);
        if (tag < n) guilty[tag] = true;
    }
    for (int i = 0; i < n; i++) order[guilty[i] ? --last : innocent++] = units[i];
    memcpy(units, order, (size_t)n * sizeof *order);
    free(guilty);
    free(order);
    return n - innocent;
}

static bool compile_units(Batch *b, Unit **units, int n, int round);

/* One call failed: the blamed are tried alone, the others together; or two halves. */
static bool compile_apart(Batch *b, Unit **units, int n, const char *log, int round) {
    int guilty = round < MAX_ROUNDS ? blame(units, n, log) : 0;
    if (guilty == 0)
        return compile_units(b, units, n / 2, 0) && compile_units(b, units + n / 2, n - n / 2, 0);
    for (int i = n - guilty; i < n; i++)
        if (!compile_units(b, units + i, 1, 0)) return false;
    return compile_units(b, units, n - guilty, round + 1);
}

/* Has NVRTC compile units, behind headers that it keeps or not. */
static bool call_nvrtc(Batch *b, Unit *const *units, int n, CompileResult *r) {
    gi_buf source = {0}, plain = {0};
    const char *headers = NULL;
    if (units[0]->includes.len) {
        add_plain_includes(units[0], &plain);
        headers = compile_headers(b->compiler, plain.data, "gilua.cu", b->options, n > 1);
    }
    make_source(units, n, b->options, headers ? &plain : &units[0]->includes, &source);
    bool done = compile_behind(b->compiler, source.data, source.len, "gilua.cu", b->options,
                               headers, r, b->err);
    gi_buf_free(&source);
    gi_buf_free(&plain);
    return done;
}

static bool compile_units(Batch *b, Unit **units, int n, int round) {
    CompileResult r = {0};
    if (n == 0) return true;
    bool done = call_nvrtc(b, units, n, &r);
    if (!done) return false;
    if (r.ok) give_results(b, units, n, &r);
    else if (n == 1) give_failure(units[0]->out, &r);
    else done = compile_apart(b, units, n, text_of(&r.log), round);
    compile_result_free(&r);
    return done;
}

static bool can_share_a_call(const Unit *a, const Unit *b) {
    return a->includes.len == b->includes.len &&
           memcmp(text_of(&a->includes), text_of(&b->includes), a->includes.len) == 0 &&
           shared_equal(&a->constants, &b->constants);
}

/* Takes the units together that have the first one's #include lines and constants, leaving the
** others. */
static int take_group(Unit **left, int *n_left, Unit **group) {
    int n = 0, kept = 0;
    const Unit *first = left[0];
    for (int i = 0; i < *n_left; i++) {
        if (n < SPLIT_MAX && can_share_a_call(first, left[i])) group[n++] = left[i];
        else left[kept++] = left[i];
    }
    *n_left = kept;
    return n;
}

/* Has an earlier call, in whatever company, left what comes of the unit? The key is that of a call
** with the unit alone, under a name that compile_one gives no source. */
static bool is_kept(const Batch *b, Unit *u) {
    if (b->images || compile_kept_folder() == NULL) return false;
    gi_buf source = {0};
    make_source(&u, 1, b->options, &u->includes, &source);
    bool kept = compile_kept(b->compiler, source.data, source.len, "-kernel.cu", b->options,
                             &u->key, u->out);
    gi_buf_free(&source);
    return kept;
}

bool compile_batch(Compiler *c, const CompileUnit *units, int n, const CompileOptions *options,
                   CompileResult *out, CompileImages *images, gi_err *err) {
    bool machine_code = strncmp(options->target, "sm_", 3) == 0;
    if (machine_code != (images != NULL))
        return gi_fail(err, "usage", "a batch compiled to '%s' %s", options->target,
                       machine_code ? "needs a place for its machine code" : "has no machine code");
    Batch b = {c, options, images, err};
    Unit *all = gi_alloc((size_t)n * sizeof *all);
    Unit **left = gi_alloc((size_t)n * sizeof *left), **group = gi_alloc((size_t)n * sizeof *group);
    CompileResult *results = gi_alloc((size_t)n * sizeof *results);
    int n_left = 0;
    bool done = true;
    for (int i = 0; i < n; i++) {
        all[i] = (Unit){.in = &units[i], .out = &results[i]};
        read_unit(&all[i]);
        find_foreign(&all[i]);
        if (machine_code) shared_find(&all[i].source, units[i].names, &all[i].constants);
        if (!is_kept(&b, &all[i])) left[n_left++] = &all[i];
    }
    while (done && n_left > 0) {
        int n_group = take_group(left, &n_left, group);
        done = compile_units(&b, group, n_group, 0);
        for (int i = 0; done && i < n_group; i++) compile_keep(c, &group[i]->key, group[i]->out);
    }
    for (int i = 0; i < n; i++) {
        if (!done) compile_result_free(&results[i]);
        else out[i] = results[i];
        free_unit(&all[i]);
    }
    free(all);
    free(left);
    free(group);
    free(results);
    return done;
}

void compile_images_free(CompileImages *images) {
    for (int i = 0; i < images->n; i++) gi_buf_free(&images->v[i]);
    free(images->v);
    *images = (CompileImages){0};
}
