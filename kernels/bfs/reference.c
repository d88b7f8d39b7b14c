/* reference.c - breadth-first search on the CPU, and the graphs kernel.cu is tested on.
**
** A graph is undirected, in compressed rows: first[v] to first[v + 1] - 1 are the places of v's
** neighbours in `edges`. Every edge is there twice, once from each end.
**
** Graphs are random and uneven, as those of people and pages are: one end of an edge is drawn
** uniformly, the other with a preference for small numbers, so that a few vertices have many edges
** and some none at all.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** numbers, on every machine.
*/
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* first: vertices + 1 numbers; edges: 2 * pairs. False without memory. */
bool bfs_graph(uint64_t seed, int64_t vertices, int64_t pairs, int32_t *first, int32_t *edges);

/* n vertices to start from, drawn uniformly. */
void bfs_sources(uint64_t seed, int64_t vertices, int64_t n, int32_t *sources);

/* levels[n][vertices], -1 where there is no way. False without memory. */
bool bfs_levels(const int32_t *first, const int32_t *edges, int64_t vertices,
                const int32_t *sources, int64_t n, int32_t *levels);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

static void draw_edge(uint64_t *state, int64_t vertices, int32_t ends[2]) {
    const double u = random_unit(state), v = random_unit(state);
    ends[0] = (int32_t)(u * (double)vertices);
    ends[1] = (int32_t)(v * v * v * (double)vertices);
}

/* Counts, then places: the edges are drawn twice from the same state. */
bool bfs_graph(uint64_t seed, int64_t vertices, int64_t pairs, int32_t *first, int32_t *edges) {
    int32_t *place = calloc((size_t)vertices, sizeof *place), ends[2];
    if (!place) return false;
    uint64_t state = seed;
    for (int64_t i = 0; i < pairs; i++) {
        draw_edge(&state, vertices, ends);
        place[ends[0]]++;
        place[ends[1]]++;
    }
    first[0] = 0;
    for (int64_t v = 0; v < vertices; v++) {
        first[v + 1] = first[v] + place[v];
        place[v] = first[v];
    }
    state = seed;
    for (int64_t i = 0; i < pairs; i++) {
        draw_edge(&state, vertices, ends);
        edges[place[ends[0]]++] = ends[1];
        edges[place[ends[1]]++] = ends[0];
    }
    free(place);
    return true;
}

void bfs_sources(uint64_t seed, int64_t vertices, int64_t n, int32_t *sources) {
    uint64_t state = ~seed;
    for (int64_t i = 0; i < n; i++) sources[i] = (int32_t)(random_unit(&state) * (double)vertices);
}

/* One search; `queue` has room for all vertices. */
static void search(const int32_t *first, const int32_t *edges, int64_t vertices, int32_t source,
                   int32_t *queue, int32_t *level) {
    int64_t head = 0, tail = 0;
    for (int64_t v = 0; v < vertices; v++) level[v] = -1;
    level[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        const int32_t v = queue[head++];
        for (int32_t e = first[v]; e < first[v + 1]; e++) {
            const int32_t w = edges[e];
            if (level[w] >= 0) continue;
            level[w] = level[v] + 1;
            queue[tail++] = w;
        }
    }
}

bool bfs_levels(const int32_t *first, const int32_t *edges, int64_t vertices,
                const int32_t *sources, int64_t n, int32_t *levels) {
    int32_t *queue = malloc((size_t)vertices * sizeof *queue);
    if (!queue) return false;
    for (int64_t i = 0; i < n; i++)
        search(first, edges, vertices, sources[i], queue, levels + i * vertices);
    free(queue);
    return true;
}
