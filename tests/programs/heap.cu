/* Objects that kernels allocate: a list for each thread, built in one launch, summed up and freed in
** another; virtual functions of objects made with new; what happens when there is no more. */
struct Node {
    int value;
    Node *next;
};
struct Animal {
    __device__ virtual int legs() const = 0;
    __device__ virtual ~Animal() {}
};
struct Bird : Animal {
    __device__ int legs() const override { return 2; }
};
struct Insect : Animal {
    int extra;
    __device__ Insect(int extra) : extra(extra) {}
    __device__ int legs() const override { return 6 + extra; }
};

__device__ Node *lists[256];
__device__ Animal *zoo[256];

extern "C" __global__ void build(int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Node *head = nullptr;
    for (int i = 0; i < n + t % 3; i++) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->value = t + i;
        node->next = head;
        head = node;
    }
    lists[t] = head;
    if (t % 2) zoo[t] = new Insect(t);
    else zoo[t] = new Bird;
}

extern "C" __global__ void sum(int *out)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, total = zoo[t]->legs() * 1000000;
    for (Node *node = lists[t]; node;) {
        Node *next = node->next;
        total += node->value;
        free(node);
        node = next;
    }
    delete zoo[t];
    out[t] = total;
}

extern "C" __global__ void exhaust(int *out)
{
    int n = 0;
    for (void *p; n < 100000 && (p = malloc(100000)); n++) lists[n % 256] = (Node *)p;
    *out = n;
}

extern "C" __global__ void misuse(int how)
{
    int *p = (int *)malloc(40);
    p[0] = 1;
    if (how == 0) p[10] = 1;
    if (how == 1) free(p);
    if (how == 2) free(p), p[1] = 2;
    if (how == 3) free(p + 1);
    if (how == 4) free(lists);
    if (how == 5) free(nullptr);
    if (how == 6) lists[0] = (Node *)(size_t)p[1];
    free(p);
}
