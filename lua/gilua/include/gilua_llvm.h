/* gilua_llvm.h - what clang knows of CUDA's language and library when it compiles for gilua: this
** replaces the headers of the toolkit; it includes none of them and is read in a millisecond.
**
** What is here does what CUDA's function of the name does (CUDA C++ Programming Guide; CUDA Math
** API), bit for bit where that is one instruction. Functions of the mathematical library that are
** not one instruction (sinf, expf, powf) are declared in gilua_llvm_math.h; what CUDA's own headers
** of halves and of cooperative groups want is in gilua_llvm_cuda.h.
**
** Reading all of it takes clang longer than a small kernel. So a part stays out where GILUA_NO_ and
** its name are defined, as lua/gilua/farm/llvmcompiler.lua does for sources that name nothing of it.
*/
#ifndef GILUA_LLVM_H
#define GILUA_LLVM_H

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

#define __CUDACC__
#define __CUDACC_RTC__
/* No lines of this file in what they are inlined into: a kernel's own count. */
#define GILUA_F static __device__ __forceinline__ __attribute__((nodebug))

typedef decltype(sizeof(0)) size_t;
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;

#define NULL 0
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define CUDART_INF_F __builtin_huge_valf()
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")

/* ---- vectors ---- */

#define GILUA_VECTORS(T, name, a2, a4)                                                             \
    struct name##1 { T x; };                                                                       \
    struct __attribute__((aligned(a2))) name##2 { T x, y; };                                       \
    struct name##3 { T x, y, z; };                                                                 \
    struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                                 \
    GILUA_F name##1 make_##name##1(T x) { name##1 v = {x}; return v; }                             \
    GILUA_F name##2 make_##name##2(T x, T y) { name##2 v = {x, y}; return v; }                     \
    GILUA_F name##3 make_##name##3(T x, T y, T z) { name##3 v = {x, y, z}; return v; }             \
    GILUA_F name##4 make_##name##4(T x, T y, T z, T w) { name##4 v = {x, y, z, w}; return v; }

GILUA_VECTORS(int, int, 8, 16)
GILUA_VECTORS(unsigned int, uint, 8, 16)
GILUA_VECTORS(float, float, 8, 16)
#ifndef GILUA_NO_VECTORS
GILUA_VECTORS(signed char, char, 2, 4)
GILUA_VECTORS(unsigned char, uchar, 2, 4)
GILUA_VECTORS(short, short, 4, 8)
GILUA_VECTORS(unsigned short, ushort, 4, 8)
GILUA_VECTORS(long, long, 16, 16)
GILUA_VECTORS(unsigned long, ulong, 16, 16)
GILUA_VECTORS(long long, longlong, 16, 16)
GILUA_VECTORS(unsigned long long, ulonglong, 16, 16)
GILUA_VECTORS(double, double, 16, 16)
#endif

struct dim3 {
    unsigned int x, y, z;
    __device__ constexpr dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1)
        : x(a), y(b), z(c) {}
};

/* ---- who a thread is ---- */

#define GILUA_PLACE(type, register)                                                                \
    struct type {                                                                                  \
        __declspec(property(get = get_x)) unsigned int x;                                          \
        __declspec(property(get = get_y)) unsigned int y;                                          \
        __declspec(property(get = get_z)) unsigned int z;                                          \
        static __device__ __forceinline__ __attribute__((nodebug)) unsigned int get_x() {          \
            return __nvvm_read_ptx_sreg_##register##_x();                                          \
        }                                                                                          \
        static __device__ __forceinline__ __attribute__((nodebug)) unsigned int get_y() {          \
            return __nvvm_read_ptx_sreg_##register##_y();                                          \
        }                                                                                          \
        static __device__ __forceinline__ __attribute__((nodebug)) unsigned int get_z() {          \
            return __nvvm_read_ptx_sreg_##register##_z();                                          \
        }                                                                                          \
        __device__ __forceinline__ operator dim3() const { return dim3(x, y, z); }                 \
        __device__ __forceinline__ operator uint3() const { return make_uint3(x, y, z); }          \
    };

GILUA_PLACE(GiluaThread, tid)
GILUA_PLACE(GiluaBlock, ctaid)
GILUA_PLACE(GiluaBlockSize, ntid)
GILUA_PLACE(GiluaGridSize, nctaid)
extern const __device__ __attribute__((weak)) GiluaThread threadIdx;
extern const __device__ __attribute__((weak)) GiluaBlock blockIdx;
extern const __device__ __attribute__((weak)) GiluaBlockSize blockDim;
extern const __device__ __attribute__((weak)) GiluaGridSize gridDim;
#define warpSize 32

/* ---- barriers, fences, clocks ---- */

#if !__has_builtin(__syncthreads)
GILUA_F void __syncthreads() { __nvvm_bar_sync(0); }
#endif
GILUA_F int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
GILUA_F int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
GILUA_F int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
GILUA_F void __syncwarp(unsigned int mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
GILUA_F void __threadfence_block() { __nvvm_membar_cta(); }
GILUA_F void __threadfence() { __nvvm_membar_gl(); }
GILUA_F void __threadfence_system() { __nvvm_membar_sys(); }
GILUA_F long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
GILUA_F int clock() { return __nvvm_read_ptx_sreg_clock(); }
GILUA_F void __trap() { asm volatile("trap;"); }
GILUA_F void __nanosleep(unsigned int ns) { __nvvm_nanosleep(ns); }

/* ---- what a kernel says ---- */

extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *,
                                                                  unsigned int, const char *,
                                                                  size_t);
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e)                                                                                  \
    ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif

/* ---- a warp's votes, shuffles and sums ---- */
#ifndef GILUA_NO_WARPS

GILUA_F int __all_sync(unsigned int mask, int p) { return __nvvm_vote_all_sync(mask, p); }
GILUA_F int __any_sync(unsigned int mask, int p) { return __nvvm_vote_any_sync(mask, p); }
GILUA_F unsigned int __ballot_sync(unsigned int mask, int p) {
    return __nvvm_vote_ballot_sync(mask, p);
}
GILUA_F unsigned int __activemask() {
    unsigned int mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}

/* Splits the bits of a value into words and shuffles each word. */
#define GILUA_SHUFFLE(name, hidden, T2, clamp)                                                     \
    template <class T>                                                                             \
    GILUA_F T name(unsigned int mask, T value, T2 where, int width = 32) {                         \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle takes 4 or 8 bytes");           \
        const int c = ((32 - width) << 8) | clamp;                                                 \
        int words[sizeof(T) / 4];                                                                  \
        __builtin_memcpy(words, &value, sizeof(T));                                                \
        for (int i = 0; i < (int)(sizeof(T) / 4); i++)                                             \
            words[i] = hidden(mask, words[i], (int)where, c);                                      \
        __builtin_memcpy(&value, words, sizeof(T));                                                \
        return value;                                                                              \
    }

GILUA_SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, int, 0x1f)
GILUA_SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, unsigned int, 0)
GILUA_SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, unsigned int, 0x1f)
GILUA_SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, int, 0x1f)

template <class T> GILUA_F unsigned int __match_any_sync(unsigned int mask, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a match takes 4 or 8 bytes");
    if constexpr (sizeof(T) == 4)
        return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(int, value));
    else return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long long, value));
}
template <class T> GILUA_F unsigned int __match_all_sync(unsigned int mask, T value, int *all) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a match takes 4 or 8 bytes");
    if constexpr (sizeof(T) == 4)
        return __nvvm_match_all_sync_i32p(mask, __builtin_bit_cast(int, value), all);
    else return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(long long, value), all);
}

#if __CUDA_ARCH__ >= 800
#define GILUA_REDUCE(name, op, T, type, letter)                                                    \
    GILUA_F T name(unsigned int mask, T value) {                                                   \
        T all;                                                                                     \
        asm volatile("redux.sync." op "." type " %0, %1, %2;"                                      \
                     : "=r"(all) : "r"(value), "r"(mask));                                         \
        return all;                                                                                \
    }
GILUA_REDUCE(__reduce_add_sync, "add", unsigned int, "u32", r)
GILUA_REDUCE(__reduce_add_sync, "add", int, "s32", r)
GILUA_REDUCE(__reduce_min_sync, "min", unsigned int, "u32", r)
GILUA_REDUCE(__reduce_min_sync, "min", int, "s32", r)
GILUA_REDUCE(__reduce_max_sync, "max", unsigned int, "u32", r)
GILUA_REDUCE(__reduce_max_sync, "max", int, "s32", r)
GILUA_REDUCE(__reduce_and_sync, "and", unsigned int, "b32", r)
GILUA_REDUCE(__reduce_or_sync, "or", unsigned int, "b32", r)
GILUA_REDUCE(__reduce_xor_sync, "xor", unsigned int, "b32", r)
#endif
#endif

/* ---- atomics: relaxed, of the device, as CUDA's ---- */
#ifndef GILUA_NO_ATOMICS

#define GILUA_ATOMIC(name, builtin, T)                                                             \
    GILUA_F T name(T *at, T value) {                                                               \
        return builtin(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                        \
    }
#define GILUA_ATOMICS(name, builtin)                                                               \
    GILUA_ATOMIC(name, builtin, int)                                                               \
    GILUA_ATOMIC(name, builtin, unsigned int)                                                      \
    GILUA_ATOMIC(name, builtin, unsigned long long)

GILUA_ATOMICS(atomicAnd, __scoped_atomic_fetch_and)
GILUA_ATOMICS(atomicOr, __scoped_atomic_fetch_or)
GILUA_ATOMICS(atomicXor, __scoped_atomic_fetch_xor)
GILUA_ATOMICS(atomicMin, __scoped_atomic_fetch_min)
GILUA_ATOMICS(atomicMax, __scoped_atomic_fetch_max)
GILUA_ATOMICS(atomicExch, __scoped_atomic_exchange_n)
GILUA_ATOMICS(atomicAdd, __scoped_atomic_fetch_add)
GILUA_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, float)
GILUA_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, double)
GILUA_ATOMIC(atomicMin, __scoped_atomic_fetch_min, long long)
GILUA_ATOMIC(atomicMax, __scoped_atomic_fetch_max, long long)
GILUA_ATOMIC(atomicSub, __scoped_atomic_fetch_sub, int)
GILUA_ATOMIC(atomicSub, __scoped_atomic_fetch_sub, unsigned int)
GILUA_F float atomicExch(float *at, float value) {
    int bits;
    __builtin_memcpy(&bits, &value, 4);
    bits = atomicExch((int *)at, bits);
    __builtin_memcpy(&value, &bits, 4);
    return value;
}
#define GILUA_CAS(T)                                                                               \
    GILUA_F T atomicCAS(T *at, T expected, T value) {                                              \
        __scoped_atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED,          \
                                           __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);               \
        return expected;                                                                           \
    }
GILUA_CAS(int)
GILUA_CAS(unsigned int)
GILUA_CAS(unsigned long long)
GILUA_F unsigned int atomicInc(unsigned int *at, unsigned int most) {
    return __nvvm_atom_inc_gen_ui(at, most);
}
GILUA_F unsigned int atomicDec(unsigned int *at, unsigned int most) {
    return __nvvm_atom_dec_gen_ui(at, most);
}
#endif

/* ---- memory ---- */

GILUA_F void *memcpy(void *to, const void *from, size_t n) {
    return __builtin_memcpy(to, from, n);
}
GILUA_F void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }
extern "C" __device__ void *malloc(size_t);
extern "C" __device__ void free(void *);
typedef unsigned long long cudaTextureObject_t;
#ifndef GILUA_NO_HINTS

#define GILUA_HINTED(name, how_asm, how)                                                           \
    GILUA_F int name(const int *p) {                                                               \
        int v;                                                                                     \
        how_asm("ld.global." how ".b32 %0, [%1];" : "=r"(v) : "l"(p));                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F unsigned int name(const unsigned int *p) { return (unsigned int)name((const int *)p); }\
    GILUA_F float name(const float *p) {                                                           \
        float v;                                                                                   \
        how_asm("ld.global." how ".f32 %0, [%1];" : "=f"(v) : "l"(p));                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F double name(const double *p) {                                                         \
        double v;                                                                                  \
        how_asm("ld.global." how ".f64 %0, [%1];" : "=d"(v) : "l"(p));                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F long long name(const long long *p) {                                                   \
        long long v;                                                                               \
        how_asm("ld.global." how ".b64 %0, [%1];" : "=l"(v) : "l"(p));                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F unsigned long long name(const unsigned long long *p) {                                 \
        return (unsigned long long)name((const long long *)p);                                     \
    }                                                                                              \
    GILUA_F unsigned char name(const unsigned char *p) {                                           \
        unsigned int v;                                                                            \
        how_asm("ld.global." how ".u8 %0, [%1];" : "=r"(v) : "l"(p));                              \
        return (unsigned char)v;                                                                   \
    }                                                                                              \
    GILUA_F int2 name(const int2 *p) {                                                             \
        int2 v;                                                                                    \
        how_asm("ld.global." how ".v2.b32 {%0,%1}, [%2];"                                          \
                     : "=r"(v.x), "=r"(v.y) : "l"(p));                                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F int4 name(const int4 *p) {                                                             \
        int4 v;                                                                                    \
        how_asm("ld.global." how ".v4.b32 {%0,%1,%2,%3}, [%4];"                                    \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));                       \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F uint4 name(const uint4 *p) {                                                           \
        int4 v = name((const int4 *)p);                                                            \
        return make_uint4(v.x, v.y, v.z, v.w);                                                     \
    }                                                                                              \
    GILUA_F float2 name(const float2 *p) {                                                         \
        float2 v;                                                                                  \
        how_asm("ld.global." how ".v2.f32 {%0,%1}, [%2];"                                          \
                     : "=f"(v.x), "=f"(v.y) : "l"(p));                                             \
        return v;                                                                                  \
    }                                                                                              \
    GILUA_F float4 name(const float4 *p) {                                                         \
        float4 v;                                                                                  \
        how_asm("ld.global." how ".v4.f32 {%0,%1,%2,%3}, [%4];"                                    \
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));                       \
        return v;                                                                                  \
    }

GILUA_HINTED(__ldg, asm, "nc") /* of what nobody writes: as good as any other */
GILUA_HINTED(__ldca, asm volatile, "ca")
GILUA_HINTED(__ldcg, asm volatile, "cg")
GILUA_HINTED(__ldcs, asm volatile, "cs")
GILUA_HINTED(__ldlu, asm volatile, "lu")
GILUA_HINTED(__ldcv, asm volatile, "cv")

#define GILUA_STORED(name, how)                                                                    \
    GILUA_F void name(int *p, int v) {                                                             \
        asm volatile("st.global." how ".b32 [%0], %1;" ::"l"(p), "r"(v) : "memory");               \
    }                                                                                              \
    GILUA_F void name(unsigned int *p, unsigned int v) { name((int *)p, (int)v); }                 \
    GILUA_F void name(float *p, float v) {                                                         \
        asm volatile("st.global." how ".f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");               \
    }                                                                                              \
    GILUA_F void name(double *p, double v) {                                                       \
        asm volatile("st.global." how ".f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");               \
    }                                                                                              \
    GILUA_F void name(float2 *p, float2 v) {                                                       \
        asm volatile("st.global." how ".v2.f32 [%0], {%1,%2};"                                     \
                     ::"l"(p), "f"(v.x), "f"(v.y) : "memory");                                     \
    }                                                                                              \
    GILUA_F void name(int4 *p, int4 v) {                                                           \
        asm volatile("st.global." how ".v4.b32 [%0], {%1,%2,%3,%4};"                               \
                     ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");                 \
    }                                                                                              \
    GILUA_F void name(float4 *p, float4 v) {                                                       \
        asm volatile("st.global." how ".v4.f32 [%0], {%1,%2,%3,%4};"                               \
                     ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");                 \
    }

GILUA_STORED(__stwb, "wb")
GILUA_STORED(__stcg, "cg")
GILUA_STORED(__stcs, "cs")
GILUA_STORED(__stwt, "wt")
#endif

/* ---- textures ---- */
#ifndef GILUA_NO_TEXTURES

/* Calls f(T, operand's type, letter, how four are taken) for the types of texels. */
#define GILUA_TEXELS(f)                                                                            \
    f(float, "f32", "f", float, v.x)                                                               \
    f(float2, "f32", "f", float, (make_float2(v.x, v.y)))                                          \
    f(float4, "f32", "f", float, v)                                                                \
    f(int, "s32", "r", int, v.x)                                                                   \
    f(int2, "s32", "r", int, (make_int2(v.x, v.y)))                                                \
    f(int4, "s32", "r", int, v)                                                                    \
    f(unsigned int, "u32", "r", uint, v.x)                                                         \
    f(uint2, "u32", "r", uint, (make_uint2(v.x, v.y)))                                             \
    f(uint4, "u32", "r", uint, v)                                                                  \
    f(unsigned char, "u32", "r", uint, ((unsigned char)v.x))                                       \
    f(char, "s32", "r", int, ((char)v.x))                                                          \
    f(unsigned short, "u32", "r", uint, ((unsigned short)v.x))                                     \
    f(short, "s32", "r", int, ((short)v.x))

template <class T> __device__ T tex1Dfetch(cudaTextureObject_t t, int i);
template <class T> __device__ T tex1D(cudaTextureObject_t t, float x);
template <class T> __device__ T tex2D(cudaTextureObject_t t, float x, float y);
template <class T> __device__ T tex3D(cudaTextureObject_t t, float x, float y, float z);

#define GILUA_T __device__ __forceinline__ __attribute__((nodebug))
#define GILUA_TEXEL(T, type, letter, U, taken)                                                     \
    template <> GILUA_T T tex1Dfetch<T>(cudaTextureObject_t t, int i) {                            \
        U##4 v;                                                                                    \
        asm("tex.1d.v4." type ".s32 {%0,%1,%2,%3}, [%4, {%5}];"                                    \
            : "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w)                   \
            : "l"(t), "r"(i));                                                                     \
        return taken;                                                                              \
    }                                                                                              \
    template <> GILUA_T T tex1D<T>(cudaTextureObject_t t, float x) {                               \
        U##4 v;                                                                                    \
        asm("tex.1d.v4." type ".f32 {%0,%1,%2,%3}, [%4, {%5}];"                                    \
            : "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w)                   \
            : "l"(t), "f"(x));                                                                     \
        return taken;                                                                              \
    }                                                                                              \
    template <> GILUA_T T tex2D<T>(cudaTextureObject_t t, float x, float y) {                      \
        U##4 v;                                                                                    \
        asm("tex.2d.v4." type ".f32 {%0,%1,%2,%3}, [%4, {%5,%6}];"                                 \
            : "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w)                   \
            : "l"(t), "f"(x), "f"(y));                                                             \
        return taken;                                                                              \
    }                                                                                              \
    template <>                                                                                    \
    GILUA_T T tex3D<T>(cudaTextureObject_t t, float x, float y, float z) {                         \
        U##4 v;                                                                                    \
        asm("tex.3d.v4." type ".f32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%7}];"                           \
            : "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w)                   \
            : "l"(t), "f"(x), "f"(y), "f"(z));                                                     \
        return taken;                                                                              \
    }

GILUA_TEXELS(GILUA_TEXEL)
#endif

/* ---- integers ---- */

#define GILUA_LEAST(T)                                                                             \
    GILUA_F constexpr T min(T a, T b) { return b < a ? b : a; }                                    \
    GILUA_F constexpr T max(T a, T b) { return a < b ? b : a; }
GILUA_LEAST(int)
GILUA_LEAST(unsigned int)
GILUA_LEAST(long)
GILUA_LEAST(unsigned long)
GILUA_LEAST(long long)
GILUA_LEAST(unsigned long long)
GILUA_F constexpr unsigned int min(int a, unsigned int b) { return min((unsigned int)a, b); }
GILUA_F constexpr unsigned int min(unsigned int a, int b) { return min(a, (unsigned int)b); }
GILUA_F constexpr unsigned int max(int a, unsigned int b) { return max((unsigned int)a, b); }
GILUA_F constexpr unsigned int max(unsigned int a, int b) { return max(a, (unsigned int)b); }
GILUA_F int abs(int x) { return __builtin_abs(x); }
GILUA_F long long abs(long long x) { return __builtin_llabs(x); }
GILUA_F int __popc(unsigned int x) { return __builtin_popcount(x); }
GILUA_F int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GILUA_F int __clz(int x) { return x ? __builtin_clz((unsigned int)x) : 32; }
GILUA_F int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
GILUA_F int __ffs(int x) { return __builtin_ffs(x); }
GILUA_F int __ffsll(long long x) { return __builtin_ffsll(x); }
GILUA_F unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
GILUA_F unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
GILUA_F int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
GILUA_F unsigned int __umul24(unsigned int a, unsigned int b) { return __nvvm_mul24_ui(a, b); }
GILUA_F int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
GILUA_F unsigned int __umulhi(unsigned int a, unsigned int b) { return __nvvm_mulhi_ui(a, b); }
GILUA_F unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return __nvvm_mulhi_ull(a, b);
}
GILUA_F unsigned int __sad(int a, int b, unsigned int c) { return __nvvm_sad_i(a, b, c); }
GILUA_F unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) {
    return __nvvm_sad_ui(a, b, c);
}
GILUA_F unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s) {
    return __nvvm_prmt(a, b, s);
}
GILUA_F unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int n) {
    return (unsigned int)(((((unsigned long long)high << 32) | low) << (n & 31)) >> 32);
}
GILUA_F unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int n) {
    return (unsigned int)((((unsigned long long)high << 32) | low) >> (n & 31));
}

#define GILUA_ASM3(name, T, text)                                                                  \
    GILUA_F T name(T a, T b, T c) {                                                                \
        T r;                                                                                       \
        asm(text " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));                           \
        return r;                                                                                  \
    }
GILUA_ASM3(__dp4a, int, "dp4a.s32.s32")
GILUA_ASM3(__dp4a, unsigned int, "dp4a.u32.u32")
GILUA_F unsigned int __vabsdiffu4(unsigned int a, unsigned int b) {
    unsigned int r;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0));
    return r;
}

/* ---- floating point: what is one instruction ---- */

GILUA_F float fabsf(float x) { return __builtin_fabsf(x); }
GILUA_F double fabs(double x) { return __builtin_fabs(x); }
GILUA_F float fabs(float x) { return __builtin_fabsf(x); }
GILUA_F float abs(float x) { return __builtin_fabsf(x); }
GILUA_F double abs(double x) { return __builtin_fabs(x); }
GILUA_F float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
GILUA_F float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
GILUA_F double fmin(double a, double b) { return __nvvm_fmin_d(a, b); }
GILUA_F double fmax(double a, double b) { return __nvvm_fmax_d(a, b); }
GILUA_F float min(float a, float b) { return fminf(a, b); }
GILUA_F float max(float a, float b) { return fmaxf(a, b); }
GILUA_F double min(double a, double b) { return fmin(a, b); }
GILUA_F double max(double a, double b) { return fmax(a, b); }
GILUA_F double min(double a, float b) { return fmin(a, (double)b); }
GILUA_F double min(float a, double b) { return fmin((double)a, b); }
GILUA_F double max(double a, float b) { return fmax(a, (double)b); }
GILUA_F double max(float a, double b) { return fmax((double)a, b); }
GILUA_F float fmaf(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
GILUA_F double fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
GILUA_F float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
GILUA_F double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
GILUA_F float sqrt(float x) { return sqrtf(x); }
GILUA_F float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
GILUA_F float ceilf(float x) { return __builtin_ceilf(x); }
GILUA_F double ceil(double x) { return __builtin_ceil(x); }
GILUA_F float ceil(float x) { return ceilf(x); }
GILUA_F float floorf(float x) { return __builtin_floorf(x); }
GILUA_F double floor(double x) { return __builtin_floor(x); }
GILUA_F float floor(float x) { return floorf(x); }
GILUA_F float truncf(float x) { return __builtin_truncf(x); }
GILUA_F double trunc(double x) { return __builtin_trunc(x); }
GILUA_F float rintf(float x) { return __builtin_rintf(x); }
GILUA_F double rint(double x) { return __builtin_rint(x); }
GILUA_F float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
GILUA_F double copysign(double x, double y) { return __builtin_copysign(x, y); }
GILUA_F bool isnan(float x) { return __builtin_isnan(x); }
GILUA_F bool isnan(double x) { return __builtin_isnan(x); }
GILUA_F bool isinf(float x) { return __builtin_isinf(x); }
GILUA_F bool isinf(double x) { return __builtin_isinf(x); }
GILUA_F float __saturatef(float x) { return __nvvm_saturate_f(x); }
GILUA_F float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
GILUA_F float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.3219280948873623f); }
GILUA_F float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
GILUA_F float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
GILUA_F float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.30102999566398120f; }
GILUA_F float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __log2f(x)); }
GILUA_F float __sinf(float x) { return __nvvm_sin_approx_f(x); }
GILUA_F float __cosf(float x) { return __nvvm_cos_approx_f(x); }
GILUA_F float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
GILUA_F float __frcp_rn(float x) { return __nvvm_rcp_rn_f(x); }
GILUA_F float __fsqrt_rn(float x) { return __nvvm_sqrt_rn_f(x); }
GILUA_F float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
GILUA_F float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
GILUA_F float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
GILUA_F float __fdiv_rn(float a, float b) { return __nvvm_div_rn_f(a, b); }
GILUA_F double __dadd_rn(double a, double b) { return __nvvm_add_rn_d(a, b); }
GILUA_F double __dmul_rn(double a, double b) { return __nvvm_mul_rn_d(a, b); }
GILUA_F double __fma_rn(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
GILUA_F int __float2int_rn(float x) { return __nvvm_f2i_rn(x); }
GILUA_F int __float2int_rz(float x) { return __nvvm_f2i_rz(x); }
GILUA_F int __float2int_rd(float x) { return __nvvm_f2i_rm(x); }
GILUA_F int __float2int_ru(float x) { return __nvvm_f2i_rp(x); }
GILUA_F unsigned int __float2uint_rn(float x) { return __nvvm_f2ui_rn(x); }
GILUA_F unsigned int __float2uint_rz(float x) { return __nvvm_f2ui_rz(x); }
GILUA_F float __int2float_rn(int x) { return __nvvm_i2f_rn(x); }
GILUA_F float __uint2float_rn(unsigned int x) { return __nvvm_ui2f_rn(x); }
GILUA_F int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
GILUA_F float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
GILUA_F unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
GILUA_F float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
GILUA_F long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
GILUA_F double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

#ifndef GILUA_NO_MATHS
#include "gilua_llvm_math.h"
#endif
#ifdef GILUA_CUDA_HEADERS
#include "gilua_llvm_cuda.h"
#endif

#undef GILUA_F
#endif
