/* missing.c - functions of cuSPARSE that are not here: each says so, once, by its name, and returns
** CUSPARSE_STATUS_NOT_SUPPORTED. */
#include "standin/cusparse/sparse.h"

#define MISSING(F)                                                                                \
    F(cusparseBlockedEllGet) F(cusparseBsrSetStridedBatch) F(cusparseCbsr2csr)                    \
    F(cusparseCbsric02) F(cusparseCbsric02_analysis) F(cusparseCbsric02_bufferSize)               \
    F(cusparseCbsrilu02) F(cusparseCbsrilu02_analysis) F(cusparseCbsrilu02_bufferSize)            \
    F(cusparseCbsrilu02_numericBoost) F(cusparseCbsrmm) F(cusparseCbsrmv)                         \
    F(cusparseCbsrsm2_analysis) F(cusparseCbsrsm2_bufferSize) F(cusparseCbsrsm2_solve)            \
    F(cusparseCbsrsv2_analysis) F(cusparseCbsrsv2_bufferSize) F(cusparseCbsrsv2_solve)            \
    F(cusparseCbsrxmv) F(cusparseCcsr2bsr) F(cusparseCcsr2csr_compress) F(cusparseCcsr2csru)      \
    F(cusparseCcsr2gebsr) F(cusparseCcsr2gebsr_bufferSize) F(cusparseCcsrcolor)                   \
    F(cusparseCcsrgeam2) F(cusparseCcsrgeam2_bufferSizeExt) F(cusparseCcsric02)                   \
    F(cusparseCcsric02_analysis) F(cusparseCcsric02_bufferSize) F(cusparseCcsrilu02)              \
    F(cusparseCcsrilu02_analysis) F(cusparseCcsrilu02_bufferSize)                                 \
    F(cusparseCcsrilu02_numericBoost) F(cusparseCcsru2csr) F(cusparseCcsru2csr_bufferSizeExt)     \
    F(cusparseCgebsr2csr) F(cusparseCgebsr2gebsc) F(cusparseCgebsr2gebsc_bufferSize)              \
    F(cusparseCgebsr2gebsr) F(cusparseCgebsr2gebsr_bufferSize) F(cusparseCgemvi)                  \
    F(cusparseCgemvi_bufferSize) F(cusparseCgpsvInterleavedBatch)                                 \
    F(cusparseCgpsvInterleavedBatch_bufferSizeExt) F(cusparseCgtsv2)                              \
    F(cusparseCgtsv2StridedBatch) F(cusparseCgtsv2StridedBatch_bufferSizeExt)                     \
    F(cusparseCgtsv2_bufferSizeExt) F(cusparseCgtsv2_nopivot)                                     \
    F(cusparseCgtsv2_nopivot_bufferSizeExt) F(cusparseCgtsvInterleavedBatch)                      \
    F(cusparseCgtsvInterleavedBatch_bufferSizeExt) F(cusparseCnnz) F(cusparseCnnz_compress)       \
    F(cusparseConstBlockedEllGet) F(cusparseCreateBlockedEll) F(cusparseCreateBsr)                \
    F(cusparseCreateBsric02Info) F(cusparseCreateBsrilu02Info) F(cusparseCreateBsrsm2Info)        \
    F(cusparseCreateBsrsv2Info) F(cusparseCreateColorInfo) F(cusparseCreateConstBlockedEll)       \
    F(cusparseCreateConstBsr) F(cusparseCreateConstSlicedEll) F(cusparseCreateCsric02Info)        \
    F(cusparseCreateCsrilu02Info) F(cusparseCreateCsru2csrInfo) F(cusparseCreatePruneInfo)        \
    F(cusparseCreateSlicedEll) F(cusparseDbsr2csr) F(cusparseDbsric02)                            \
    F(cusparseDbsric02_analysis) F(cusparseDbsric02_bufferSize) F(cusparseDbsrilu02)              \
    F(cusparseDbsrilu02_analysis) F(cusparseDbsrilu02_bufferSize)                                 \
    F(cusparseDbsrilu02_numericBoost) F(cusparseDbsrmm) F(cusparseDbsrmv)                         \
    F(cusparseDbsrsm2_analysis) F(cusparseDbsrsm2_bufferSize) F(cusparseDbsrsm2_solve)            \
    F(cusparseDbsrsv2_analysis) F(cusparseDbsrsv2_bufferSize) F(cusparseDbsrsv2_solve)            \
    F(cusparseDbsrxmv) F(cusparseDcsr2bsr) F(cusparseDcsr2csr_compress) F(cusparseDcsr2csru)      \
    F(cusparseDcsr2gebsr) F(cusparseDcsr2gebsr_bufferSize) F(cusparseDcsrcolor)                   \
    F(cusparseDcsrgeam2) F(cusparseDcsrgeam2_bufferSizeExt) F(cusparseDcsric02)                   \
    F(cusparseDcsric02_analysis) F(cusparseDcsric02_bufferSize) F(cusparseDcsrilu02)              \
    F(cusparseDcsrilu02_analysis) F(cusparseDcsrilu02_bufferSize)                                 \
    F(cusparseDcsrilu02_numericBoost) F(cusparseDcsru2csr) F(cusparseDcsru2csr_bufferSizeExt)     \
    F(cusparseDestroyBsric02Info) F(cusparseDestroyBsrilu02Info) F(cusparseDestroyBsrsm2Info)     \
    F(cusparseDestroyBsrsv2Info) F(cusparseDestroyColorInfo) F(cusparseDestroyCsric02Info)        \
    F(cusparseDestroyCsrilu02Info) F(cusparseDestroyCsru2csrInfo) F(cusparseDestroyPruneInfo)     \
    F(cusparseDgebsr2csr) F(cusparseDgebsr2gebsc) F(cusparseDgebsr2gebsc_bufferSize)              \
    F(cusparseDgebsr2gebsr) F(cusparseDgebsr2gebsr_bufferSize) F(cusparseDgemvi)                  \
    F(cusparseDgemvi_bufferSize) F(cusparseDgpsvInterleavedBatch)                                 \
    F(cusparseDgpsvInterleavedBatch_bufferSizeExt) F(cusparseDgtsv2)                              \
    F(cusparseDgtsv2StridedBatch) F(cusparseDgtsv2StridedBatch_bufferSizeExt)                     \
    F(cusparseDgtsv2_bufferSizeExt) F(cusparseDgtsv2_nopivot)                                     \
    F(cusparseDgtsv2_nopivot_bufferSizeExt) F(cusparseDgtsvInterleavedBatch)                      \
    F(cusparseDgtsvInterleavedBatch_bufferSizeExt) F(cusparseDnnz) F(cusparseDnnz_compress)       \
    F(cusparseDpruneCsr2csr) F(cusparseDpruneCsr2csrByPercentage)                                 \
    F(cusparseDpruneCsr2csrByPercentage_bufferSizeExt) F(cusparseDpruneCsr2csrNnz)                \
    F(cusparseDpruneCsr2csrNnzByPercentage) F(cusparseDpruneCsr2csr_bufferSizeExt)                \
    F(cusparseDpruneDense2csr) F(cusparseDpruneDense2csrByPercentage)                             \
    F(cusparseDpruneDense2csrByPercentage_bufferSizeExt) F(cusparseDpruneDense2csrNnz)            \
    F(cusparseDpruneDense2csrNnzByPercentage) F(cusparseDpruneDense2csr_bufferSizeExt)            \
    F(cusparseHpruneCsr2csr) F(cusparseHpruneCsr2csrByPercentage)                                 \
    F(cusparseHpruneCsr2csrByPercentage_bufferSizeExt) F(cusparseHpruneCsr2csrNnz)                \
    F(cusparseHpruneCsr2csrNnzByPercentage) F(cusparseHpruneCsr2csr_bufferSizeExt)                \
    F(cusparseHpruneDense2csr) F(cusparseHpruneDense2csrByPercentage)                             \
    F(cusparseHpruneDense2csrByPercentage_bufferSizeExt) F(cusparseHpruneDense2csrNnz)            \
    F(cusparseHpruneDense2csrNnzByPercentage) F(cusparseHpruneDense2csr_bufferSizeExt)            \
    F(cusparseLoggerForceDisable) F(cusparseLoggerOpenFile) F(cusparseLoggerSetCallback)          \
    F(cusparseLoggerSetFile) F(cusparseLoggerSetLevel) F(cusparseLoggerSetMask)                   \
    F(cusparseSbsr2csr) F(cusparseSbsric02) F(cusparseSbsric02_analysis)                          \
    F(cusparseSbsric02_bufferSize) F(cusparseSbsrilu02) F(cusparseSbsrilu02_analysis)             \
    F(cusparseSbsrilu02_bufferSize) F(cusparseSbsrilu02_numericBoost) F(cusparseSbsrmm)           \
    F(cusparseSbsrmv) F(cusparseSbsrsm2_analysis) F(cusparseSbsrsm2_bufferSize)                   \
    F(cusparseSbsrsm2_solve) F(cusparseSbsrsv2_analysis) F(cusparseSbsrsv2_bufferSize)            \
    F(cusparseSbsrsv2_solve) F(cusparseSbsrxmv) F(cusparseScsr2bsr) F(cusparseScsr2csr_compress)  \
    F(cusparseScsr2csru) F(cusparseScsr2gebsr) F(cusparseScsr2gebsr_bufferSize)                   \
    F(cusparseScsrcolor) F(cusparseScsrgeam2) F(cusparseScsrgeam2_bufferSizeExt)                  \
    F(cusparseScsric02) F(cusparseScsric02_analysis) F(cusparseScsric02_bufferSize)               \
    F(cusparseScsrilu02) F(cusparseScsrilu02_analysis) F(cusparseScsrilu02_bufferSize)            \
    F(cusparseScsrilu02_numericBoost) F(cusparseScsru2csr) F(cusparseScsru2csr_bufferSizeExt)     \
    F(cusparseSgebsr2csr) F(cusparseSgebsr2gebsc) F(cusparseSgebsr2gebsc_bufferSize)              \
    F(cusparseSgebsr2gebsr) F(cusparseSgebsr2gebsr_bufferSize) F(cusparseSgemvi)                  \
    F(cusparseSgemvi_bufferSize) F(cusparseSgpsvInterleavedBatch)                                 \
    F(cusparseSgpsvInterleavedBatch_bufferSizeExt) F(cusparseSgtsv2)                              \
    F(cusparseSgtsv2StridedBatch) F(cusparseSgtsv2StridedBatch_bufferSizeExt)                     \
    F(cusparseSgtsv2_bufferSizeExt) F(cusparseSgtsv2_nopivot)                                     \
    F(cusparseSgtsv2_nopivot_bufferSizeExt) F(cusparseSgtsvInterleavedBatch)                      \
    F(cusparseSgtsvInterleavedBatch_bufferSizeExt) F(cusparseSnnz) F(cusparseSnnz_compress)       \
    F(cusparseSpGEMM_estimateMemory) F(cusparseSpGEMM_getNumProducts)                             \
    F(cusparseSpGEMMreuse_compute) F(cusparseSpGEMMreuse_copy) F(cusparseSpGEMMreuse_nnz)         \
    F(cusparseSpGEMMreuse_workEstimation) F(cusparseSpMMOp) F(cusparseSpMMOp_createPlan)          \
    F(cusparseSpMMOp_destroyPlan) F(cusparseSpSM_updateMatrix) F(cusparseSpSV_updateMatrix)       \
    F(cusparseSpruneCsr2csr) F(cusparseSpruneCsr2csrByPercentage)                                 \
    F(cusparseSpruneCsr2csrByPercentage_bufferSizeExt) F(cusparseSpruneCsr2csrNnz)                \
    F(cusparseSpruneCsr2csrNnzByPercentage) F(cusparseSpruneCsr2csr_bufferSizeExt)                \
    F(cusparseSpruneDense2csr) F(cusparseSpruneDense2csrByPercentage)                             \
    F(cusparseSpruneDense2csrByPercentage_bufferSizeExt) F(cusparseSpruneDense2csrNnz)            \
    F(cusparseSpruneDense2csrNnzByPercentage) F(cusparseSpruneDense2csr_bufferSizeExt)            \
    F(cusparseXbsric02_zeroPivot) F(cusparseXbsrilu02_zeroPivot) F(cusparseXbsrsm2_zeroPivot)     \
    F(cusparseXbsrsv2_zeroPivot) F(cusparseXcsr2bsrNnz) F(cusparseXcsr2gebsrNnz)                  \
    F(cusparseXcsrgeam2Nnz) F(cusparseXcsric02_zeroPivot) F(cusparseXcsrilu02_zeroPivot)          \
    F(cusparseXgebsr2gebsrNnz) F(cusparseZbsr2csr) F(cusparseZbsric02)                            \
    F(cusparseZbsric02_analysis) F(cusparseZbsric02_bufferSize) F(cusparseZbsrilu02)              \
    F(cusparseZbsrilu02_analysis) F(cusparseZbsrilu02_bufferSize)                                 \
    F(cusparseZbsrilu02_numericBoost) F(cusparseZbsrmm) F(cusparseZbsrmv)                         \
    F(cusparseZbsrsm2_analysis) F(cusparseZbsrsm2_bufferSize) F(cusparseZbsrsm2_solve)            \
    F(cusparseZbsrsv2_analysis) F(cusparseZbsrsv2_bufferSize) F(cusparseZbsrsv2_solve)            \
    F(cusparseZbsrxmv) F(cusparseZcsr2bsr) F(cusparseZcsr2csr_compress) F(cusparseZcsr2csru)      \
    F(cusparseZcsr2gebsr) F(cusparseZcsr2gebsr_bufferSize) F(cusparseZcsrcolor)                   \
    F(cusparseZcsrgeam2) F(cusparseZcsrgeam2_bufferSizeExt) F(cusparseZcsric02)                   \
    F(cusparseZcsric02_analysis) F(cusparseZcsric02_bufferSize) F(cusparseZcsrilu02)              \
    F(cusparseZcsrilu02_analysis) F(cusparseZcsrilu02_bufferSize)                                 \
    F(cusparseZcsrilu02_numericBoost) F(cusparseZcsru2csr) F(cusparseZcsru2csr_bufferSizeExt)     \
    F(cusparseZgebsr2csr) F(cusparseZgebsr2gebsc) F(cusparseZgebsr2gebsc_bufferSize)              \
    F(cusparseZgebsr2gebsr) F(cusparseZgebsr2gebsr_bufferSize) F(cusparseZgemvi)                  \
    F(cusparseZgemvi_bufferSize) F(cusparseZgpsvInterleavedBatch)                                 \
    F(cusparseZgpsvInterleavedBatch_bufferSizeExt) F(cusparseZgtsv2)                              \
    F(cusparseZgtsv2StridedBatch) F(cusparseZgtsv2StridedBatch_bufferSizeExt)                     \
    F(cusparseZgtsv2_bufferSizeExt) F(cusparseZgtsv2_nopivot)                                     \
    F(cusparseZgtsv2_nopivot_bufferSizeExt) F(cusparseZgtsvInterleavedBatch)                      \
    F(cusparseZgtsvInterleavedBatch_bufferSizeExt) F(cusparseZnnz) F(cusparseZnnz_compress)

#define F(name) STANDIN_MISSING(name, "CUSPARSE_STATUS_NOT_SUPPORTED", SPARSE_NOT_SUPPORTED)
MISSING(F)
