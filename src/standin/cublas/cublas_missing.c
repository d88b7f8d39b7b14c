/* cublas_missing.c - functions of cuBLAS that are not here: each says so, once, by its name, and
** returns CUBLAS_STATUS_NOT_SUPPORTED. Those with 64-bit sizes (cublasSgemm_v2_64 …) are not here,
** either: the loader names them. */
#include "standin/cublas/cublas.h"
#include "standin/shared/standin.h"

#define MISSING(F)                                                                                \
    F(cublasAlloc) F(cublasAsumEx) F(cublasAxpyEx) F(cublasCaxpy) F(cublasCbdmm) F(cublasCcopy)   \
    F(cublasCdotc) F(cublasCdotu) F(cublasCgbmv) F(cublasCgelsBatched) F(cublasCgemm)             \
    F(cublasCgemm3mBatched) F(cublasCgemm3mEx) F(cublasCgemm3mStridedBatched) F(cublasCgemmEx)    \
    F(cublasCgemv) F(cublasCgemvBatched) F(cublasCgemvStridedBatched) F(cublasCgeqrfBatched)      \
    F(cublasCgerc) F(cublasCgeru) F(cublasCgetrfBatched) F(cublasCgetriBatched)                   \
    F(cublasCgetrsBatched) F(cublasChbmv) F(cublasChemm) F(cublasChemv) F(cublasCher)             \
    F(cublasCher2) F(cublasCher2k) F(cublasCherk) F(cublasCherk3mEx) F(cublasCherkEx)             \
    F(cublasChpmv) F(cublasChpr) F(cublasChpr2) F(cublasCmatinvBatched) F(cublasCopyEx)           \
    F(cublasCrot) F(cublasCrot_v2) F(cublasCrotg) F(cublasCscal) F(cublasCsrot) F(cublasCsscal)   \
    F(cublasCswap) F(cublasCsymm) F(cublasCsymv_v2) F(cublasCsyr2_v2) F(cublasCsyr2k)             \
    F(cublasCsyr_v2) F(cublasCsyrk) F(cublasCsyrk3mEx) F(cublasCsyrkEx) F(cublasCtbmv)            \
    F(cublasCtbsv) F(cublasCtpmv) F(cublasCtpsv) F(cublasCtpttr) F(cublasCtrmm) F(cublasCtrmv)    \
    F(cublasCtrsm) F(cublasCtrsv) F(cublasCtrttp) F(cublasDasum) F(cublasDaxpy) F(cublasDbdmm)    \
    F(cublasDcopy) F(cublasDdot) F(cublasDgbmv) F(cublasDgelsBatched) F(cublasDgemm)              \
    F(cublasDgemv) F(cublasDgemvBatched) F(cublasDgemvStridedBatched) F(cublasDgeqrfBatched)      \
    F(cublasDger) F(cublasDgetrfBatched) F(cublasDgetriBatched) F(cublasDgetrsBatched)            \
    F(cublasDmatinvBatched) F(cublasDnrm2) F(cublasDotEx) F(cublasDotcEx) F(cublasDrot)           \
    F(cublasDrotg) F(cublasDrotm) F(cublasDrotmg) F(cublasDsbmv) F(cublasDscal) F(cublasDspmv)    \
    F(cublasDspr) F(cublasDspr2) F(cublasDswap) F(cublasDsymm) F(cublasDsymv) F(cublasDsyr)       \
    F(cublasDsyr2) F(cublasDsyr2k) F(cublasDsyrk) F(cublasDtbmv) F(cublasDtbsv) F(cublasDtpmv)    \
    F(cublasDtpsv) F(cublasDtpttr) F(cublasDtrmm) F(cublasDtrmv) F(cublasDtrsm) F(cublasDtrsv)    \
    F(cublasDtrttp) F(cublasDzasum) F(cublasDznrm2) F(cublasFree) F(cublasGetBackdoor)            \
    F(cublasGetCudartVersion) F(cublasGetEmulationSpecialValuesSupport)                           \
    F(cublasGetEmulationStrategy) F(cublasGetEnvironmentMode) F(cublasGetError)                   \
    F(cublasGetFixedPointEmulationMantissaBitCountPointer)                                        \
    F(cublasGetFixedPointEmulationMantissaBitOffset)                                              \
    F(cublasGetFixedPointEmulationMantissaControl)                                                \
    F(cublasGetFixedPointEmulationMaxMantissaBitCount) F(cublasGetLoggerCallback)                 \
    F(cublasGetSmCountTarget) F(cublasGetVersion) F(cublasHSHgemvBatched)                         \
    F(cublasHSHgemvStridedBatched) F(cublasHSSgemvBatched) F(cublasHSSgemvStridedBatched)         \
    F(cublasIamaxEx) F(cublasIaminEx) F(cublasIcamax) F(cublasIcamin) F(cublasIdamax)             \
    F(cublasIdamin) F(cublasInit) F(cublasIsamax) F(cublasIsamin) F(cublasIzamax)                 \
    F(cublasIzamin) F(cublasLoggerConfigure) F(cublasNrm2Ex) F(cublasRotEx) F(cublasRotgEx)       \
    F(cublasRotmEx) F(cublasRotmgEx) F(cublasSasum) F(cublasSaxpy) F(cublasSbdmm)                 \
    F(cublasScalEx) F(cublasScasum) F(cublasScnrm2) F(cublasScopy) F(cublasSdot)                  \
    F(cublasSetBackdoor) F(cublasSetBackdoorEx) F(cublasSetEmulationSpecialValuesSupport)         \
    F(cublasSetEmulationStrategy) F(cublasSetEnvironmentMode)                                     \
    F(cublasSetFixedPointEmulationMantissaBitCountPointer)                                        \
    F(cublasSetFixedPointEmulationMantissaBitOffset)                                              \
    F(cublasSetFixedPointEmulationMantissaControl)                                                \
    F(cublasSetFixedPointEmulationMaxMantissaBitCount) F(cublasSetKernelStream)                   \
    F(cublasSetLoggerCallback) F(cublasSetSmCountTarget) F(cublasSgbmv) F(cublasSgelsBatched)     \
    F(cublasSgemm) F(cublasSgemv) F(cublasSgemvBatched) F(cublasSgemvStridedBatched)              \
    F(cublasSgeqrfBatched) F(cublasSger) F(cublasSgetrfBatched) F(cublasSgetriBatched)            \
    F(cublasSgetrsBatched) F(cublasShutdown) F(cublasSmatinvBatched) F(cublasSnrm2)               \
    F(cublasSrot) F(cublasSrotg) F(cublasSrotm) F(cublasSrotmg) F(cublasSsbmv) F(cublasSscal)     \
    F(cublasSspmv) F(cublasSspr) F(cublasSspr2) F(cublasSswap) F(cublasSsymm) F(cublasSsymv)      \
    F(cublasSsyr) F(cublasSsyr2) F(cublasSsyr2k) F(cublasSsyrk) F(cublasStbmv) F(cublasStbsv)     \
    F(cublasStpmv) F(cublasStpsv) F(cublasStpttr) F(cublasStrmm) F(cublasStrmv) F(cublasStrsm)    \
    F(cublasStrsv) F(cublasStrttp) F(cublasSwapEx) F(cublasTSSgemvBatched)                        \
    F(cublasTSSgemvStridedBatched) F(cublasTSTgemvBatched) F(cublasTSTgemvStridedBatched)         \
    F(cublasUint8gemmBias) F(cublasXerbla) F(cublasXtCgemm) F(cublasXtChemm) F(cublasXtCher2k)    \
    F(cublasXtCherk) F(cublasXtCherkx) F(cublasXtCreate) F(cublasXtCspmm) F(cublasXtCsymm)        \
    F(cublasXtCsyr2k) F(cublasXtCsyrk) F(cublasXtCsyrkx) F(cublasXtCtrmm) F(cublasXtCtrsm)        \
    F(cublasXtDestroy) F(cublasXtDeviceSelect) F(cublasXtDgemm) F(cublasXtDspmm)                  \
    F(cublasXtDsymm) F(cublasXtDsyr2k) F(cublasXtDsyrk) F(cublasXtDsyrkx) F(cublasXtDtrmm)        \
    F(cublasXtDtrsm) F(cublasXtGetBlockDim) F(cublasXtGetNumBoards) F(cublasXtGetPinningMemMode)  \
    F(cublasXtMaxBoards) F(cublasXtSetBlockDim) F(cublasXtSetCpuRatio) F(cublasXtSetCpuRoutine)   \
    F(cublasXtSetPinningMemMode) F(cublasXtSgemm) F(cublasXtSspmm) F(cublasXtSsymm)               \
    F(cublasXtSsyr2k) F(cublasXtSsyrk) F(cublasXtSsyrkx) F(cublasXtStrmm) F(cublasXtStrsm)        \
    F(cublasXtZgemm) F(cublasXtZhemm) F(cublasXtZher2k) F(cublasXtZherk) F(cublasXtZherkx)        \
    F(cublasXtZspmm) F(cublasXtZsymm) F(cublasXtZsyr2k) F(cublasXtZsyrk) F(cublasXtZsyrkx)        \
    F(cublasXtZtrmm) F(cublasXtZtrsm) F(cublasZaxpy) F(cublasZbdmm) F(cublasZcopy)                \
    F(cublasZdotc) F(cublasZdotu) F(cublasZdrot) F(cublasZdscal) F(cublasZgbmv)                   \
    F(cublasZgelsBatched) F(cublasZgemm) F(cublasZgemv) F(cublasZgemvBatched)                     \
    F(cublasZgemvStridedBatched) F(cublasZgeqrfBatched) F(cublasZgerc) F(cublasZgeru)             \
    F(cublasZgetrfBatched) F(cublasZgetriBatched) F(cublasZgetrsBatched) F(cublasZhbmv)           \
    F(cublasZhemm) F(cublasZhemv) F(cublasZher) F(cublasZher2) F(cublasZher2k) F(cublasZherk)     \
    F(cublasZhpmv) F(cublasZhpr) F(cublasZhpr2) F(cublasZmatinvBatched) F(cublasZrot)             \
    F(cublasZrot_v2) F(cublasZrotg) F(cublasZscal) F(cublasZswap) F(cublasZsymm)                  \
    F(cublasZsymv_v2) F(cublasZsyr2_v2) F(cublasZsyr2k) F(cublasZsyr_v2) F(cublasZsyrk)           \
    F(cublasZtbmv) F(cublasZtbsv) F(cublasZtpmv) F(cublasZtpsv) F(cublasZtpttr) F(cublasZtrmm)    \
    F(cublasZtrmv) F(cublasZtrsm) F(cublasZtrsv) F(cublasZtrttp)

#define F(name) STANDIN_MISSING(name, "CUBLAS_STATUS_NOT_SUPPORTED", BLAS_NOT_SUPPORTED)
MISSING(F)
