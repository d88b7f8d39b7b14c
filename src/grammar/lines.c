/* lines.c - genes that give whole lines another text: <lines_kernel.cu_12-14>=TEXT.
**
** What no rule can make, a person or another program may have written. TEXT is any, as one word of
** a genome: what would end it or a rule's name is written %20, %0A, %3C … (RFC 3986, §2.1).
*/
#include "grammar/inside.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LINES_PREFIX "<lines_"

static bool is_plain(unsigned char c) {
    return c > ' ' && c < 127 && c != '%' && c != '<' && c != '>';
}

void lines_print(const Grammar *g, const Gene *gene, gi_buf *out) {
    gi_buf_addf(out, LINES_PREFIX "%s_%d", grammar_file(g), gene->first);
    if (gene->last > gene->first) gi_buf_addf(out, "-%d", gene->last);
    gi_buf_adds(out, ">=");
    for (const char *p = gene->value; *p; p++) {
        if (is_plain((unsigned char)*p)) gi_buf_add(out, p, 1);
        else gi_buf_addf(out, "%%%02X", (unsigned char)*p);
    }
}

bool lines_begins(const char *text, int len) {
    const int n = (int)strlen(LINES_PREFIX);
    return len > n && memcmp(text, LINES_PREFIX, (size_t)n) == 0;
}

static int hex_digit(char c) {
    if (isdigit((unsigned char)c)) return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text of a gene's word; NULL where it is no such word. */
static char *decoded(const char *word, int len) {
    char *text = gi_alloc((size_t)len + 1);
    int n = 0;
    for (int i = 0; i < len; i++) {
        int c = (unsigned char)word[i];
        if (c == '%') {
            int high = i + 2 < len ? hex_digit(word[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(word[i + 2]) : -1;
            c = low >= 0 ? high * 16 + low : 0;
            i += 2;
        } else if (!is_plain((unsigned char)c))
            c = 0;
        if (c == 0) {
            free(text);
            return NULL;
        }
        text[n++] = (char)c;
    }
    text[n] = '\0';
    return text;
}

/* "12" or "12-14". */
static bool read_range(const char *text, int len, int *first, int *last) {
    char range[32], *end;
    if (len < 1 || len >= (int)sizeof range) return false;
    memcpy(range, text, (size_t)len);
    range[len] = '\0';
    if (!isdigit((unsigned char)range[0])) return false;
    long from = strtol(range, &end, 10), to = from;
    if (*end == '-' && isdigit((unsigned char)end[1])) to = strtol(end + 1, &end, 10);
    if (*end || from > INT_MAX || to > INT_MAX) return false;
    *first = (int)from;
    *last = (int)to;
    return true;
}

const char *lines_read(const Grammar *g, const char *word, int len, Gene *out) {
    const char *close = memchr(word, '>', (size_t)len);
    const char *file = grammar_file(g);
    int from = (int)strlen(LINES_PREFIX), to = close ? (int)(close - word) : 0;
    if (close == NULL || to + 1 >= len || close[1] != '=')
        return "it is written <lines_FILE_12>=TEXT or <lines_FILE_12-14>=TEXT";
    int n = (int)strlen(file);
    if (to - from > n && memcmp(word + from, file, (size_t)n) == 0 && word[from + n] == '_')
        from += n + 1;
    *out = (Gene){.kind = GENE_LINES, .target = -1, .source = -1, .config = -1};
    if (!read_range(word + from, to - from, &out->first, &out->last))
        return "the lines between <lines_ and > are of no file here, or no numbers";
    if (out->first < 1 || out->last < out->first) return "its lines do not begin before they end";
    if (out->last > grammar_line_count(g)) return "it goes on behind the last line";
    out->value = decoded(close + 2, len - to - 2);
    if (out->value) return NULL;
    return "its text is one word, in which a byte is itself or, as blanks, %, <, > and those "
           "beyond ASCII have to be, % and two hexadecimal digits";
}

/* Later ones take the place of earlier ones that they overlap. */
int lines_claims(const Grammar *g, const Genome *genome, Claim *out) {
    int n = 0;
    for (int i = 0; i < genome->n; i++) {
        const Gene *gene = &genome->genes[i];
        if (gene->kind != GENE_LINES) continue;
        int kept = 0, at;
        for (int k = 0; k < n; k++) {
            const Gene *other = &genome->genes[out[k].gene];
            if (other->last < gene->first || other->first > gene->last) out[kept++] = out[k];
        }
        n = kept;
        for (at = n; at > 0 && genome->genes[out[at - 1].gene].first > gene->first; at--)
            out[at] = out[at - 1];
        out[at] = (Claim){.gene = i, .start = line_start(g, gene->first),
                          .end = line_start(g, gene->last + 1)};
        n++;
    }
    return n;
}

int line_start(const Grammar *g, int line) {
    const char *at = g->text;
    for (int i = 1; i < line; i++) {
        const char *newline = strchr(at, '\n');
        if (newline == NULL) return g->tree.len;
        at = newline + 1;
    }
    return (int)(at - g->text);
}

bool lines_leave_clock(const Grammar *g, const Genome *genome, gi_err *err) {
    for (int i = 0; i < genome->n; i++) {
        const Gene *gene = &genome->genes[i];
        if (gene->kind != GENE_LINES) continue;
        int start = line_start(g, gene->first), end = line_start(g, gene->last + 1);
        for (int k = 0; k < g->n_hole; k++)
            if (g->hole[k].rule == HOLE_CLOCK && start <= g->hole[k].start &&
                g->hole[k].start < end)
                return gi_fail(err, "gene", "lines %d to %d of %s hold the place of the span clock",
                               gene->first, gene->last, grammar_file(g));
    }
    return true;
}
