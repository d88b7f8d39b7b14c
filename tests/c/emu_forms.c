/* emu_forms.c - the virtual GPU takes every instruction form that real kernels use.
**
** tests/data/ptx_forms.txt counts the forms of 746 real kernels. For each form in three or more of
** them - tensor cores, asynchronous copies and clusters aside - a kernel with that instruction is
** made from the form's own words and must load.
*/
#include "emu_kit.h"

enum { REQUIRED_FILES = 3 };

/* What follows the opcode, one letter an operand:
**   T  register of the form's last type     U  of the type before it     W  twice as wide as T
**   a l f p  a b32, b64, f32 register, a predicate     other characters stand for themselves */
static const struct {
    const char *opcode, *operands;
} shapes[] = {
    {"mov", "T,T"},
    {"add", "T,T,T"},
    {"addc", "T,T,T"},
    {"sub", "T,T,T"},
    {"subc", "T,T,T"},
    {"mul", "T,T,T"},
    {"mul24", "T,T,T"},
    {"mad", "T,T,T,T"},
    {"madc", "T,T,T,T"},
    {"fma", "T,T,T,T"},
    {"div", "T,T,T"},
    {"rem", "T,T,T"},
    {"min", "T,T,T"},
    {"max", "T,T,T"},
    {"and", "T,T,T"},
    {"or", "T,T,T"},
    {"xor", "T,T,T"},
    {"not", "T,T"},
    {"neg", "T,T"},
    {"abs", "T,T"},
    {"shl", "T,T,a"},
    {"shr", "T,T,a"},
    {"setp", "p,T,T"},
    {"selp", "T,T,T,p"},
    {"cvt", "U,T"},
    {"cvta", "l,l"},
    {"sqrt", "T,T"},
    {"rsqrt", "T,T"},
    {"rcp", "T,T"},
    {"ex2", "T,T"},
    {"lg2", "T,T"},
    {"sin", "T,T"},
    {"cos", "T,T"},
    {"copysign", "T,T,T"},
    {"bfi", "T,T,T,a,a"},
    {"brev", "T,T"},
    {"popc", "a,T"},
    {"clz", "a,T"},
    {"bfind", "a,T"},
    {"bmsk", "a,a,a"},
    {"prmt", "a,a,a,a"},
    {"vabsdiff4", "a,a,a,a"},
    {"vabsdiff2", "a,a,a,a"},
    {"lop3", "a,a,a,a,0x96"},
    {"shf", "a,a,a,a"},
    {"dp4a", "a,a,a,a"},
    {"activemask", "a"},
    {"membar", ""},
    {"fence", ""},
    {"bar.sync", "0"},
    {"barrier.sync", "0"},
    {"bar.warp.sync", "-1"},
    {"bar.red", "p,0,p"},
    {"vote.sync.ballot", "a,p,-1"},
    {"vote.ballot.sync", "a,p,-1"},
    {"vote", "p,p,-1"},
    {"redux", "T,T,-1"},
    {"shfl", "a|p,a,a,31,-1"},
    {"match.any", "a,T,-1"},
    {"nanosleep", "a"},
    {"ret", ""},
    {"exit", ""},
    {"trap", ""},
    {"bra", "END"},
    {"atom", "T,[l],T"},
    {"red", "[l],T"},
};

static bool starts(const char *s, const char *with) {
    return strncmp(s, with, strlen(with)) == 0;
}

/* A register for a type name: 8- and 16-bit values sit in %h, … */
static const char *reg(const char *type) {
    if (strcmp(type, "f32") == 0) return "%f1";
    if (strcmp(type, "f64") == 0) return "%d1";
    if (strcmp(type, "pred") == 0) return "%p1";
    int bits = atoi(type + strcspn(type, "0123456789"));
    if (strstr(type, "x2")) bits *= 2;
    return bits <= 16 ? "%h1" : bits == 32 ? "%a1" : "%l1";
}

/* The n-th modifier from the end. */
static void modifier(const char *form, int n, char out[32]) {
    char copy[128];
    snprintf(copy, sizeof copy, "%s", form);
    for (char *dot; n >= 0; n--) {
        dot = strrchr(copy, '.');
        snprintf(out, 32, "%s", dot ? dot + 1 : "");
        if (dot) *dot = '\0';
    }
}

static void add_operands(gi_buf *b, const char *form, const char *shape) {
    char type[32], before[32];
    bool relu = strstr(form, ".relu") != NULL; /* the one modifier that follows the type */
    modifier(form, relu, type);
    modifier(form, relu + 1, before);
    for (const char *p = shape; *p; p++) {
        if (*p == 'T' || *p == 'U') gi_buf_adds(b, reg(*p == 'T' ? type : before));
        else if (*p == 'W') gi_buf_adds(b, strstr(type, "16") ? "%a1" : "%l1");
        else if (strchr("alfp", *p)) gi_buf_addf(b, "%%%c1", *p);
        else gi_buf_add(b, p, 1);
    }
}

/* {r, r} for a vector form, or r */
static void add_vector(gi_buf *b, const char *form, const char *type) {
    int n = strstr(form, ".v4.") ? 4 : strstr(form, ".v2.") ? 2 : 1;
    const char *r = reg(type);
    if (n > 1) gi_buf_adds(b, "{");
    for (int i = 0; i < n; i++) gi_buf_addf(b, "%s%.2s%d", i ? ", " : "", r, i + 1);
    if (n > 1) gi_buf_adds(b, "}");
}

static void add_texture(gi_buf *b, const char *form) {
    char coord[32], value[32];
    modifier(form, 0, coord);
    modifier(form, 1, value);
    const char *c = reg(coord);
    add_vector(b, form, value);
    if (strstr(form, ".1d.")) gi_buf_addf(b, ", [%%l1, {%s}]", c);
    else if (strstr(form, ".2d.")) gi_buf_addf(b, ", [%%l1, {%s, %s}]", c, c);
    else if (strstr(form, ".a2d.")) gi_buf_addf(b, ", [%%l1, {%%a1, %s, %s, %s}]", c, c, c);
    else gi_buf_addf(b, ", [%%l1, {%s, %s, %s, %s}]", c, c, c, c);
    if (strstr(form, ".level.")) gi_buf_adds(b, ", %f1");
}

/* The instruction (or call sequence) of a form; false when the form is not known here. */
static bool add_instruction(gi_buf *b, const char *form) {
    char type[32];
    modifier(form, 0, type);
    if (starts(form, "st.param.") || starts(form, "call")) {
        bool st = *form == 's';
        const char *t = st ? type : "b32";
        gi_buf_addf(b, "{ .param .%s p;\nst.param.%s [p], %s;\n%s take_%s, (p);\n}", t, t, reg(t),
                    st ? "call.uni" : form, t);
        return true;
    }
    gi_buf_adds(b, form);
    gi_buf_adds(b, " ");
    if (starts(form, "ld.")) {
        add_vector(b, form, type);
        gi_buf_adds(b, starts(form, "ld.param") ? ", [big + 16]" : ", [%l1]");
    } else if (starts(form, "st.")) {
        gi_buf_adds(b, "[%l1], ");
        add_vector(b, form, type);
    } else if (starts(form, "tex.")) {
        add_texture(b, form);
    } else if (strstr(form, ".wide.")) {
        add_operands(b, form, starts(form, "mul") ? "W,T,T" : "W,T,T,W");
    } else if (strstr(form, ".cas.")) {
        add_operands(b, form, "T,[l],T,T");
    } else {
        int best = -1;
        for (int i = 0; i < KIT_COUNT(shapes); i++) {
            size_t n = strlen(shapes[i].opcode);
            bool whole = starts(form, shapes[i].opcode) && (form[n] == '.' || form[n] == '\0');
            if (whole && (best < 0 || n > strlen(shapes[best].opcode))) best = i;
        }
        if (best < 0) return false;
        add_operands(b, form, shapes[best].operands);
    }
    gi_buf_adds(b, ";");
    return true;
}

/* Loads a kernel with one instruction of the form. */
static bool accepted(const char *form, gi_err *err) {
    gi_buf b = {0};
    snprintf(err->message, sizeof err->message, "the test has no operands for it");
    gi_buf_adds(&b, KIT_HEADER
                ".func take_b32(.param .b32 x) { ret; }\n.func take_b64(.param .b64 x) { ret; }\n"
                ".func take_f64(.param .f64 x) { ret; }\n.func take_f32(.param .f32 x) { ret; }\n"
                ".visible .entry k(.param .align 16 .b8 big[64])\n{\n"
                ".reg .b16 %h<9>;\n.reg .b32 %a<9>;\n.reg .b64 %l<9>;\n.reg .f32 %f<9>;\n"
                ".reg .f64 %d<9>;\n.reg .pred %p<9>;\n");
    bool made = add_instruction(&b, form);
    gi_buf_adds(&b, "\nEND:\nret;\n}\n");
    EmuModule *m = made ? emu_load(kit_emu, b.data, b.len, err) : NULL;
    const char *folder = getenv("KIT_DUMP");
    if (folder) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s.ptx", folder, form);
        FILE *f = fopen(path, "w");
        if (f) fputs(b.data, f), fclose(f);
    }
    gi_buf_free(&b);
    if (!m) return false;
    emu_unload(m);
    return true;
}

static bool set_aside(const char *form) {
    static const char *const prefixes[] = {"cp.async", "wmma",           "mma",
                                           "mbarrier", "griddepcontrol", "sust"};
    for (int i = 0; i < KIT_COUNT(prefixes); i++)
        if (starts(form, prefixes[i])) return true;
    return false;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "tests/data/ptx_forms.txt";
    FILE *file = fopen(path, "r");
    char line[256], form[128];
    int files, required = 0, rare = 0, rare_taken = 0;
    kit_begin(1, argv);
    if (!ok(file != NULL, "%s can be read", path)) return kit_end();
    while (fgets(line, sizeof line, file)) {
        if (*line == '#' || sscanf(line, "%127s %d", form, &files) != 2 || set_aside(form))
            continue;
        gi_err err = {.message = ""};
        bool taken = accepted(form, &err);
        if (files >= REQUIRED_FILES) {
            required++;
            if (!ok(taken, "%s (%d kernels)", form, files)) printf("# %s\n", err.message);
        } else {
            rare++;
            rare_taken += taken;
            if (!taken) printf("# not known: %s: %s\n", form, err.message);
        }
    }
    fclose(file);
    ok(required > 330, "the list is whole: %d forms", required);
    printf("# of %d rarer forms %d load too\n", rare, rare_taken);
    return kit_end();
}
