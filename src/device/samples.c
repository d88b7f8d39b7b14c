/* samples.c - what a list of timings says: its median and how well that is known.
**
** The interval of the median is distribution-free: the number of samples below the true median is
** binomial (n, 1/2), so the r-th smallest and r-th largest sample enclose it with a probability
** that depends on n and r alone. r is the largest with at least 95 %.
*/
#include "device/class.h"

#include <math.h>
#include <stdlib.h>

void samples_add(DeviceSamples *s, double ns, double clock_ghz) {
    size_t n = (size_t)s->n + 1;
    s->ns = gi_realloc(s->ns, n * sizeof *s->ns);
    s->clock_ghz = gi_realloc(s->clock_ghz, n * sizeof *s->clock_ghz);
    s->throttled = gi_realloc(s->throttled, n * sizeof *s->throttled);
    s->ns[s->n] = ns;
    s->clock_ghz[s->n] = clock_ghz;
    s->throttled[s->n++] = false;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The rank from 1: P(fewer than r of n samples below the median) <= 2.5 %. */
static int interval_rank(int n) {
    double log_term = -n * log(2.0), tail = 0;
    int r = 0;
    while (r < n / 2) {
        tail += exp(log_term);
        if (tail > 0.025) break;
        log_term += log((double)(n - r) / (r + 1));
        r++;
    }
    return r > 1 ? r : 1;
}

double samples_median(double *values, int n, double *rel_error) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    double median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    int r = interval_rank(n);
    double half = (values[n - r] - values[r - 1]) / 2;
    *rel_error = median > 0 ? half / median : 0;
    return median;
}

void samples_summarise(DeviceSamples *s, double best_ghz, double tolerance) {
    double *kept = gi_alloc((size_t)(s->n + 1) * sizeof *kept);
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        s->throttled[i] = s->clock_ghz[i] > 0 && s->clock_ghz[i] < (1 - tolerance) * best_ghz;
        if (!s->throttled[i]) kept[n++] = s->ns[i];
    }
    s->dropped = s->n - n;
    if (n == 0)
        for (; n < s->n; n++) kept[n] = s->ns[n];
    s->median_ns = s->rel_error = 0;
    if (n > 0) s->median_ns = samples_median(kept, n, &s->rel_error);
    free(kept);
}
