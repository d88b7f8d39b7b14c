/* clock.c - the papers' clock (StereoCamera, §8.14.5.2): each block records when it starts, when
** its last warp leaves, and on which SM, as fixed text around a kernel that no gene can name.
**
** An object at the top of the kernel's body does it: its constructor runs before everything else,
** its destructor at every return. Starts and ends are compared within one SM only
** (src/device/spans.c).
*/
#include "grammar/inside.h"

/* The clock is read with a memory clobber: loads and stores stay on their side of it. It has 64
** bits (the papers' had 32), so it does not wrap while the maximum of the ends is taken. The first
** thread alone writes the start, so one warp's few clocks of head start may be missing. */
static const char clock_lines[] =
    "__device__ unsigned long long *gilua_spans;\n"
    "struct GiluaClock {\n"
    "  static __device__ __forceinline__ unsigned long long now() {\n"
    "    unsigned long long t;\n"
    "    asm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t) :: \"memory\");\n"
    "    return t;\n"
    "  }\n"
    "  static __device__ __forceinline__ unsigned long long *record() {\n"
    "    return gilua_spans + 3 * (blockIdx.x + (unsigned long long)gridDim.x *\n"
    "                              (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z));\n"
    "  }\n"
    "  __device__ __forceinline__ GiluaClock() {\n"
    "    unsigned long long start = now();\n"
    "    unsigned sm;\n"
    "    if (gilua_spans == 0 || (threadIdx.x | threadIdx.y | threadIdx.z) != 0) return;\n"
    "    asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(sm));\n"
    "    record()[0] = start;\n"
    "    record()[2] = sm;\n"
    "  }\n"
    "  __device__ __forceinline__ ~GiluaClock() {\n"
    "    unsigned long long end = now();\n"
    "    unsigned active = __activemask(), lane;\n"
    "    asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane));\n"
    "    if (gilua_spans != 0 && lane + 1 == __ffs(active)) atomicMax(record() + 1, end);\n"
    "  }\n"
    "};\n"
    "#define GILUA_CLOCK GiluaClock gilua_clock;\n";

void grammar_clock_prologue(bool on, gi_buf *out) {
    gi_buf_adds(out, on ? clock_lines : "#define GILUA_CLOCK\n");
}

bool clock_has_place(const Grammar *g, gi_err *err) {
    int places = 0, kernels = 0;
    for (int i = 0; i < g->n_hole; i++) places += g->hole[i].rule == HOLE_CLOCK;
    for (int i = 0; i < g->tree.n_node; i++)
        kernels += g->open[i] && g->tree.node[i].kind == NODE_FUNCTION && grammar_is_kernel(g, i);
    if (places == kernels) return true;
    return gi_fail(
        err, "usage",
        "%s: a kernel's opening brace is in an #if whose branches do not stand alone, so "
        "the span clock has no place; time it with events",
        g->options.file);
}
