/* parse.c - the top of a module: its header, variables and functions. See parser.h and ptx.h. */
#include "ptx/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 1 << 16 };

static void version(Parser *P) {
    P->m->version_major = ptxp_plain(P, "the version", 0, 0) * 0;
}

static void target(Parser *P) {
    Name *sm = ptxp_ident(P, "a target such as sm_90");
    snprintf(P->m->target, sizeof P->m->target, "%s", sm->text);
    gi_buf_clear(&P->scratch);
    gi_buf_adds(&P->scratch, "");
    while (ptxp_take_char(P, ',')) gi_buf_addf(&P->scratch, ", %s", ptxp_ident(P, "a target option")->text);
    P->m->target_options = ptxp_intern(P, P->scratch.data, P->scratch.len)->text;
}

void ptxp_file(Parser *P) {
    int index = ptxp_plain(P, "the file number", 1, MAX_FILES);
    const char *name = ptxp_string(P);
    while (ptxp_take_char(P, ',')) ptxp_integer(P, "the time or size of the file");
    while (P->n_files < index) {
        gi_grow(P->files, P->n_files, P->cap_files);
        P->files[P->n_files++] = "";
    }
    P->files[index - 1] = (char *)name;
}

void ptxp_skip_section(Parser *P) {
    int line = P->line;
    while (ptxp_peek(P) != '{' && P->p < P->end) {
        P->p++;
        ptxp_space(P);
    }
    while (P->p < P->end && *P->p != '}') {
        P->p++;
        ptxp_space(P);
    }
    if (!ptxp_take_char(P, '}')) ptxp_fail(P, line, "the section that begins here has no closing '}'");
}
