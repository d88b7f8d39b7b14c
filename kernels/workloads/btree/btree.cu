/* btree - queries of a B+ tree: the record of a key, and how many keys lie within two bounds.
 *
 * A block answers a query, with one thread for each key of a node. All keys of the node are
 * compared at once, level by level. */
#include "../workload.h"

#include <algorithm>
#include <climits>
#include <vector>

#define ORDER 128

/* Keys from keys[t] to keys[t + 1] - 1 are below child t; in a leaf `below` is keys[t]'s record.
 * Behind the last all keys are the first of the node to the right. */
struct Node {
    int keys[ORDER + 1];
    int below[ORDER];
};

__global__ void find(const Node *nodes, int height, const int *keys, int *at, int *next,
                     int *records)
{
    int i = blockIdx.x, t = threadIdx.x;

    for (int level = 1; level < height; level++) {
        if (nodes[at[i]].keys[t] <= keys[i] && keys[i] < nodes[at[i]].keys[t + 1])
            next[i] = nodes[at[i]].below[t];
        __syncthreads();
        if (t == 0) at[i] = next[i];
        __syncthreads();
    }
    if (nodes[at[i]].keys[t] == keys[i] && nodes[at[i]].keys[t + 1] != keys[i])
        records[i] = nodes[at[i]].below[t];
}

__global__ void count(const Node *nodes, int height, const int *lows, const int *highs, int *at_low,
                      int *at_high, int *next_low, int *next_high, int *counts)
{
    __shared__ int first, last;
    int i = blockIdx.x, t = threadIdx.x;

    for (int level = 1; level < height; level++) {
        if (nodes[at_low[i]].keys[t] <= lows[i] && lows[i] < nodes[at_low[i]].keys[t + 1])
            next_low[i] = nodes[at_low[i]].below[t];
        if (nodes[at_high[i]].keys[t] <= highs[i] && highs[i] < nodes[at_high[i]].keys[t + 1])
            next_high[i] = nodes[at_high[i]].below[t];
        __syncthreads();
        if (t == 0) {
            at_low[i] = next_low[i];
            at_high[i] = next_high[i];
        }
        __syncthreads();
    }
    if (nodes[at_low[i]].keys[t] <= lows[i] && lows[i] < nodes[at_low[i]].keys[t + 1])
        first = nodes[at_low[i]].below[t] + (nodes[at_low[i]].keys[t] < lows[i] ? 1 : 0);
    __syncthreads();
    if (nodes[at_high[i]].keys[t] <= highs[i] && highs[i] < nodes[at_high[i]].keys[t + 1])
        last = nodes[at_high[i]].below[t];
    __syncthreads();
    if (t == 0) counts[i] = last - first + 1;
}

/* A level of the tree above a row of keys; `below` is the first of what they stand for. */
static std::vector<int> add_level(std::vector<Node> &nodes, const std::vector<int> &keys, int below)
{
    std::vector<int> firsts;
    const int full = ORDER * 3 / 4; /* as in a tree that has grown key by key */
    for (size_t from = 0; from < keys.size(); from += full) {
        Node node;
        int bound = from + full < keys.size() ? keys[from + full] : INT_MAX;
        for (int t = 0; t <= ORDER; t++) {
            bool is_there = t < full && from + t < keys.size();
            node.keys[t] = is_there ? keys[from + t] : bound;
            if (t < ORDER) node.below[t] = is_there ? below + (int)from + t : -1;
        }
        firsts.push_back(keys[from]);
        nodes.push_back(node);
    }
    return firsts;
}

/* The tree, leaves first, the root last; its height. */
static int make_tree(std::vector<Node> &nodes, const std::vector<int> &keys)
{
    int height = 1, begin = 0;
    std::vector<int> firsts = add_level(nodes, keys, 0);
    while (firsts.size() > 1) {
        int next = (int)nodes.size();
        firsts = add_level(nodes, firsts, begin);
        begin = next;
        height++;
    }
    return height;
}

template <class T> static T *to_device(const std::vector<T> &values)
{
    T *memory;
    CUDA(cudaMalloc(&memory, values.size() * sizeof(T)));
    CUDA(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

int main(int argc, char **argv)
{
    const char *usage = "KEYS FINDS COUNTS SEED";
    int n = argument(argc, argv, 1, 4, usage, 1, 1 << 24);
    int finds = argument(argc, argv, 2, 4, usage, 1, 1 << 20);
    int ranges = argument(argc, argv, 3, 4, usage, 1, 1 << 20);
    int seed = argument(argc, argv, 4, 4, usage, 0, 1 << 30);
    Random random(seed);
    std::vector<int> keys(n); /* the first is 0, and no query is less */
    for (int i = 1; i < n; i++) keys[i] = keys[i - 1] + 1 + random.below(16);
    std::vector<Node> nodes;
    int height = make_tree(nodes, keys), root = (int)nodes.size() - 1;
    printf("btree: %d keys, height %d, %d finds, %d counts, seed %d\n", n, height, finds, ranges,
           seed);

    /* Three of four keys that are looked for are there. */
    std::vector<int> wanted(finds), records(finds, -1), lows(ranges), highs(ranges);
    for (int &key : wanted) key = keys[random.below(n)] + (random.below(4) == 0);
    for (int i = 0; i < ranges; i++) {
        lows[i] = keys[random.below(n)] + random.below(3);
        highs[i] = lows[i] + random.below(20000);
    }
    Node *d_nodes = to_device(nodes);
    int *d_wanted = to_device(wanted), *d_records = to_device(records);
    int *d_at = to_device(std::vector<int>(finds, root));
    int *d_next = to_device(std::vector<int>(finds, root));
    find<<<finds, ORDER>>>(d_nodes, height, d_wanted, d_at, d_next, d_records);
    CUDA(cudaMemcpy(records.data(), d_records, finds * sizeof(int), cudaMemcpyDeviceToHost));

    std::vector<int> counts(ranges), ends(ranges, root);
    int *d_lows = to_device(lows), *d_highs = to_device(highs), *d_counts = to_device(counts);
    int *d_low = to_device(ends), *d_high = to_device(ends);
    int *d_next_low = to_device(ends), *d_next_high = to_device(ends);
    count<<<ranges, ORDER>>>(d_nodes, height, d_lows, d_highs, d_low, d_high, d_next_low,
                             d_next_high, d_counts);
    CUDA(cudaMemcpy(counts.data(), d_counts, ranges * sizeof(int), cudaMemcpyDeviceToHost));
    release(d_nodes, d_wanted, d_records, d_at, d_next, d_lows, d_highs, d_counts, d_low, d_high,
            d_next_low, d_next_high);

    std::vector<int> want_records(finds), want_counts(ranges);
    for (int i = 0; i < finds; i++) {
        auto place = std::lower_bound(keys.begin(), keys.end(), wanted[i]);
        bool is_there = place != keys.end() && *place == wanted[i];
        want_records[i] = is_there ? (int)(place - keys.begin()) : -1;
    }
    for (int i = 0; i < ranges; i++)
        want_counts[i] = (int)(std::upper_bound(keys.begin(), keys.end(), highs[i]) -
                               std::lower_bound(keys.begin(), keys.end(), lows[i]));
    return verdict(wrong_values("the record of find", records.data(), want_records.data(), finds) +
                   wrong_values("the number of count", counts.data(), want_counts.data(), ranges));
}
