/* word.c - the words of an instruction, opcode and modifiers, compared with others. */
#include "ptx/ptx.h"

#include <string.h>

bool ptx_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

bool ptx_word_in(const char *word, const char *list) {
    size_t n = strlen(word);
    for (const char *at = list; n > 0 && (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

bool ptx_is(const PtxInstr *in, const char *opcodes) {
    return ptx_word_in(in->opcode, opcodes);
}

const char *ptx_mod(const PtxInstr *in, int i) {
    if (i < 0) i += in->n_mods;
    return i >= 0 && i < in->n_mods ? in->mods[i] : "";
}

bool ptx_has_mod(const PtxInstr *in, const char *mods) {
    for (int i = 0; i < in->n_mods; i++)
        if (ptx_word_in(in->mods[i], mods)) return true;
    return false;
}
