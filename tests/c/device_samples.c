/* device_samples.c - the statistics of timings: median, its interval, throttled samples. */
#include "device/class.h"

#include <math.h>
#include <stdlib.h>

#include "tap.h"

static void add_all(DeviceSamples *s, const double *ns, int n, double ghz) {
    for (int i = 0; i < n; i++) samples_add(s, ns[i], ghz);
}

static void test_median(void) {
    double odd[] = {5, 1, 3}, even[] = {4, 1, 2, 3}, one[] = {7}, error;
    ok(samples_median(odd, 3, &error) == 3, "the median of three");
    ok(error == 2.0 / 3, "few values: the interval is the whole range");
    ok(samples_median(even, 4, &error) == 2.5, "of four: the mean of the middle two");
    ok(samples_median(one, 1, &error) == 7 && error == 0, "of one");
}

/* Ten values: the 2nd and the 9th enclose the median with 97.9 %, the 3rd and 8th with 89 %
** only. */
static void test_interval(void) {
    double ten[] = {1, 10, 11, 12, 13, 15, 16, 17, 18, 100}, error;
    ok(samples_median(ten, 10, &error) == 14, "the median of ten");
    ok(fabs(error - 4.0 / 14) < 1e-12, "the interval leaves out one value on either side");
    double same[50];
    for (int i = 0; i < 50; i++) same[i] = 3;
    ok(samples_median(same, 50, &error) == 3 && error == 0, "equal values have no error");
}

/* How often the interval holds the true median: at least 95 % of the time, by its definition. */
static void test_coverage(void) {
    gi_rng rng;
    const uint64_t seed = 20241;
    int inside = 0, trials = 4000;
    gi_rng_seed(&rng, seed);
    for (int t = 0; t < trials; t++) {
        double v[25], error;
        for (int i = 0; i < 25; i++) v[i] = 100 + gi_rng_normal(&rng);
        double median = samples_median(v, 25, &error);
        (void)median;
        if (v[7] <= 100 && v[17] >= 100) inside++; /* ranks 8 and 18 of 25: 95.7 % */
        if (fabs(error * median - (v[17] - v[7]) / 2) > 1e-9) {
            ok(false, "25 values: the interval runs from the 8th to the 18th (seed %d)", (int)seed);
            return;
        }
    }
    ok(inside > 0.945 * trials && inside < 0.97 * trials,
       "seed %d: the interval holds the median in %.1f %% of trials", (int)seed,
       100.0 * inside / trials);
}

static void test_throttled(void) {
    const double fast[] = {100, 101, 102, 103}, slow[] = {130, 131};
    DeviceSamples s = {0};
    add_all(&s, fast, 4, 1.98);
    add_all(&s, slow, 2, 1.5);
    samples_summarise(&s, 1.98, 0.03);
    is_int(s.n, 6, "all samples are kept");
    is_int(s.dropped, 2, "those of a throttled group are left out");
    ok(s.throttled[4] && s.throttled[5] && !s.throttled[3], "and marked");
    ok(s.median_ns == 101.5, "the median is of the others");
    samples_summarise(&s, 3.0, 0.03);
    is_int(s.dropped, 6, "a higher clock seen later makes all of them throttled");
    ok(s.median_ns == 102.5, "then the median is of all of them");
    device_samples_free(&s);
    add_all(&s, fast, 3, 0);
    add_all(&s, fast, 3, 1.93);
    samples_summarise(&s, 1.98, 0.03);
    is_int(s.dropped, 0, "an unknown clock throttles nothing, nor one within the tolerance");
    device_samples_free(&s);
    is_int(s.n, 0, "freed");
}

int main(void) {
    test_median();
    test_interval();
    test_coverage();
    test_throttled();
    return tap_done();
}
