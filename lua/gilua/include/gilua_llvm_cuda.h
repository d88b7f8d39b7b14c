/* gilua_llvm_cuda.h - what CUDA's own headers of half precision (cuda_fp16.h, cuda_bf16.h), of
** cooperative groups and of the C++ library (cuda/std, CUB) take of their compiler, for clang.
** They are told that this is NVRTC, since on NVRTC's way they ask for no headers of the host: of a
** version that has not half precision built in.
*/
#ifndef GILUA_LLVM_CUDA_H
#define GILUA_LLVM_CUDA_H

#undef __clang__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 12000
#define _CG_LIMIT_INCLUDED_DEPENDENCIES /* groups bring their own type traits */
#define CCCL_DISABLE_FP16_SUPPORT /* the library's own use of them: a tenth of a second to read */
#define CCCL_DISABLE_BF16_SUPPORT
#include <nv/target>

typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef long clock_t;

enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace std {
/* As the compiler makes one of { a, b }. */
template <class T> class initializer_list {
    const T *first;
    size_t n;

public:
    typedef T value_type;
    typedef const T *iterator, *const_iterator;
    __device__ __forceinline__ constexpr initializer_list() : first(nullptr), n(0) {}
    __device__ __forceinline__ constexpr size_t size() const { return n; }
    __device__ __forceinline__ constexpr const T *begin() const { return first; }
    __device__ __forceinline__ constexpr const T *end() const { return first + n; }
};
template <class T> struct remove_reference { typedef T type; };
template <class T> struct remove_reference<T &> { typedef T type; };
template <class T> struct remove_reference<T &&> { typedef T type; };
template <class T> GILUA_F constexpr typename remove_reference<T>::type &&move(T &&x) {
    return static_cast<typename remove_reference<T>::type &&>(x);
}
}

GILUA_F void __barrier_sync(unsigned int id) { __nvvm_barrier_sync(id); }
GILUA_F void __barrier_sync_count(unsigned int id, unsigned int n) {
    __nvvm_barrier_sync_cnt(id, n);
}
GILUA_F unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    return __nvvm_fns(mask, base, offset);
}
GILUA_F size_t __cvta_generic_to_shared(const void *p) {
    return (size_t)(const __attribute__((address_space(3))) void *)p;
}
GILUA_F size_t __cvta_generic_to_global(const void *p) {
    return (size_t)(const __attribute__((address_space(1))) void *)p;
}
GILUA_F void *__cvta_shared_to_generic(size_t at) {
    return (void *)(__attribute__((address_space(3))) void *)at;
}
GILUA_F void *__cvta_global_to_generic(size_t at) { return (void *)at; }

#if __CUDA_ARCH__ >= 900 /* blocks in clusters */
#define GILUA_SPECIAL(T, name, register)                                                           \
    GILUA_F T name() {                                                                             \
        T v;                                                                                       \
        asm volatile("mov.u32 %0, %%" register ";" : "=r"(v));                                     \
        return v;                                                                                  \
    }
#define GILUA_SPECIAL3(name, register)                                                             \
    GILUA_SPECIAL(unsigned int, name##_x, register ".x")                                           \
    GILUA_SPECIAL(unsigned int, name##_y, register ".y")                                           \
    GILUA_SPECIAL(unsigned int, name##_z, register ".z")                                           \
    GILUA_F dim3 name() { return dim3(name##_x(), name##_y(), name##_z()); }
GILUA_SPECIAL3(__clusterDim, "cluster_nctaid")
GILUA_SPECIAL3(__clusterRelativeBlockIdx, "cluster_ctaid")
GILUA_SPECIAL3(__clusterGridDimInClusters, "nclusterid")
GILUA_SPECIAL3(__clusterIdx, "clusterid")
GILUA_SPECIAL(unsigned int, __clusterRelativeBlockRank, "cluster_ctarank")
GILUA_SPECIAL(unsigned int, __clusterSizeInBlocks, "cluster_nctarank")
GILUA_F bool __clusterDimIsSpecified() {
    unsigned int v;
    asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }"
                 : "=r"(v));
    return v != 0;
}
GILUA_F void __cluster_barrier_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
GILUA_F void __cluster_barrier_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
GILUA_F unsigned int __cluster_query_shared_rank(const void *p) {
    unsigned int v;
    asm("getctarank.u64 %0, %1;" : "=r"(v) : "l"(p));
    return v;
}
GILUA_F void *__cluster_map_shared_rank(const void *p, unsigned int rank) {
    void *v;
    asm("mapa.u64 %0, %1, %2;" : "=l"(v) : "l"(p), "r"(rank));
    return v;
}
#undef GILUA_SPECIAL
#undef GILUA_SPECIAL3
#endif

#endif
