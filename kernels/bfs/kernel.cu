// kernel.cu - breadth-first search from many sources at once, a block for every source.
//
// Closeness and betweenness of vertices need such distances. A first version as most people write
// it: three bit sets in shared memory (visited, frontier, next), a level after the other, and a
// thread for every vertex, which looks at its edges when the vertex is in the frontier.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size  threads a block: any multiple of 32 up to 1024
// lanes       neighbouring threads that share the edges of a vertex: 1, 2, 4, 8, 16 or 32
// pull_from   from this level on, unvisited vertices look for a neighbour in the frontier, instead
//             of those in the frontier for unvisited ones: 1 is always, 99 never
#define block_size 128
#define lanes 1
#define pull_from 99

// testFirst   a vertex that has been visited is not written to the next set
// skipWords   32 vertices none of which is in the frontier are skipped without looking at each
#undef testFirst
#undef skipWords

#define bitOf(set, vertex) ((set)[(vertex) / 32] >> (vertex) % 32 & 1)

// ---- the kernel -------------------------------------------------------------------------------
//
// levels[s][v] = how many edges a shortest way from the s-th source to v has, or -1 without a way.
// The graph is undirected, in compressed rows: v's neighbours are edges[first[v]] to
// edges[first[v + 1] - 1].
//
// Every thread goes through the same loop over levels: __syncthreads_or tells all of them whether
// any has found a vertex.
//
// Launch: block_size threads, a block for every source; dynamic shared memory of three bit sets.

extern __shared__ unsigned int sets[];

extern "C" __global__ void bfs(int *levels, const int *sources, const int *first, const int *edges,
                               int vertices)
{
    const int words = (vertices + 31) / 32;
    unsigned int *visited = sets;
    unsigned int *frontier = sets + words;
    unsigned int *next = sets + 2 * words;
    int *level_of = levels + blockIdx.x * vertices;
    const int source = sources[blockIdx.x];
    const int team = threadIdx.x / lanes;  // who shares a vertex
    const int lane = threadIdx.x % lanes;
    int level = 0;
    int found = 1;
    int word = 0;
    int vertex = 0;
    int neighbour = 0;
    int edge = 0;
    unsigned int fresh = 0;

    for (word = threadIdx.x; word < words; word += block_size) {
        fresh = word == source / 32 ? 1u << source % 32 : 0u;
        visited[word] = fresh;
        frontier[word] = fresh;
        next[word] = 0;
    }
    for (vertex = threadIdx.x; vertex < vertices; vertex += block_size) {
        level_of[vertex] = vertex == source ? 0 : -1;
    }

    while (__syncthreads_or(found)) {
        level++;

        // Who is next?
        for (vertex = team; vertex < vertices; vertex += block_size / lanes) {
            if (level >= pull_from) {
                if (bitOf(visited, vertex) == 0) {
                    for (edge = first[vertex] + lane; edge < first[vertex + 1]; edge += lanes) {
                        neighbour = edges[edge];
                        if (bitOf(frontier, neighbour) != 0) {
                            atomicOr(&next[vertex / 32], 1u << vertex % 32);
                            break;
                        }
                    }
                }
            } else {
#ifdef skipWords
                if (frontier[vertex / 32] == 0) {
                    continue;
                }
#endif
                if (bitOf(frontier, vertex) != 0) {
                    for (edge = first[vertex] + lane; edge < first[vertex + 1]; edge += lanes) {
                        neighbour = edges[edge];
#ifdef testFirst
                        if (bitOf(visited, neighbour) == 0) {
                            atomicOr(&next[neighbour / 32], 1u << neighbour % 32);
                        }
#else
                        atomicOr(&next[neighbour / 32], 1u << neighbour % 32);
#endif
                    }
                }
            }
        }
        __syncthreads();

        // The new frontier.
        found = 0;
        for (word = threadIdx.x; word < words; word += block_size) {
            fresh = next[word] & ~visited[word];
            visited[word] |= fresh;
            frontier[word] = fresh;
            next[word] = 0;
            if (fresh != 0) {
                found = 1;
            }
        }
        __syncthreads();

        for (vertex = threadIdx.x; vertex < vertices; vertex += block_size) {
            if (bitOf(frontier, vertex) != 0) {
                level_of[vertex] = level;
            }
        }
    }
}
