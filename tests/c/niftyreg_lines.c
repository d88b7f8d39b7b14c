/* kernels/niftyreg/README.md promises what stands on which line of kernel.cu, so that the paper's
** patches run as printed. Run from the root of the repository. */
#include "base/base.h"
#include "tap.h"

#include <stdlib.h>

/* The text of line n of source, without blanks at either end; "" when there is none. */
static void line_of(const char *source, int n, char *out, size_t size) {
    while (--n > 0 && (source = strchr(source, '\n')) != NULL) source++;
    out[0] = '\0';
    if (!source) return;
    source += strspn(source, " ");
    snprintf(out, size, "%.*s", (int)strcspn(source, "\n"), source);
}

/* A table row "| paper | what | ours `text` |": checks it and counts it; 0 for any other line. */
static int check_row(const char *row, const char *source) {
    const char *end = strchr(row, '\n'), *last = strstr(row, "` |\n");
    if (row[0] != '|' || !end || !last || last > end) return 0;
    const char *cell = last; /* back to where the last cell begins */
    while (cell[-1] != '|') cell--;
    const char *text = cell + strcspn(cell, "`") + 1;
    const int paper = atoi(row + 1), ours = atoi(cell);
    if (paper == 0 || ours == 0 || text > last) return 0;

    char want[200], got[200];
    snprintf(want, sizeof want, "%.*s", (int)(last - text), text);
    line_of(source, ours, got, sizeof got);
    ok(paper == ours, "the paper's line %d is ours", paper);
    is_str(got, want, "and the text is right");
    return 1;
}

int main(void) {
    gi_buf source = {0}, readme = {0};
    gi_err err;
    if (!gi_read_file("kernels/niftyreg/kernel.cu", &source, &err) ||
        !gi_read_file("kernels/niftyreg/README.md", &readme, &err)) {
        printf("Bail out! %s (run from the root of the repository)\n", err.message);
        return 1;
    }
    int rows = 0;
    for (const char *p = readme.data; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        rows += check_row(p, source.data);
    is_int(rows, 25, "rows of the table");
    gi_buf_free(&source);
    gi_buf_free(&readme);
    return tap_done();
}
