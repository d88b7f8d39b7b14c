/* bfs - breadth-first search from one node of a graph, level by level.
 *
 * Each level is two launches: the first lets every node of the frontier reach its neighbours, the
 * second makes what was reached the next frontier and tells the host whether there is one. */
#include "../workload.h"

#include <vector>

#define THREADS 256

struct Node {
    int first; /* its edges: edges[first] to edges[first + degree - 1] */
    int degree;
};

__global__ void visit(const Node *nodes, int *edges, bool *frontier, bool *reached, bool *visited,
                      int *level, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && frontier[i]) {
        frontier[i] = false;
        for (int k = nodes[i].first; k < nodes[i].first + nodes[i].degree; k++) {
            int to = edges[k];
            if (!visited[to]) {
                level[to] = level[i] + 1;
                reached[to] = true;
            }
        }
    }
}

__global__ void advance(bool *frontier, bool *reached, bool *visited, int *more, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && reached[i]) {
        frontier[i] = true;
        visited[i] = true;
        *more = 1;
        reached[i] = false;
    }
}

/* A random graph: a node has 1 to 2 * degree - 1 edges, most of them to nodes nearby, so that the
 * search takes many levels. */
static void make_graph(std::vector<Node> &nodes, std::vector<int> &edges, int degree,
                       Random &random)
{
    int n = (int)nodes.size();
    for (int i = 0; i < n; i++) {
        nodes[i].first = (int)edges.size();
        nodes[i].degree = 1 + random.below(2 * degree - 1);
        for (int k = 0; k < nodes[i].degree; k++) {
            int span = random.below(16) == 0 ? n : n / 8 + 1;
            edges.push_back((int)(((int64_t)i + random.below(span)) % n));
        }
    }
}

static void search_on_host(const std::vector<Node> &nodes, const std::vector<int> &edges,
                           int source, std::vector<int> &level)
{
    std::vector<int> queue(1, source);
    level[source] = 0;
    for (size_t head = 0; head < queue.size(); head++) {
        int i = queue[head];
        for (int k = nodes[i].first; k < nodes[i].first + nodes[i].degree; k++) {
            if (level[edges[k]] >= 0) continue;
            level[edges[k]] = level[i] + 1;
            queue.push_back(edges[k]);
        }
    }
}

int main(int argc, char **argv)
{
    const char *usage = "NODES DEGREE SEED";
    int n = argument(argc, argv, 1, 3, usage, 1, 1 << 24);
    int degree = argument(argc, argv, 2, 3, usage, 1, 64);
    int seed = argument(argc, argv, 3, 3, usage, 0, 1 << 30);
    Random random(seed);
    std::vector<Node> nodes(n);
    std::vector<int> edges;
    make_graph(nodes, edges, degree, random);
    int source = random.below(n);
    printf("bfs: %d nodes, %d edges, from node %d, seed %d\n", n, (int)edges.size(), source, seed);

    std::vector<int> level(n, -1);
    level[source] = 0;
    Node *d_nodes;
    int *d_edges, *d_level, *d_more;
    bool *d_frontier, *d_reached, *d_visited, yes = true;
    CUDA(cudaMalloc(&d_nodes, n * sizeof(Node)));
    CUDA(cudaMalloc(&d_edges, edges.size() * sizeof(int)));
    CUDA(cudaMalloc(&d_level, n * sizeof(int)));
    CUDA(cudaMalloc(&d_more, sizeof(int)));
    CUDA(cudaMalloc(&d_frontier, n * sizeof(bool)));
    CUDA(cudaMalloc(&d_reached, n * sizeof(bool)));
    CUDA(cudaMalloc(&d_visited, n * sizeof(bool)));
    CUDA(cudaMemcpy(d_nodes, nodes.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_edges, edges.data(), edges.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_level, level.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_frontier, 0, n * sizeof(bool)));
    CUDA(cudaMemset(d_reached, 0, n * sizeof(bool)));
    CUDA(cudaMemset(d_visited, 0, n * sizeof(bool)));
    CUDA(cudaMemcpy(d_frontier + source, &yes, sizeof(bool), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_visited + source, &yes, sizeof(bool), cudaMemcpyHostToDevice));

    int blocks = (n + THREADS - 1) / THREADS, more, levels = 0;
    do {
        more = 0;
        CUDA(cudaMemcpy(d_more, &more, sizeof(int), cudaMemcpyHostToDevice));
        visit<<<blocks, THREADS>>>(d_nodes, d_edges, d_frontier, d_reached, d_visited, d_level, n);
        advance<<<blocks, THREADS>>>(d_frontier, d_reached, d_visited, d_more, n);
        CUDA(cudaMemcpy(&more, d_more, sizeof(int), cudaMemcpyDeviceToHost));
        levels++;
    } while (more);
    CUDA(cudaMemcpy(level.data(), d_level, n * sizeof(int), cudaMemcpyDeviceToHost));
    printf("%d levels\n", levels);
    release(d_nodes, d_edges, d_level, d_more, d_frontier, d_reached, d_visited);

    std::vector<int> want(n, -1);
    search_on_host(nodes, edges, source, want);
    return verdict(wrong_values("the level of node", level.data(), want.data(), n));
}
