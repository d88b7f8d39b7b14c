/* driver_missing.c - functions of the driver API that are not here: each says so, once, by its
** name, and returns CUDA_ERROR_NOT_SUPPORTED, which has the run-time library's number. */
#include "runtime/driver.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/report.h"

#define MISSING(F)                                                                                \
    F(cuArray3DCreate) F(cuArray3DGetDescriptor) F(cuArray3DGetDescriptor_v2) F(cuArrayCreate)    \
    F(cuArrayGetDescriptor) F(cuArrayGetDescriptor_v2) F(cuArrayGetMemoryRequirements)            \
    F(cuArrayGetPlane) F(cuArrayGetSparseProperties) F(cuCheckpointProcessCheckpoint)             \
    F(cuCheckpointProcessGetRestoreThreadId) F(cuCheckpointProcessGetState)                       \
    F(cuCheckpointProcessLock) F(cuCheckpointProcessRestore) F(cuCheckpointProcessUnlock)         \
    F(cuCoredumpGetAttribute) F(cuCoredumpGetAttributeGlobal) F(cuCoredumpSetAttribute)           \
    F(cuCoredumpSetAttributeGlobal) F(cuCtxAttach) F(cuCtxDetach) F(cuCtxDisablePeerAccess)       \
    F(cuCtxEnablePeerAccess) F(cuCtxFromGreenCtx) F(cuCtxGetCacheConfig) F(cuCtxGetDevResource)   \
    F(cuCtxGetExecAffinity) F(cuCtxGetFlags) F(cuCtxGetId)                                        \
    F(cuCtxGetSharedMemConfig) F(cuCtxGetStreamPriorityRange) F(cuCtxRecordEvent)                 \
    F(cuCtxResetPersistingL2Cache) F(cuCtxSetFlags) F(cuCtxSetSharedMemConfig)                    \
    F(cuCtxWaitEvent) F(cuDestroyExternalMemory)                                                  \
    F(cuDestroyExternalSemaphore) F(cuDevResourceGenerateDesc) F(cuDevSmResourceSplitByCount)     \
    F(cuDeviceGetByPCIBusId) F(cuDeviceGetDefaultMemPool) F(cuDeviceGetDevResource)               \
    F(cuDeviceGetExecAffinitySupport) F(cuDeviceGetGraphMemAttribute)                             \
    F(cuDeviceGetHostAtomicCapabilities) F(cuDeviceGetLuid) F(cuDeviceGetMemPool)                 \
    F(cuDeviceGetNvSciSyncAttributes) F(cuDeviceGetP2PAtomicCapabilities)                         \
    F(cuDeviceGetP2PAttribute) F(cuDeviceGetPCIBusId) F(cuDeviceGetProperties)                    \
    F(cuDeviceGetTexture1DLinearMaxWidth) F(cuDeviceGraphMemTrim) F(cuDevicePrimaryCtxGetState)   \
    F(cuDevicePrimaryCtxReset) F(cuDevicePrimaryCtxReset_v2) F(cuDevicePrimaryCtxSetFlags)        \
    F(cuDeviceRegisterAsyncNotification) F(cuDeviceSetGraphMemAttribute) F(cuDeviceSetMemPool)    \
    F(cuDeviceTotalMem) F(cuDeviceUnregisterAsyncNotification) F(cuEventRecordWithFlags)          \
    F(cuEventRecordWithFlags_ptsz) F(cuEventRecord_ptsz) F(cuExternalMemoryGetMappedBuffer)       \
    F(cuExternalMemoryGetMappedMipmappedArray) F(cuFlushGPUDirectRDMAWrites) F(cuFuncGetModule)   \
    F(cuFuncGetName) F(cuFuncGetParamInfo) F(cuFuncIsLoaded) F(cuFuncLoad) F(cuFuncSetBlockShape) \
    F(cuFuncSetSharedMemConfig) F(cuFuncSetSharedSize)                                            \
    F(cuGraphAddBatchMemOpNode) F(cuGraphAddChildGraphNode) F(cuGraphAddDependencies)             \
    F(cuGraphAddDependencies_v2) F(cuGraphAddEmptyNode) F(cuGraphAddEventRecordNode)              \
    F(cuGraphAddEventWaitNode) F(cuGraphAddExternalSemaphoresSignalNode)                          \
    F(cuGraphAddExternalSemaphoresWaitNode) F(cuGraphAddHostNode) F(cuGraphAddKernelNode)         \
    F(cuGraphAddKernelNode_v2) F(cuGraphAddMemAllocNode) F(cuGraphAddMemFreeNode)                 \
    F(cuGraphAddMemcpyNode) F(cuGraphAddMemsetNode) F(cuGraphAddNode) F(cuGraphAddNode_v2)        \
    F(cuGraphBatchMemOpNodeGetParams) F(cuGraphBatchMemOpNodeSetParams)                           \
    F(cuGraphChildGraphNodeGetGraph) F(cuGraphClone) F(cuGraphConditionalHandleCreate)            \
    F(cuGraphCreate) F(cuGraphDebugDotPrint) F(cuGraphDestroy) F(cuGraphDestroyNode)              \
    F(cuGraphEventRecordNodeGetEvent) F(cuGraphEventRecordNodeSetEvent)                           \
    F(cuGraphEventWaitNodeGetEvent) F(cuGraphEventWaitNodeSetEvent)                               \
    F(cuGraphExecBatchMemOpNodeSetParams) F(cuGraphExecChildGraphNodeSetParams)                   \
    F(cuGraphExecDestroy) F(cuGraphExecEventRecordNodeSetEvent)                                   \
    F(cuGraphExecEventWaitNodeSetEvent) F(cuGraphExecExternalSemaphoresSignalNodeSetParams)       \
    F(cuGraphExecExternalSemaphoresWaitNodeSetParams) F(cuGraphExecGetFlags)                      \
    F(cuGraphExecHostNodeSetParams) F(cuGraphExecKernelNodeSetParams)                             \
    F(cuGraphExecKernelNodeSetParams_v2) F(cuGraphExecMemcpyNodeSetParams)                        \
    F(cuGraphExecMemsetNodeSetParams) F(cuGraphExecNodeSetParams) F(cuGraphExecUpdate)            \
    F(cuGraphExecUpdate_v2) F(cuGraphExternalSemaphoresSignalNodeGetParams)                       \
    F(cuGraphExternalSemaphoresSignalNodeSetParams) F(cuGraphExternalSemaphoresWaitNodeGetParams) \
    F(cuGraphExternalSemaphoresWaitNodeSetParams) F(cuGraphGetEdges) F(cuGraphGetEdges_v2)        \
    F(cuGraphGetNodes) F(cuGraphGetRootNodes) F(cuGraphHostNodeGetParams)                         \
    F(cuGraphHostNodeSetParams) F(cuGraphInstantiate) F(cuGraphInstantiateWithFlags)              \
    F(cuGraphInstantiateWithParams) F(cuGraphInstantiateWithParams_ptsz) F(cuGraphInstantiate_v2) \
    F(cuGraphKernelNodeCopyAttributes) F(cuGraphKernelNodeGetAttribute)                           \
    F(cuGraphKernelNodeGetParams) F(cuGraphKernelNodeGetParams_v2)                                \
    F(cuGraphKernelNodeSetAttribute) F(cuGraphKernelNodeSetParams)                                \
    F(cuGraphKernelNodeSetParams_v2) F(cuGraphLaunch) F(cuGraphLaunch_ptsz)                       \
    F(cuGraphMemAllocNodeGetParams) F(cuGraphMemFreeNodeGetParams) F(cuGraphMemcpyNodeGetParams)  \
    F(cuGraphMemcpyNodeSetParams) F(cuGraphMemsetNodeGetParams) F(cuGraphMemsetNodeSetParams)     \
    F(cuGraphNodeFindInClone) F(cuGraphNodeGetDependencies) F(cuGraphNodeGetDependencies_v2)      \
    F(cuGraphNodeGetDependentNodes) F(cuGraphNodeGetDependentNodes_v2) F(cuGraphNodeGetEnabled)   \
    F(cuGraphNodeGetType) F(cuGraphNodeSetEnabled) F(cuGraphNodeSetParams)                        \
    F(cuGraphReleaseUserObject) F(cuGraphRemoveDependencies) F(cuGraphRemoveDependencies_v2)      \
    F(cuGraphRetainUserObject) F(cuGraphUpload) F(cuGraphUpload_ptsz) F(cuGraphicsMapResources)   \
    F(cuGraphicsMapResources_ptsz) F(cuGraphicsResourceGetMappedMipmappedArray)                   \
    F(cuGraphicsResourceGetMappedPointer) F(cuGraphicsResourceGetMappedPointer_v2)                \
    F(cuGraphicsResourceSetMapFlags) F(cuGraphicsResourceSetMapFlags_v2)                          \
    F(cuGraphicsSubResourceGetMappedArray) F(cuGraphicsUnmapResources)                            \
    F(cuGraphicsUnmapResources_ptsz) F(cuGraphicsUnregisterResource) F(cuGreenCtxCreate)          \
    F(cuGreenCtxDestroy) F(cuGreenCtxGetDevResource) F(cuGreenCtxGetId) F(cuGreenCtxRecordEvent)  \
    F(cuGreenCtxStreamCreate) F(cuGreenCtxWaitEvent) F(cuImportExternalMemory)                    \
    F(cuImportExternalSemaphore) F(cuIpcCloseMemHandle) F(cuIpcGetEventHandle)                    \
    F(cuIpcGetMemHandle) F(cuIpcOpenEventHandle) F(cuIpcOpenMemHandle) F(cuIpcOpenMemHandle_v2)   \
    F(cuKernelGetLibrary) F(cuKernelGetName) F(cuKernelGetParamInfo) F(cuKernelSetCacheConfig)    \
    F(cuLaunch)                                                                                   \
    F(cuLaunchCooperativeKernelMultiDevice) F(cuLaunchGrid) F(cuLaunchGridAsync)                  \
    F(cuLaunchHostFunc_ptsz)                                                                      \
    F(cuLibraryEnumerateKernels) F(cuLibraryGetKernelCount) F(cuLibraryGetManaged)                \
    F(cuLibraryGetUnifiedFunction) F(cuLibraryLoadFromFile) F(cuLinkAddData) F(cuLinkAddFile)     \
    F(cuLinkCreate) F(cuLogsCurrent) F(cuLogsDumpToFile) F(cuLogsDumpToMemory)                    \
    F(cuLogsRegisterCallback) F(cuLogsUnregisterCallback) F(cuMemAddressFree)                     \
    F(cuMemAddressReserve) F(cuMemAdvise) F(cuMemAdvise_v2) F(cuMemAlloc) F(cuMemAllocAsync_ptsz) \
    F(cuMemAllocFromPoolAsync) F(cuMemAllocFromPoolAsync_ptsz) F(cuMemAllocHost)                  \
    F(cuMemAllocPitch) F(cuMemBatchDecompressAsync) F(cuMemBatchDecompressAsync_ptsz)             \
    F(cuMemCreate) F(cuMemDiscardAndPrefetchBatchAsync) F(cuMemDiscardAndPrefetchBatchAsync_ptsz) \
    F(cuMemDiscardBatchAsync) F(cuMemDiscardBatchAsync_ptsz) F(cuMemExportToShareableHandle)      \
    F(cuMemFree) F(cuMemFreeAsync_ptsz) F(cuMemGetAccess) F(cuMemGetAddressRange)                 \
    F(cuMemGetAllocationGranularity) F(cuMemGetAllocationPropertiesFromHandle)                    \
    F(cuMemGetDefaultMemPool) F(cuMemGetHandleForAddressRange) F(cuMemGetInfo) F(cuMemGetMemPool) \
    F(cuMemHostGetDevicePointer) F(cuMemHostGetFlags) F(cuMemHostRegister)                        \
    F(cuMemImportFromShareableHandle) F(cuMemMap) F(cuMemMapArrayAsync)                           \
    F(cuMemMapArrayAsync_ptsz) F(cuMemPoolCreate) F(cuMemPoolDestroy) F(cuMemPoolExportPointer)   \
    F(cuMemPoolExportToShareableHandle) F(cuMemPoolGetAccess) F(cuMemPoolGetAttribute)            \
    F(cuMemPoolImportFromShareableHandle) F(cuMemPoolImportPointer) F(cuMemPoolSetAccess)         \
    F(cuMemPoolSetAttribute) F(cuMemPoolTrimTo) F(cuMemPrefetchAsync) F(cuMemPrefetchAsync_ptsz)  \
    F(cuMemPrefetchAsync_v2) F(cuMemPrefetchAsync_v2_ptsz) F(cuMemPrefetchBatchAsync)             \
    F(cuMemPrefetchBatchAsync_ptsz) F(cuMemRangeGetAttribute) F(cuMemRangeGetAttributes)          \
    F(cuMemRelease) F(cuMemRetainAllocationHandle) F(cuMemSetAccess) F(cuMemSetMemPool)           \
    F(cuMemUnmap) F(cuMemcpy2D) F(cuMemcpy2DAsync) F(cuMemcpy2DAsync_v2_ptsz)                     \
    F(cuMemcpy2DUnaligned) F(cuMemcpy2DUnaligned_v2_ptds) F(cuMemcpy2D_v2_ptds) F(cuMemcpy3D)     \
    F(cuMemcpy3DAsync) F(cuMemcpy3DAsync_v2) F(cuMemcpy3DAsync_v2_ptsz) F(cuMemcpy3DBatchAsync)   \
    F(cuMemcpy3DBatchAsync_ptsz) F(cuMemcpy3DBatchAsync_v2) F(cuMemcpy3DBatchAsync_v2_ptsz)       \
    F(cuMemcpy3DPeer) F(cuMemcpy3DPeerAsync) F(cuMemcpy3DPeerAsync_ptsz) F(cuMemcpy3DPeer_ptds)   \
    F(cuMemcpy3D_v2) F(cuMemcpy3D_v2_ptds) F(cuMemcpyAsync_ptsz) F(cuMemcpyAtoA)                  \
    F(cuMemcpyAtoA_v2) F(cuMemcpyAtoA_v2_ptds) F(cuMemcpyAtoD) F(cuMemcpyAtoD_v2)                 \
    F(cuMemcpyAtoD_v2_ptds) F(cuMemcpyAtoH) F(cuMemcpyAtoHAsync) F(cuMemcpyAtoHAsync_v2)          \
    F(cuMemcpyAtoHAsync_v2_ptsz) F(cuMemcpyAtoH_v2) F(cuMemcpyAtoH_v2_ptds) F(cuMemcpyBatchAsync) \
    F(cuMemcpyBatchAsync_ptsz) F(cuMemcpyBatchAsync_v2) F(cuMemcpyBatchAsync_v2_ptsz)             \
    F(cuMemcpyDtoA) F(cuMemcpyDtoA_v2) F(cuMemcpyDtoA_v2_ptds) F(cuMemcpyDtoD)                    \
    F(cuMemcpyDtoDAsync) F(cuMemcpyDtoDAsync_v2_ptsz) F(cuMemcpyDtoD_v2_ptds) F(cuMemcpyDtoH)     \
    F(cuMemcpyDtoHAsync) F(cuMemcpyDtoHAsync_v2_ptsz) F(cuMemcpyDtoH_v2_ptds) F(cuMemcpyHtoA)     \
    F(cuMemcpyHtoAAsync) F(cuMemcpyHtoAAsync_v2) F(cuMemcpyHtoAAsync_v2_ptsz) F(cuMemcpyHtoA_v2)  \
    F(cuMemcpyHtoA_v2_ptds) F(cuMemcpyHtoD) F(cuMemcpyHtoDAsync) F(cuMemcpyHtoDAsync_v2_ptsz)     \
    F(cuMemcpyHtoD_v2_ptds) F(cuMemcpyPeer) F(cuMemcpyPeerAsync) F(cuMemcpyPeerAsync_ptsz)        \
    F(cuMemcpyPeer_ptds) F(cuMemcpy_ptds) F(cuMemsetD16) F(cuMemsetD16Async_ptsz)                 \
    F(cuMemsetD16_v2_ptds) F(cuMemsetD2D16) F(cuMemsetD2D16Async) F(cuMemsetD2D16Async_ptsz)      \
    F(cuMemsetD2D16_v2) F(cuMemsetD2D16_v2_ptds) F(cuMemsetD2D32) F(cuMemsetD2D32Async)           \
    F(cuMemsetD2D32Async_ptsz) F(cuMemsetD2D32_v2) F(cuMemsetD2D32_v2_ptds) F(cuMemsetD2D8)       \
    F(cuMemsetD2D8Async) F(cuMemsetD2D8Async_ptsz) F(cuMemsetD2D8_v2) F(cuMemsetD2D8_v2_ptds)     \
    F(cuMemsetD32) F(cuMemsetD32Async_ptsz) F(cuMemsetD32_v2_ptds) F(cuMemsetD8)                  \
    F(cuMemsetD8Async_ptsz) F(cuMemsetD8_v2_ptds) F(cuMipmappedArrayCreate)                       \
    F(cuMipmappedArrayDestroy) F(cuMipmappedArrayGetLevel)                                        \
    F(cuMipmappedArrayGetMemoryRequirements) F(cuMipmappedArrayGetSparseProperties)               \
    F(cuModuleEnumerateFunctions) F(cuModuleGetFunctionCount) F(cuModuleGetGlobal)                \
    F(cuModuleGetLoadingMode) F(cuModuleGetSurfRef) F(cuModuleGetTexRef) F(cuMulticastAddDevice)  \
    F(cuMulticastBindAddr) F(cuMulticastBindMem) F(cuMulticastCreate)                             \
    F(cuMulticastGetGranularity) F(cuMulticastUnbind) F(cuOccupancyAvailableDynamicSMemPerBlock)  \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)                                       \
    F(cuOccupancyMaxPotentialBlockSizeWithFlags)                                                  \
    F(cuParamSetSize) F(cuParamSetTexRef) F(cuParamSetf) F(cuParamSeti) F(cuParamSetv)            \
    F(cuPointerGetAttribute) F(cuPointerGetAttributes) F(cuPointerSetAttribute)                   \
    F(cuProfilerInitialize) F(cuSignalExternalSemaphoresAsync)                                    \
    F(cuSignalExternalSemaphoresAsync_ptsz) F(cuStreamAddCallback_ptsz) F(cuStreamAttachMemAsync) \
    F(cuStreamAttachMemAsync_ptsz) F(cuStreamBatchMemOp) F(cuStreamBatchMemOp_ptsz)               \
    F(cuStreamBatchMemOp_v2) F(cuStreamBatchMemOp_v2_ptsz) F(cuStreamBeginCapture)                \
    F(cuStreamBeginCaptureToGraph) F(cuStreamBeginCaptureToGraph_ptsz)                            \
    F(cuStreamBeginCapture_ptsz) F(cuStreamBeginCapture_v2) F(cuStreamBeginCapture_v2_ptsz)       \
    F(cuStreamCopyAttributes) F(cuStreamCopyAttributes_ptsz) F(cuStreamEndCapture)                \
    F(cuStreamEndCapture_ptsz) F(cuStreamGetAttribute) F(cuStreamGetAttribute_ptsz)               \
    F(cuStreamGetCaptureInfo) F(cuStreamGetCaptureInfo_ptsz) F(cuStreamGetCaptureInfo_v2)         \
    F(cuStreamGetCaptureInfo_v2_ptsz) F(cuStreamGetCaptureInfo_v3)                                \
    F(cuStreamGetCaptureInfo_v3_ptsz) F(cuStreamGetCtx) F(cuStreamGetCtx_ptsz)                    \
    F(cuStreamGetCtx_v2) F(cuStreamGetCtx_v2_ptsz) F(cuStreamGetDevice) F(cuStreamGetDevice_ptsz) \
    F(cuStreamGetFlags_ptsz) F(cuStreamGetGreenCtx) F(cuStreamGetId) F(cuStreamGetId_ptsz)        \
    F(cuStreamGetPriority_ptsz) F(cuStreamIsCapturing) F(cuStreamIsCapturing_ptsz)                \
    F(cuStreamQuery_ptsz) F(cuStreamSetAttribute) F(cuStreamSetAttribute_ptsz)                    \
    F(cuStreamSynchronize_ptsz) F(cuStreamUpdateCaptureDependencies)                              \
    F(cuStreamUpdateCaptureDependencies_ptsz) F(cuStreamUpdateCaptureDependencies_v2)             \
    F(cuStreamUpdateCaptureDependencies_v2_ptsz) F(cuStreamWaitEvent_ptsz)                        \
    F(cuSurfObjectGetResourceDesc) F(cuSurfRefGetArray) F(cuSurfRefSetArray)                      \
    F(cuTensorMapEncodeIm2colWide)                                                                \
    F(cuTexObjectGetResourceDesc) F(cuTexObjectGetResourceViewDesc)  \
    F(cuTexObjectGetTextureDesc) F(cuTexRefCreate) F(cuTexRefDestroy) F(cuTexRefGetAddress)       \
    F(cuTexRefGetAddressMode) F(cuTexRefGetAddress_v2) F(cuTexRefGetArray)                        \
    F(cuTexRefGetBorderColor) F(cuTexRefGetFilterMode) F(cuTexRefGetFlags) F(cuTexRefGetFormat)   \
    F(cuTexRefGetMaxAnisotropy) F(cuTexRefGetMipmapFilterMode) F(cuTexRefGetMipmapLevelBias)      \
    F(cuTexRefGetMipmapLevelClamp) F(cuTexRefGetMipmappedArray) F(cuTexRefSetAddress)             \
    F(cuTexRefSetAddress2D) F(cuTexRefSetAddress2D_v2) F(cuTexRefSetAddress2D_v3)                 \
    F(cuTexRefSetAddressMode) F(cuTexRefSetAddress_v2) F(cuTexRefSetArray)                        \
    F(cuTexRefSetBorderColor) F(cuTexRefSetFilterMode) F(cuTexRefSetFlags) F(cuTexRefSetFormat)   \
    F(cuTexRefSetMaxAnisotropy) F(cuTexRefSetMipmapFilterMode) F(cuTexRefSetMipmapLevelBias)      \
    F(cuTexRefSetMipmapLevelClamp) F(cuTexRefSetMipmappedArray)                                   \
    F(cuThreadExchangeStreamCaptureMode) F(cuUserObjectCreate) F(cuUserObjectRelease)             \
    F(cuUserObjectRetain) F(cuWaitExternalSemaphoresAsync) F(cuWaitExternalSemaphoresAsync_ptsz)

static CudaError missing(const char *name, bool *told) {
    if (runtime.is_assembling) return cudaErrorNotSupported;
    if (!*told) say("%s is not supported: it returns CUDA_ERROR_NOT_SUPPORTED", name);
    *told = true;
    return cudaErrorNotSupported;
}

#define F(name)                             \
    DRIVER(name, void) {                    \
        static bool told;                   \
        return DRIVE(missing(#name, &told)); \
    }
MISSING(F)

/* Compilers ask for the driver's private tables, too, and do without them. */
static bool is_compiler(const char *library) {
    return strncmp(library, "libnvrtc", 8) == 0 || strncmp(library, "libnvJitLink", 12) == 0;
}

static void note_closed(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (is_compiler(name)) return;
    report_missing("%s found no GPU: its kernels are machine code, which the virtual GPU cannot "
                   "run",
                   name);
}

/* The driver's private tables: NVIDIA's libraries ask for them before they launch machine code. */
DRIVER(cuGetExportTable, const void **table, const void *id) {
    (void)table, (void)id;
    Dl_info asks;
    if (!runtime.is_assembling && dladdr(__builtin_return_address(0), &asks))
        note_closed(asks.dli_fname);
    return DRIVE(cudaErrorNotSupported);
}
