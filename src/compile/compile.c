/* compile.c - see compile.h. One source through NVRTC; batches are in batch.c. */
#include "compile/compile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/headers.h"
#include "compile/inside.h"
#include "compile/library.h"
#include "compile/log.h"
#include "compile/overloads.h"
#include "compile/reach.h"

struct Compiler {
    Library nvrtc;
    int major, minor;
    int *targets;  /* 0-ended */
    bool no_cache; /* this NVRTC knows --no-cache (as far as we have seen) */
    char *trouble; /* see compile_trouble */
    Headers headers;
    char *standing; /* a folder of headers that stay as they are; NULL: CUDA's alone do */
    int spared; /* see compile_spared */
};

typedef struct Options { /* what NVRTC is given: owned strings */
    char **v;
    int n, cap;
} Options;

Compiler *compile_open(gi_err *err) {
    Library nvrtc;
    if (!library_open(&nvrtc, err)) return NULL;
    Compiler *c = gi_alloc(sizeof *c);
    int n = 0;
    c->nvrtc = nvrtc;
    c->no_cache = true;
    nvrtc.version(&c->major, &c->minor);
    nvrtc.num_archs(&n);
    c->targets = gi_alloc((size_t)(n + 1) * sizeof *c->targets);
    nvrtc.archs(c->targets);
    return c;
}

void compile_close(Compiler *c) {
    if (c == NULL) return;
    library_close(&c->nvrtc);
    headers_free(&c->headers);
    free(c->standing);
    free(c->targets);
    free(c->trouble);
    free(c);
}

bool compile_can_keep_headers(const Compiler *c) {
    return c->nvrtc.headers_status != NULL;
}

bool compile_keep_headers(Compiler *c, const char *standing) {
    const char *folder = getenv("TMPDIR");
    if (!compile_can_keep_headers(c) || folder == NULL) return false;
    if (c->headers.folder == NULL) c->headers.folder = gi_strdup(folder);
    free(c->standing);
    c->standing = standing ? gi_strdup(standing) : NULL;
    return true;
}

int compile_spared(const Compiler *c) {
    return c->spared;
}

const char *compile_trouble(const Compiler *c) {
    return c->trouble;
}

const char *compile_path(const Compiler *c) {
    return c->nvrtc.path;
}

const char *const *compile_includes(const Compiler *c) {
    return (const char *const *)c->nvrtc.includes;
}

void compile_version(const Compiler *c, int *major, int *minor) {
    *major = c->major;
    *minor = c->minor;
}

const int *compile_targets(const Compiler *c) {
    return c->targets;
}

void compile_result_free(CompileResult *r) {
    gi_buf_free(&r->code);
    gi_buf_free(&r->ptx);
    gi_buf_free(&r->log);
    for (int i = 0; i < r->n_messages; i++) free(r->messages[i].text);
    free(r->messages);
    *r = (CompileResult){0};
}

static void add_option(Options *o, const char *flag, const char *value) {
    gi_buf text = {0};
    gi_buf_addf(&text, "%s%s", flag, value);
    gi_grow(o->v, o->n, o->cap);
    o->v[o->n++] = text.data;
}

static void add_options(Options *o, const char *flag, const char *const *values) {
    for (int i = 0; values && values[i]; i++) add_option(o, flag, values[i]);
}

static void free_options(Options *o) {
    for (int i = 0; i < o->n; i++) free(o->v[i]);
    free(o->v);
    *o = (Options){0};
}

static bool to_ptx(const CompileOptions *o) {
    return strncmp(o->target, "sm_", 3) != 0;
}

/* NVRTC 13's options that make it write files where they say, or believe a file of compiled
** headers; found by trying those that its library names. */
static bool touches_files(const char *option) {
    static const char *const names[] = {"time",    "fdevice-time-trace", "pch", "create-pch",
                                        "use-pch", "pch-dir",            NULL};
    option += strspn(option, "- \t\n\v\f\r"); /* NVRTC skips blanks */
    const size_t len = strcspn(option, "= \t");
    for (int i = 0; names[i]; i++) {
        size_t k = 0;
        while (k < len && (option[k] == '_' ? '-' : option[k]) == names[i][k]) k++;
        if (k == len && names[i][k] == '\0') return true;
    }
    return false;
}

static bool check_options(const CompileOptions *o, gi_err *err) {
    for (int i = 0; o->options && o->options[i]; i++)
        if (touches_files(o->options[i]))
            return gi_fail(err, "usage",
                           "the compiler's option %s writes or reads files of its own: it is "
                           "refused (docs/security.md)",
                           o->options[i]);
    return true;
}

/* Spellings of GCC's that nvcc takes, and NVRTC does not. */
static const char *const gnu_words[] = {"__const=const",       "__const__=const", "__signed=signed",
                                        "__signed__=signed",   "__extension__=",
                                        "__volatile=volatile", NULL};

static void make_options(const Compiler *c, const CompileOptions *o, Options *out) {
    const char *arch = strcmp(o->target, "ptx") == 0 ? COMPILE_PTX_ARCH : o->target;
    add_option(out, "--gpu-architecture=", arch);
    if (c->no_cache) add_option(out, "--no-cache", ""); /* keep out of the user's ~/.nv */
    if (o->line_info) add_option(out, "--generate-line-info", "");
    add_option(out, "--pre-include=", OVERLOADS_NAME);
    add_options(out, "-D", gnu_words);
    add_options(out, "-D", o->defines);
    add_options(out, "", o->options);
    add_options(out, "-I", o->includes);
    add_options(out, "-I", compile_includes(c));
}

static void get_text(int (*size)(Program *, size_t *), int (*get)(Program *, char *), Program *p,
                     gi_buf *out) {
    size_t n = 0;
    if (size(p, &n) != NVRTC_OK || n == 0) return;
    char *text = gi_alloc(n + 1);
    if (get(p, text) == NVRTC_OK) gi_buf_add(out, text, n);
    free(text);
}

/* NVRTC counts the final NUL of its texts. */
static void drop_nul(gi_buf *b) {
    while (b->len && b->data[b->len - 1] == '\0') b->len--;
}

static void get_code(const Library *l, Program *p, bool ptx, gi_buf *out) {
    get_text(ptx ? l->ptx_size : l->cubin_size, ptx ? l->ptx : l->cubin, p, out);
    if (ptx) drop_nul(out);
}

/* Where a source is whose name says no folder: NVRTC looks for `#include "x.h"` beside it first,
** and were that the current folder, it would take what lies there in place of what the options
** name. */
#define NOWHERE "/dev/null/"

/* The overloads that a source may call, by its own words and by those of the options. */
static void write_overloads(const char *text, const CompileOptions *o, gi_buf *out) {
    bool wanted[OVERLOADS_MOST] = {false};
    overloads_note(text, wanted);
    for (int i = 0; o->defines && o->defines[i]; i++) overloads_note(o->defines[i], wanted);
    for (int i = 0; o->options && o->options[i]; i++)
        if (strncmp(o->options[i], "-I", 2) != 0) overloads_note(o->options[i], wanted);
    overloads_write(wanted, out);
}

/* What a source is called for NVRTC. */
static void add_name(gi_buf *out, const char *name) {
    gi_buf_addf(out, "%s%s", strchr(name, '/') ? "" : NOWHERE, name);
}

static int create_program(const Library *l, const char *text, const char *name,
                          const CompileOptions *o, Program **p) {
    static const char *const names[] = {OVERLOADS_NAME};
    gi_buf path = {0}, overloads = {0};
    add_name(&path, name);
    write_overloads(text, o, &overloads);
    int result = l->create(p, text, path.data, 1, (const char *const *)&overloads.data, names);
    gi_buf_free(&path);
    gi_buf_free(&overloads);
    return result;
}

void compile_replace(gi_buf *out, const char *text, const char *word, const char *by) {
    const char *place;
    while ((place = strstr(text, word)) != NULL) {
        gi_buf_add(out, text, (size_t)(place - text));
        gi_buf_adds(out, by);
        text = place + strlen(word);
    }
    gi_buf_adds(out, text);
}

/* What NVRTC says, with sources and functions by their names. */
static void get_log(const Library *l, Program *p, gi_buf *log) {
    gi_buf said = {0}, placed = {0}, named = {0};
    get_text(l->log_size, l->log, p, &said);
    drop_nul(&said);
    gi_buf_adds(&said, "");
    compile_replace(&placed, said.data, NOWHERE, "");
    compile_replace(&named, placed.data, OVERLOADS_POW, "pow");
    gi_printable(log, named.data, named.len); /* it quotes lines of the source */
    gi_buf_free(&said);
    gi_buf_free(&placed);
    gi_buf_free(&named);
}

/* Compiles p, with one more option unless it is NULL; the first time that --no-cache is refused,
** again without it. */
static int compile_program(Compiler *c, Program *p, const CompileOptions *o, const char *more,
                           gi_buf *log) {
    Options options = {0};
    make_options(c, o, &options);
    if (more) add_option(&options, more, "");
    int result = reach_compile(&c->nvrtc, p, options.n, (const char *const *)options.v);
    free_options(&options);
    gi_buf_clear(log);
    get_log(&c->nvrtc, p, log);
    bool about_cache = log->len && strstr(log->data, "no-cache");
    if (result == NVRTC_INVALID_OPTION && c->no_cache && about_cache) {
        c->no_cache = false;
        return compile_program(c, p, o, more, log);
    }
    return result;
}

/* What NVRTC's refusal of an option reads like: its first log line, without its name. */
static bool fail_option(const CompileOptions *o, const gi_buf *log, gi_err *err) {
    LogBlock b;
    const char *p = log->len ? log->data : "";
    char *text = log_next(&p, &b) ? log_text(&b) : gi_strdup("invalid option");
    gi_fail(err, "usage", "NVRTC refuses the options (target '%s'): %s", o->target, text);
    free(text);
    return false;
}

static void note_trouble(Compiler *c, const char *text) {
    if (c->trouble == NULL) c->trouble = gi_strdup(text);
}

/* An error that is not about the source, as the parts of NVRTC word it in the first line of theirs;
** those that follow show the source. */
static bool is_own_failure(const char *line) {
    static const char *const words[] = {"internal error", "out of memory", "insufficient memory",
                                        "emory allocation fail"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(line, words[i])) return true;
    return false;
}

static void look_for_trouble(Compiler *c, const char *log) {
    LogBlock b;
    while (log_next(&log, &b)) {
        char *line = gi_strndup(b.start, strcspn(b.start, "\n"));
        if (b.kind == LOG_ERROR && is_own_failure(line)) note_trouble(c, line);
        free(line);
    }
}

/* --- headers that are compiled before */

typedef struct Folders { /* where an #include is looked for */
    const CompileOptions *options;
    const char *const *own; /* CUDA's */
    const char *standing; /* see compile_keep_headers */
} Folders;

static bool is_in(const char *folder, const char *name) {
    gi_buf path = {0};
    gi_buf_addf(&path, "%s/%s", folder, name);
    const bool there = access(path.data, F_OK) == 0;
    gi_buf_free(&path);
    return there;
}

/* The first folder of the options' that has a file; NULL where it is in none of them. */
static const char *folder_with(const CompileOptions *o, const char *name) {
    for (int i = 0; o->options && o->options[i]; i++) {
        const char *folder = reach_path(o->options[i]);
        if (folder && is_in(folder, name)) return folder;
    }
    for (int i = 0; o->includes && o->includes[i]; i++)
        if (is_in(o->includes[i], name)) return o->includes[i];
    return NULL;
}

/* The path of a header of those that come with us; NULL for another. */
static char *standing_file(const void *context, const char *name) {
    const Folders *f = context;
    const char *folder = folder_with(f->options, name);
    if (folder == NULL || f->standing == NULL || strcmp(folder, f->standing) != 0) return NULL;
    gi_buf path = {0};
    gi_buf_addf(&path, "%s/%s", folder, name);
    return path.data;
}

typedef struct Making { /* of one image, see headers.h */
    Compiler *compiler;
    const char *text, *name;
    const CompileOptions *options;
} Making;

static bool make_headers(void *context, const char *option, gi_buf *said) {
    const Making *m = context;
    const Folders folders = {m->options, NULL, m->compiler->standing};
    if (headers_are_small(m->text, standing_file, &folders)) return false;
    Program *p = NULL;
    gi_buf log = {0}, place = {0};
    const Library *l = &m->compiler->nvrtc;
    bool made = create_program(l, m->text, m->name, m->options, &p) == NVRTC_OK &&
                compile_program(m->compiler, p, m->options, option, &log) == NVRTC_OK &&
                l->headers_status(p) == NVRTC_OK;
    const char *text = log.len ? log.data : "", *line, *rest;
    if (!made) look_for_trouble(m->compiler, text);
    gi_buf_addf(&place, "%s(", m->name); /* a line of the source may be another's in the next one */
    made = made && headers_line(text, &line, &rest) && strstr(text, place.data) == NULL &&
           rest[strspn(rest, " \n")] == '\0';
    if (made) gi_buf_add(said, text, (size_t)(line - text));
    if (p) l->destroy(&p);
    gi_buf_free(&log);
    gi_buf_free(&place);
    return made;
}

const char *compile_headers(Compiler *c, const char *text, const char *name,
                            const CompileOptions *options, bool eager) {
    if (c->headers.folder == NULL || !check_options(options, NULL)) return NULL;
    Making making = {c, text, name, options};
    Options all = {0};
    gi_buf key = {0};
    make_options(c, options, &all);
    for (int i = 0; i < all.n; i++) gi_buf_addf(&key, "%s\n", all.v[i]);
    gi_buf_addf(&key, "%s", text);
    const char *option =
        headers_option(&c->headers, key.data, key.len, eager, make_headers, &making);
    gi_buf_free(&key);
    free_options(&all);
    return option;
}

/* Compiles behind headers; where NVRTC does not take them, as if there were none. */
static int compile_either(Compiler *c, Program *p, const CompileOptions *o, const char *headers,
                          gi_buf *log) {
    int result = compile_program(c, p, o, headers, log);
    if (headers == NULL) return result;
    gi_buf whole = {0};
    if (!headers_log(&c->headers, headers, log->len ? log->data : "", &whole)) {
        headers_refuse(&c->headers, headers);
        return compile_program(c, p, o, NULL, log);
    }
    c->spared++;
    gi_buf_free(log);
    *log = whole;
    return result;
}

bool compile_behind(Compiler *c, const char *source, size_t len, const char *name,
                    const CompileOptions *options, const char *headers, CompileResult *out,
                    gi_err *err) {
    if (memchr(source, '\0', len))
        return gi_fail(err, "usage", "the source %s has a zero byte in it: it is not text", name);
    if (!check_options(options, err)) return false;
    Program *p = NULL;
    CompileResult r = {0};
    char *text = gi_strndup(source, len);
    int result = create_program(&c->nvrtc, text, name, options, &p);
    if (result == NVRTC_OK) result = compile_either(c, p, options, headers, &r.log);
    r.ok = result == NVRTC_OK;
    if (r.ok) get_code(&c->nvrtc, p, to_ptx(options), &r.code);
    if (r.ok && !to_ptx(options)) get_code(&c->nvrtc, p, true, &r.ptx);
    if (p) c->nvrtc.destroy(&p);
    free(text);
    if (r.ok || result == NVRTC_COMPILATION) {
        log_messages(r.log.len ? r.log.data : "", name, &r);
        look_for_trouble(c, r.log.len ? r.log.data : "");
        *out = r;
        return true;
    }
    if (result == NVRTC_INVALID_OPTION) {
        fail_option(options, &r.log, err);
    } else {
        note_trouble(c, c->nvrtc.error_string(result));
        gi_fail(err, "driver", "NVRTC failed on %s: %s", name, c->nvrtc.error_string(result));
    }
    compile_result_free(&r);
    return false;
}

/* --- results that are kept */

bool compile_kept(Compiler *c, const char *source, size_t len, const char *name,
                  const CompileOptions *options, KeptKey *key, CompileResult *out) {
    *key = (KeptKey){""};
    if (compile_kept_folder() == NULL || !to_ptx(options) || memchr(source, '\0', len))
        return false;
    Options all = {0};
    gi_buf path = {0}, given = {0};
    char *text = gi_strndup(source, len);
    make_options(c, options, &all);
    add_name(&path, name);
    write_overloads(text, options, &given);
    gi_buf_addf(&given, "\n%s", text);
    *key = kept_key(c->nvrtc.path, compile_includes(c), all.n, (const char *const *)all.v,
                    path.data, given.data);
    gi_buf_free(&path);
    free_options(&all);
    gi_buf_free(&given);
    free(text);
    if (!kept_read(key, out)) return false;
    log_messages(out->log.len ? out->log.data : "", name + (*name == '-'), out);
    return true;
}

void compile_keep(const Compiler *c, const KeptKey *key, const CompileResult *r) {
    if (key->hex[0] && c->trouble == NULL) kept_write(key, r);
}

/* A header that stays as it is: others may be written anew between two sources. */
static bool stays(const void *context, const char *name) {
    const Folders *f = context;
    const char *folder = folder_with(f->options, name);
    if (folder) return f->standing && strcmp(folder, f->standing) == 0;
    for (int i = 0; f->own[i]; i++)
        if (is_in(f->own[i], name)) return true;
    return false;
}

bool compile_one(Compiler *c, const char *source, size_t len, const char *name,
                 const CompileOptions *options, CompileResult *out, gi_err *err) {
    KeptKey key;
    const char *headers = NULL;
    const Folders folders = {options, compile_includes(c), c->standing};
    while (*name == '-') name++; /* NVRTC would take such a name for an option */
    if (compile_kept(c, source, len, name, options, &key, out)) return true;
    if (c->headers.folder && c->nvrtc.includes[0]) {
        char *text = gi_strndup(source, len);
        text[headers_length(text, stays, &folders)] = '\0';
        if (*text) headers = compile_headers(c, text, name, options, false);
        free(text);
    }
    const bool done = compile_behind(c, source, len, name, options, headers, out, err);
    if (done) compile_keep(c, &key, out);
    return done;
}
