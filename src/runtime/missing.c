/* missing.c - functions of the run-time library that are not here: each says so, once, by its name,
** and returns cudaErrorNotSupported. tests/cli/abi.t knows when a name is in no list. */
#include "runtime/runtime.h"

#define MISSING_BOTH(F)                                                                           \
    F(cudaArrayGetMemoryRequirements) F(cudaArrayGetPlane) F(cudaArrayGetSparseProperties)        \
    F(cudaDestroyExternalMemory) F(cudaDestroyExternalSemaphore)                                  \
    F(cudaDeviceFlushGPUDirectRDMAWrites) F(cudaDeviceGetGraphMemAttribute)                       \
    F(cudaDeviceGetNvSciSyncAttributes) F(cudaDeviceGraphMemTrim)                                 \
    F(cudaDeviceRegisterAsyncNotification) F(cudaDeviceSetGraphMemAttribute)                      \
    F(cudaDeviceUnregisterAsyncNotification) F(cudaEGLStreamConsumerAcquireFrame)                 \
    F(cudaEGLStreamConsumerConnect) F(cudaEGLStreamConsumerConnectWithFlags)                      \
    F(cudaEGLStreamConsumerDisconnect) F(cudaEGLStreamConsumerReleaseFrame)                       \
    F(cudaEGLStreamProducerConnect) F(cudaEGLStreamProducerDisconnect)                            \
    F(cudaEGLStreamProducerPresentFrame) F(cudaEGLStreamProducerReturnFrame)                      \
    F(cudaEventCreateFromEGLSync) F(cudaExternalMemoryGetMappedBuffer)                            \
    F(cudaExternalMemoryGetMappedMipmappedArray) F(cudaFreeMipmappedArray) F(cudaGLGetDevices)    \
    F(cudaGLMapBufferObject) F(cudaGLMapBufferObjectAsync) F(cudaGLRegisterBufferObject)          \
    F(cudaGLSetBufferObjectMapFlags) F(cudaGLSetGLDevice) F(cudaGLUnmapBufferObject)              \
    F(cudaGLUnmapBufferObjectAsync) F(cudaGLUnregisterBufferObject) F(cudaGetExportTable)         \
    F(cudaGetMipmappedArrayLevel) F(cudaGraphAddExternalSemaphoresSignalNode)                     \
    F(cudaGraphAddExternalSemaphoresWaitNode) F(cudaGraphAddNode)                                 \
    F(cudaGraphConditionalHandleCreate) F(cudaGraphDebugDotPrint)                                 \
    F(cudaGraphEventRecordNodeGetEvent) F(cudaGraphEventWaitNodeGetEvent)                         \
    F(cudaGraphExecChildGraphNodeSetParams) F(cudaGraphExecExternalSemaphoresSignalNodeSetParams) \
    F(cudaGraphExecExternalSemaphoresWaitNodeSetParams) F(cudaGraphExecGetFlags)                  \
    F(cudaGraphExecMemcpyNodeSetParamsFromSymbol) F(cudaGraphExecMemcpyNodeSetParamsToSymbol)     \
    F(cudaGraphExecNodeSetParams) F(cudaGraphExternalSemaphoresSignalNodeGetParams)               \
    F(cudaGraphExternalSemaphoresSignalNodeSetParams)                                             \
    F(cudaGraphExternalSemaphoresWaitNodeGetParams)                                               \
    F(cudaGraphExternalSemaphoresWaitNodeSetParams) F(cudaGraphGetEdges)                          \
    F(cudaGraphHostNodeGetParams) F(cudaGraphKernelNodeCopyAttributes)                            \
    F(cudaGraphKernelNodeGetAttribute) F(cudaGraphKernelNodeGetParams)                            \
    F(cudaGraphKernelNodeSetAttribute) F(cudaGraphMemAllocNodeGetParams)                          \
    F(cudaGraphMemFreeNodeGetParams) F(cudaGraphMemcpyNodeGetParams)                              \
    F(cudaGraphMemcpyNodeSetParamsFromSymbol) F(cudaGraphMemcpyNodeSetParamsToSymbol)             \
    F(cudaGraphMemsetNodeGetParams) F(cudaGraphNodeGetDependentNodes)                            \
    F(cudaGraphNodeSetParams) F(cudaGraphReleaseUserObject) F(cudaGraphRemoveDependencies)        \
    F(cudaGraphRetainUserObject) F(cudaGraphicsEGLRegisterImage) F(cudaGraphicsGLRegisterBuffer)  \
    F(cudaGraphicsGLRegisterImage) F(cudaGraphicsMapResources)                                    \
    F(cudaGraphicsResourceGetMappedEglFrame) F(cudaGraphicsResourceGetMappedMipmappedArray)       \
    F(cudaGraphicsResourceGetMappedPointer) F(cudaGraphicsResourceSetMapFlags)                    \
    F(cudaGraphicsSubResourceGetMappedArray) F(cudaGraphicsUnmapResources)                        \
    F(cudaGraphicsUnregisterResource) F(cudaGraphicsVDPAURegisterOutputSurface)                   \
    F(cudaGraphicsVDPAURegisterVideoSurface) F(cudaImportExternalMemory)                          \
    F(cudaImportExternalSemaphore) F(cudaIpcOpenEventHandle) F(cudaIpcOpenMemHandle)              \
    F(cudaKernelSetAttributeForDevice) F(cudaLibraryEnumerateKernels)                             \
    F(cudaLibraryGetKernelCount) F(cudaLibraryGetManaged) F(cudaLibraryGetUnifiedFunction)        \
    F(cudaMallocMipmappedArray) F(cudaMemPoolExportPointer) F(cudaMemPoolExportToShareableHandle) \
    F(cudaMemPoolImportFromShareableHandle) F(cudaMemPoolImportPointer)                           \
    F(cudaMemRangeGetAttribute) F(cudaMemRangeGetAttributes) F(cudaMemcpy3DBatchAsync)            \
    F(cudaMemcpy3DBatchAsync_ptsz) F(cudaMemcpyArrayToArray) F(cudaMemcpyArrayToArray_ptds)       \
    F(cudaMemcpyBatchAsync) F(cudaMemcpyBatchAsync_ptsz)                                          \
    F(cudaMipmappedArrayGetMemoryRequirements) F(cudaMipmappedArrayGetSparseProperties)           \
    F(cudaSignalExternalSemaphoresAsync) F(cudaSignalExternalSemaphoresAsync_ptsz)                \
    F(cudaStreamGetAttribute) F(cudaStreamGetAttribute_ptsz) F(cudaUserObjectCreate)              \
    F(cudaUserObjectRelease) F(cudaUserObjectRetain) F(cudaVDPAUGetDevice)                        \
    F(cudaVDPAUSetVDPAUDevice) F(cudaWaitExternalSemaphoresAsync)                                 \
    F(cudaWaitExternalSemaphoresAsync_ptsz)
#define MISSING_12(F)                                                                             \
    F(cudaGetDeviceProperties) F(cudaGraphAddNode_v2) F(cudaGraphGetEdges_v2)                     \
    F(cudaGraphNodeGetDependentNodes_v2) F(cudaGraphRemoveDependencies_v2)                        \
    F(cudaLaunchCooperativeKernelMultiDevice) F(cudaSetDoubleForDevice) F(cudaSetDoubleForHost)   \
    F(cudaSignalExternalSemaphoresAsync_v2) F(cudaSignalExternalSemaphoresAsync_v2_ptsz)          \
    F(cudaStreamGetCaptureInfo_ptsz) F(cudaThreadGetCacheConfig) F(cudaThreadGetLimit)            \
    F(cudaThreadSetCacheConfig) F(cudaThreadSetLimit) F(cudaWaitExternalSemaphoresAsync_v2)       \
    F(cudaWaitExternalSemaphoresAsync_v2_ptsz)
#define MISSING_13(F)                                                                             \
    F(__cudaGetProcAddress) F(cudaDeviceGetHostAtomicCapabilities)                                \
    F(cudaDeviceGetP2PAtomicCapabilities) F(cudaLogsCurrent) F(cudaLogsDumpToFile)                \
    F(cudaLogsDumpToMemory) F(cudaLogsRegisterCallback) F(cudaLogsUnregisterCallback)             \
    F(cudaMemDiscardAndPrefetchBatchAsync) F(cudaMemDiscardAndPrefetchBatchAsync_ptsz)            \
    F(cudaMemDiscardBatchAsync) F(cudaMemDiscardBatchAsync_ptsz) F(cudaMemGetDefaultMemPool)      \
    F(cudaMemGetMemPool) F(cudaMemPrefetchBatchAsync) F(cudaMemPrefetchBatchAsync_ptsz)           \
    F(cudaMemSetMemPool)

static CudaError missing(const char *name, bool *told) {
    if (runtime.is_assembling) return cudaErrorNotSupported;
    if (!*told) say("%s is not supported: it returns cudaErrorNotSupported", name);
    *told = true;
    return cudaErrorNotSupported;
}

#define BODY(name)                           \
    {                                        \
        static bool told;                    \
        return CALL(missing(#name, &told));  \
    }
#define F(name) API(name, void) BODY(name)
MISSING_BOTH(F)
#undef F
#define F(name) API_12(name, void) BODY(name)
MISSING_12(F)
#undef F
#define F(name) API_13(name, void) BODY(name)
MISSING_13(F)
