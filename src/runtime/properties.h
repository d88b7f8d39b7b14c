/* properties.h - the properties of its GPU that a program reads. Private to src/runtime.
**
** Values come from the model where it has them; the others are those of compute capability 9.0
** (CUDA C++ Programming Guide, technical specifications) and of an H200. */
#ifndef GILUA_RUNTIME_PROPERTIES_H
#define GILUA_RUNTIME_PROPERTIES_H

#include "runtime/abi.h"
#include "runtime/runtime.h"

/* An attribute by its number, as cudaDeviceGetAttribute has them; false: there is none such. */
bool property_attribute(int id, int *value);

/* cudaDeviceProp: the fields in order, each KIND(type, name, how many, number of its first
** attribute or 0). B: CUDA 12 and 13 have it; O: 12 alone; N: 13 alone. A field of several holds
** those attributes that follow each other. */
#define PROPERTIES(B, O, N)                                                                      \
    B(char, name, 256, 0) B(CudaUuid, uuid, 1, 0) B(char, luid, 8, 0)                            \
    B(unsigned, luid_mask, 1, 0) B(size_t, total_memory, 1, 0)                                   \
    B(size_t, shared_per_block, 1, 8) B(int, registers_per_block, 1, 12)                         \
    B(int, warp_size, 1, 10) B(size_t, pitch, 1, 11) B(int, threads_per_block, 1, 1)             \
    B(int, block_dim, 3, 2) B(int, grid_dim, 3, 5) O(int, clock_khz, 1, 13)                      \
    B(size_t, total_constant, 1, 9) B(int, major, 1, 75) B(int, minor, 1, 76)                    \
    B(size_t, texture_alignment, 1, 14) B(size_t, texture_pitch_alignment, 1, 51)                \
    O(int, overlap, 1, 15) B(int, sms, 1, 16) O(int, kernel_timeout, 1, 17)                      \
    B(int, integrated, 1, 18) B(int, map_host, 1, 19) O(int, compute_mode, 1, 20)                \
    B(int, texture_1d, 1, 21) B(int, texture_1d_mipmap, 1, 77) O(int, texture_1d_linear, 1, 69)  \
    B(int, texture_2d, 2, 22) B(int, texture_2d_mipmap, 2, 73) B(int, texture_2d_linear, 3, 70)  \
    B(int, texture_2d_gather, 2, 45) B(int, texture_3d, 3, 24) B(int, texture_3d_alt, 3, 47)     \
    B(int, texture_cube, 1, 52) B(int, texture_1d_layered, 2, 42)                                \
    B(int, texture_2d_layered, 3, 27) B(int, texture_cube_layered, 2, 53)                        \
    B(int, surface_1d, 1, 55) B(int, surface_2d, 2, 56) B(int, surface_3d, 3, 58)                \
    B(int, surface_1d_layered, 2, 61) B(int, surface_2d_layered, 3, 63)                          \
    B(int, surface_cube, 1, 66) B(int, surface_cube_layered, 2, 67)                              \
    B(size_t, surface_alignment, 1, 30) B(int, concurrent_kernels, 1, 31) B(int, ecc, 1, 32)     \
    B(int, pci_bus, 1, 33) B(int, pci_device, 1, 34) B(int, pci_domain, 1, 50)                   \
    B(int, tcc, 1, 35) B(int, copy_engines, 1, 40) B(int, unified_addressing, 1, 41)             \
    O(int, memory_khz, 1, 36) B(int, memory_bus_bits, 1, 37) B(int, l2_bytes, 1, 38)             \
    B(int, l2_persisting, 1, 108) B(int, threads_per_sm, 1, 39) B(int, priorities, 1, 78)        \
    B(int, l1_global, 1, 79) B(int, l1_local, 1, 80) B(size_t, shared_per_sm, 1, 81)             \
    B(int, registers_per_sm, 1, 82) B(int, managed, 1, 83) B(int, multi_gpu_board, 1, 84)        \
    B(int, board_group, 1, 85) B(int, host_atomics, 1, 86) O(int, double_ratio, 1, 87)           \
    B(int, pageable, 1, 88) B(int, concurrent_managed, 1, 89) B(int, preemption, 1, 90)          \
    B(int, registered_pointer, 1, 91) B(int, cooperative, 1, 95)                                 \
    O(int, cooperative_multi, 1, 96) B(size_t, shared_optin, 1, 97)                              \
    B(int, host_page_tables, 1, 100) B(int, direct_managed, 1, 101)                              \
    B(int, blocks_per_sm, 1, 106) B(int, access_window, 1, 109)                                  \
    B(size_t, shared_reserved, 1, 111) B(int, host_register, 1, 99)                              \
    B(int, sparse_arrays, 1, 112) B(int, register_read_only, 1, 113)                             \
    B(int, timeline_semaphores, 1, 114) B(int, pools, 1, 115) B(int, rdma, 1, 116)               \
    B(unsigned, rdma_flush, 1, 117) B(int, rdma_order, 1, 118)                                   \
    B(unsigned, pool_handles, 1, 119) B(int, deferred_arrays, 1, 121) B(int, ipc_event, 1, 125)  \
    B(int, cluster, 1, 120) B(int, function_pointers, 1, 129) N(int, numa_config, 1, 130)        \
    N(int, numa_id, 1, 131) N(int, mps, 1, 133) N(int, host_numa, 1, 134)                        \
    N(unsigned, pci_device_id, 1, 139) N(unsigned, pci_subsystem_id, 1, 140)                     \
    N(int, numa_multinode, 1, 143) O(int, reserved_12, 63, 0) N(int, reserved_13, 56, 0)

#define PROPERTY(type, name, n, id)    PROPERTY_##n(type, name)
#define NO_PROPERTY(type, name, n, id)
#define PROPERTY_1(type, name)         type name;
#define PROPERTY_2(type, name)         type name[2];
#define PROPERTY_3(type, name)         type name[3];
#define PROPERTY_8(type, name)         type name[8];
#define PROPERTY_56(type, name)        type name[56];
#define PROPERTY_63(type, name)        type name[63];
#define PROPERTY_256(type, name)       type name[256];

typedef struct Properties12 {
    PROPERTIES(PROPERTY, PROPERTY, NO_PROPERTY)
} Properties12;
typedef struct Properties13 {
    PROPERTIES(PROPERTY, NO_PROPERTY, PROPERTY)
} Properties13;

#endif
