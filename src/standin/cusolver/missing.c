/* missing.c - functions of cuSOLVER that are not here: each says so, once, by its name, and returns
** CUSOLVER_STATUS_NOT_SUPPORTED. */
#include "standin/cusolver/solver.h"

#define MISSING(F)                                                                                \
    F(cusolverDnCCgels) F(cusolverDnCCgels_bufferSize) F(cusolverDnCCgesv)                        \
    F(cusolverDnCCgesv_bufferSize) F(cusolverDnCEgels) F(cusolverDnCEgels_bufferSize)             \
    F(cusolverDnCEgesv) F(cusolverDnCEgesv_bufferSize) F(cusolverDnCKgels)                        \
    F(cusolverDnCKgels_bufferSize) F(cusolverDnCKgesv) F(cusolverDnCKgesv_bufferSize)             \
    F(cusolverDnCYgels) F(cusolverDnCYgels_bufferSize) F(cusolverDnCYgesv)                        \
    F(cusolverDnCYgesv_bufferSize) F(cusolverDnCaxpyHost) F(cusolverDnCeyeBatch)                  \
    F(cusolverDnCgebrd) F(cusolverDnCgebrd_bufferSize) F(cusolverDnCgelqfHost)                    \
    F(cusolverDnCgemmHost) F(cusolverDnCgeqlfHost) F(cusolverDnCgeqrfHost)                        \
    F(cusolverDnCgesvdaStridedBatched) F(cusolverDnCgesvdaStridedBatched_bufferSize)              \
    F(cusolverDnCgesvdjBatched) F(cusolverDnCgesvdjBatched_bufferSize) F(cusolverDnCheevdx)       \
    F(cusolverDnCheevdx_bufferSize) F(cusolverDnCheevjBatched)                                    \
    F(cusolverDnCheevjBatched_bufferSize) F(cusolverDnChegst) F(cusolverDnChegst_bufferSize)      \
    F(cusolverDnChegvdx) F(cusolverDnChegvdx_bufferSize) F(cusolverDnChegvj)                      \
    F(cusolverDnChegvj_bufferSize) F(cusolverDnChetrd) F(cusolverDnChetrd_bufferSize)             \
    F(cusolverDnClacpyHost) F(cusolverDnClange) F(cusolverDnClangeHost)                           \
    F(cusolverDnClange_bufferSize) F(cusolverDnClanheHost) F(cusolverDnClantrHost)                \
    F(cusolverDnClarfgHost) F(cusolverDnClarnvHost) F(cusolverDnClasetHost) F(cusolverDnClaswp)   \
    F(cusolverDnClauum) F(cusolverDnClauumHost) F(cusolverDnClauum_bufferSize)                    \
    F(cusolverDnCnrm2Host) F(cusolverDnCpotrfHost) F(cusolverDnCpotriHost)                        \
    F(cusolverDnCpotrsHost) F(cusolverDnCsscalHost) F(cusolverDnCsytrf)                           \
    F(cusolverDnCsytrf_bufferSize) F(cusolverDnCsytri) F(cusolverDnCsytriHost)                    \
    F(cusolverDnCsytri_bufferSize) F(cusolverDnCsytrsHost) F(cusolverDnCtrtriHost)                \
    F(cusolverDnCungbr) F(cusolverDnCungbrHost) F(cusolverDnCungbr_bufferSize)                    \
    F(cusolverDnCunghrHost) F(cusolverDnCunglqHost) F(cusolverDnCungtr) F(cusolverDnCungtrHost)   \
    F(cusolverDnCungtr_bufferSize) F(cusolverDnCunmqrHost) F(cusolverDnCunmtr)                    \
    F(cusolverDnCunmtrHost) F(cusolverDnCunmtr_bufferSize) F(cusolverDnDBgels)                    \
    F(cusolverDnDBgels_bufferSize) F(cusolverDnDBgesv) F(cusolverDnDBgesv_bufferSize)             \
    F(cusolverDnDDgels) F(cusolverDnDDgels_bufferSize) F(cusolverDnDDgesv)                        \
    F(cusolverDnDDgesv_bufferSize) F(cusolverDnDHgels) F(cusolverDnDHgels_bufferSize)             \
    F(cusolverDnDHgesv) F(cusolverDnDHgesv_bufferSize) F(cusolverDnDSgels)                        \
    F(cusolverDnDSgels_bufferSize) F(cusolverDnDSgesv) F(cusolverDnDSgesv_bufferSize)             \
    F(cusolverDnDXgels) F(cusolverDnDXgels_bufferSize) F(cusolverDnDXgesv)                        \
    F(cusolverDnDXgesv_bufferSize) F(cusolverDnDaxpyHost) F(cusolverDnDeyeBatch)                  \
    F(cusolverDnDgebrd) F(cusolverDnDgebrd_bufferSize) F(cusolverDnDgelqfHost)                    \
    F(cusolverDnDgemmHost) F(cusolverDnDgeqlfHost) F(cusolverDnDgeqrfHost)                        \
    F(cusolverDnDgesvdaStridedBatched) F(cusolverDnDgesvdaStridedBatched_bufferSize)              \
    F(cusolverDnDgesvdjBatched) F(cusolverDnDgesvdjBatched_bufferSize) F(cusolverDnDlacpyHost)    \
    F(cusolverDnDlamchHost) F(cusolverDnDlange) F(cusolverDnDlangeHost)                           \
    F(cusolverDnDlange_bufferSize) F(cusolverDnDlansyHost) F(cusolverDnDlantrHost)                \
    F(cusolverDnDlarfgHost) F(cusolverDnDlarnvHost) F(cusolverDnDlasetHost) F(cusolverDnDlaswp)   \
    F(cusolverDnDlauum) F(cusolverDnDlauumHost) F(cusolverDnDlauum_bufferSize)                    \
    F(cusolverDnDnrm2Host) F(cusolverDnDorgbr) F(cusolverDnDorgbrHost)                            \
    F(cusolverDnDorgbr_bufferSize) F(cusolverDnDorghrHost) F(cusolverDnDorglqHost)                \
    F(cusolverDnDorgtr) F(cusolverDnDorgtrHost) F(cusolverDnDorgtr_bufferSize)                    \
    F(cusolverDnDormqrHost) F(cusolverDnDormtr) F(cusolverDnDormtrHost)                           \
    F(cusolverDnDormtr_bufferSize) F(cusolverDnDpotrfHost) F(cusolverDnDpotriHost)                \
    F(cusolverDnDpotrsHost) F(cusolverDnDscalHost) F(cusolverDnDsteqrHost)                        \
    F(cusolverDnDsterfHost) F(cusolverDnDsyevdx) F(cusolverDnDsyevdx_bufferSize)                  \
    F(cusolverDnDsyevjBatched) F(cusolverDnDsyevjBatched_bufferSize) F(cusolverDnDsygst)          \
    F(cusolverDnDsygst_bufferSize) F(cusolverDnDsygvdx) F(cusolverDnDsygvdx_bufferSize)           \
    F(cusolverDnDsygvj) F(cusolverDnDsygvj_bufferSize) F(cusolverDnDsytrd)                        \
    F(cusolverDnDsytrd_bufferSize) F(cusolverDnDsytrf) F(cusolverDnDsytrf_bufferSize)             \
    F(cusolverDnDsytri) F(cusolverDnDsytriHost) F(cusolverDnDsytri_bufferSize)                    \
    F(cusolverDnDsytrsHost) F(cusolverDnDtrtriHost) F(cusolverDnGetEmulationStrategy)             \
    F(cusolverDnGetMathMode) F(cusolverDnIRSInfosCreate) F(cusolverDnIRSInfosDestroy)             \
    F(cusolverDnIRSInfosGetMaxIters) F(cusolverDnIRSInfosGetNiters)                               \
    F(cusolverDnIRSInfosGetOuterNiters) F(cusolverDnIRSInfosGetResidualHistory)                   \
    F(cusolverDnIRSInfosRequestResidual) F(cusolverDnIRSParamsCreate)                             \
    F(cusolverDnIRSParamsDestroy) F(cusolverDnIRSParamsDisableFallback)                           \
    F(cusolverDnIRSParamsEnableFallback) F(cusolverDnIRSParamsGetMaxIters)                        \
    F(cusolverDnIRSParamsSetMaxIters) F(cusolverDnIRSParamsSetMaxItersInner)                      \
    F(cusolverDnIRSParamsSetRefinementSolver) F(cusolverDnIRSParamsSetSolverLowestPrecision)      \
    F(cusolverDnIRSParamsSetSolverMainPrecision) F(cusolverDnIRSParamsSetSolverPrecisions)        \
    F(cusolverDnIRSParamsSetTol) F(cusolverDnIRSParamsSetTolInner) F(cusolverDnIRSXgels)          \
    F(cusolverDnIRSXgels_bufferSize) F(cusolverDnIRSXgesv) F(cusolverDnIRSXgesv_bufferSize)       \
    F(cusolverDnSBgels) F(cusolverDnSBgels_bufferSize) F(cusolverDnSBgesv)                        \
    F(cusolverDnSBgesv_bufferSize) F(cusolverDnSHgels) F(cusolverDnSHgels_bufferSize)             \
    F(cusolverDnSHgesv) F(cusolverDnSHgesv_bufferSize) F(cusolverDnSSgels)                        \
    F(cusolverDnSSgels_bufferSize) F(cusolverDnSSgesv) F(cusolverDnSSgesv_bufferSize)             \
    F(cusolverDnSXgels) F(cusolverDnSXgels_bufferSize) F(cusolverDnSXgesv)                        \
    F(cusolverDnSXgesv_bufferSize) F(cusolverDnSaxpyHost) F(cusolverDnSetEmulationStrategy)       \
    F(cusolverDnSetMathMode) F(cusolverDnSeyeBatch) F(cusolverDnSgebrd)                           \
    F(cusolverDnSgebrd_bufferSize) F(cusolverDnSgelqfHost) F(cusolverDnSgemmHost)                 \
    F(cusolverDnSgeqlfHost) F(cusolverDnSgeqrfHost) F(cusolverDnSgesvdaStridedBatched)            \
    F(cusolverDnSgesvdaStridedBatched_bufferSize) F(cusolverDnSgesvdjBatched)                     \
    F(cusolverDnSgesvdjBatched_bufferSize) F(cusolverDnSlacpyHost) F(cusolverDnSlamchHost)        \
    F(cusolverDnSlange) F(cusolverDnSlangeHost) F(cusolverDnSlange_bufferSize)                    \
    F(cusolverDnSlansyHost) F(cusolverDnSlantrHost) F(cusolverDnSlarfgHost)                       \
    F(cusolverDnSlarnvHost) F(cusolverDnSlasetHost) F(cusolverDnSlaswp) F(cusolverDnSlauum)       \
    F(cusolverDnSlauumHost) F(cusolverDnSlauum_bufferSize) F(cusolverDnSnrm2Host)                 \
    F(cusolverDnSorgbr) F(cusolverDnSorgbrHost) F(cusolverDnSorgbr_bufferSize)                    \
    F(cusolverDnSorghrHost) F(cusolverDnSorglqHost) F(cusolverDnSorgtr) F(cusolverDnSorgtrHost)   \
    F(cusolverDnSorgtr_bufferSize) F(cusolverDnSormqrHost) F(cusolverDnSormtr)                    \
    F(cusolverDnSormtrHost) F(cusolverDnSormtr_bufferSize) F(cusolverDnSpotrfHost)                \
    F(cusolverDnSpotriHost) F(cusolverDnSpotrsHost) F(cusolverDnSscalHost)                        \
    F(cusolverDnSsteqrHost) F(cusolverDnSsterfHost) F(cusolverDnSsyevdx)                          \
    F(cusolverDnSsyevdx_bufferSize) F(cusolverDnSsyevjBatched)                                    \
    F(cusolverDnSsyevjBatched_bufferSize) F(cusolverDnSsygst) F(cusolverDnSsygst_bufferSize)      \
    F(cusolverDnSsygvdx) F(cusolverDnSsygvdx_bufferSize) F(cusolverDnSsygvj)                      \
    F(cusolverDnSsygvj_bufferSize) F(cusolverDnSsytrd) F(cusolverDnSsytrd_bufferSize)             \
    F(cusolverDnSsytrf) F(cusolverDnSsytrf_bufferSize) F(cusolverDnSsytri)                        \
    F(cusolverDnSsytriHost) F(cusolverDnSsytri_bufferSize) F(cusolverDnSsytrsHost)                \
    F(cusolverDnStrtriHost) F(cusolverDnXfillRandNormalOnDevice)                                  \
    F(cusolverDnXfillRandNormalOnHost) F(cusolverDnXgeev) F(cusolverDnXgeev_bufferSize)           \
    F(cusolverDnXgesvdjGetResidual) F(cusolverDnXgesvdjGetSweeps) F(cusolverDnXgesvdjSetSortEig)  \
    F(cusolverDnXgesvdp) F(cusolverDnXgesvdp_bufferSize) F(cusolverDnXgesvdr)                     \
    F(cusolverDnXgesvdr_bufferSize) F(cusolverDnXlansy) F(cusolverDnXlansy_bufferSize)            \
    F(cusolverDnXlarft) F(cusolverDnXlarft_bufferSize) F(cusolverDnXsyevBatched)                  \
    F(cusolverDnXsyevBatched_bufferSize) F(cusolverDnXsyevdx) F(cusolverDnXsyevdx_bufferSize)     \
    F(cusolverDnXsyevjGetResidual) F(cusolverDnXsyevjGetSweeps) F(cusolverDnXsytrs)               \
    F(cusolverDnXsytrs_bufferSize) F(cusolverDnZCgels) F(cusolverDnZCgels_bufferSize)             \
    F(cusolverDnZCgesv) F(cusolverDnZCgesv_bufferSize) F(cusolverDnZEgels)                        \
    F(cusolverDnZEgels_bufferSize) F(cusolverDnZEgesv) F(cusolverDnZEgesv_bufferSize)             \
    F(cusolverDnZKgels) F(cusolverDnZKgels_bufferSize) F(cusolverDnZKgesv)                        \
    F(cusolverDnZKgesv_bufferSize) F(cusolverDnZYgels) F(cusolverDnZYgels_bufferSize)             \
    F(cusolverDnZYgesv) F(cusolverDnZYgesv_bufferSize) F(cusolverDnZZgels)                        \
    F(cusolverDnZZgels_bufferSize) F(cusolverDnZZgesv) F(cusolverDnZZgesv_bufferSize)             \
    F(cusolverDnZaxpyHost) F(cusolverDnZdscalHost) F(cusolverDnZeyeBatch) F(cusolverDnZgebrd)     \
    F(cusolverDnZgebrd_bufferSize) F(cusolverDnZgelqfHost) F(cusolverDnZgemmHost)                 \
    F(cusolverDnZgeqlfHost) F(cusolverDnZgeqrfHost) F(cusolverDnZgesvdaStridedBatched)            \
    F(cusolverDnZgesvdaStridedBatched_bufferSize) F(cusolverDnZgesvdjBatched)                     \
    F(cusolverDnZgesvdjBatched_bufferSize) F(cusolverDnZheevdx) F(cusolverDnZheevdx_bufferSize)   \
    F(cusolverDnZheevjBatched) F(cusolverDnZheevjBatched_bufferSize) F(cusolverDnZhegst)          \
    F(cusolverDnZhegst_bufferSize) F(cusolverDnZhegvdx) F(cusolverDnZhegvdx_bufferSize)           \
    F(cusolverDnZhegvj) F(cusolverDnZhegvj_bufferSize) F(cusolverDnZhetrd)                        \
    F(cusolverDnZhetrd_bufferSize) F(cusolverDnZlacpyHost) F(cusolverDnZlange)                    \
    F(cusolverDnZlangeHost) F(cusolverDnZlange_bufferSize) F(cusolverDnZlanheHost)                \
    F(cusolverDnZlantrHost) F(cusolverDnZlarfgHost) F(cusolverDnZlarnvHost)                       \
    F(cusolverDnZlasetHost) F(cusolverDnZlaswp) F(cusolverDnZlauum) F(cusolverDnZlauumHost)       \
    F(cusolverDnZlauum_bufferSize) F(cusolverDnZnrm2Host) F(cusolverDnZpotrfHost)                 \
    F(cusolverDnZpotriHost) F(cusolverDnZpotrsHost) F(cusolverDnZsytrf)                           \
    F(cusolverDnZsytrf_bufferSize) F(cusolverDnZsytri) F(cusolverDnZsytriHost)                    \
    F(cusolverDnZsytri_bufferSize) F(cusolverDnZsytrsHost) F(cusolverDnZtrtriHost)                \
    F(cusolverDnZungbr) F(cusolverDnZungbrHost) F(cusolverDnZungbr_bufferSize)                    \
    F(cusolverDnZunghrHost) F(cusolverDnZunglqHost) F(cusolverDnZungtr) F(cusolverDnZungtrHost)   \
    F(cusolverDnZungtr_bufferSize) F(cusolverDnZunmqrHost) F(cusolverDnZunmtr)                    \
    F(cusolverDnZunmtrHost) F(cusolverDnZunmtr_bufferSize) F(cusolverIidentityHost)               \
    F(cusolverRfAccessBundledFactorsDevice) F(cusolverRfAnalyze) F(cusolverRfBatchAnalyze)        \
    F(cusolverRfBatchRefactor) F(cusolverRfBatchResetValues) F(cusolverRfBatchSetupHost)          \
    F(cusolverRfBatchSolve) F(cusolverRfBatchZeroPivot) F(cusolverRfCreate) F(cusolverRfDestroy)  \
    F(cusolverRfExtractBundledFactorsHost) F(cusolverRfExtractSplitFactorsHost)                   \
    F(cusolverRfGetAlgs) F(cusolverRfGetMatrixFormat) F(cusolverRfGetNumericBoostReport)          \
    F(cusolverRfGetNumericProperties) F(cusolverRfGetResetValuesFastMode) F(cusolverRfRefactor)   \
    F(cusolverRfResetValues) F(cusolverRfSetAlgs) F(cusolverRfSetMatrixFormat)                    \
    F(cusolverRfSetNumericProperties) F(cusolverRfSetResetValuesFastMode)                         \
    F(cusolverRfSetupDevice) F(cusolverRfSetupHost) F(cusolverRfSetupM) F(cusolverRfSolve)        \
    F(cusolverSpCcsrbtfHost) F(cusolverSpCcsrcholBufferInfo) F(cusolverSpCcsrcholBufferInfoHost)  \
    F(cusolverSpCcsrcholDiag) F(cusolverSpCcsrcholFactor) F(cusolverSpCcsrcholFactorHost)         \
    F(cusolverSpCcsrcholSolve) F(cusolverSpCcsrcholSolveHost) F(cusolverSpCcsrcholZeroPivot)      \
    F(cusolverSpCcsrcholZeroPivotHost) F(cusolverSpCcsreigsHost) F(cusolverSpCcsreigvsi)          \
    F(cusolverSpCcsreigvsiHost) F(cusolverSpCcsrlsqvqrHost) F(cusolverSpCcsrlsvchol)              \
    F(cusolverSpCcsrlsvcholHost) F(cusolverSpCcsrlsvluHost) F(cusolverSpCcsrlsvqr)                \
    F(cusolverSpCcsrlsvqrHost) F(cusolverSpCcsrluAnalysisHost) F(cusolverSpCcsrluBufferInfoHost)  \
    F(cusolverSpCcsrluExtractBTFHost) F(cusolverSpCcsrluExtractHost)                              \
    F(cusolverSpCcsrluExtractMHost) F(cusolverSpCcsrluFactorHost) F(cusolverSpCcsrluSolveHost)    \
    F(cusolverSpCcsrluZeroPivotHost) F(cusolverSpCcsrlucondHost) F(cusolverSpCcsrqrBufferInfo)    \
    F(cusolverSpCcsrqrBufferInfoBatched) F(cusolverSpCcsrqrBufferInfoHost)                        \
    F(cusolverSpCcsrqrFactor) F(cusolverSpCcsrqrFactorHost) F(cusolverSpCcsrqrSetup)              \
    F(cusolverSpCcsrqrSetupHost) F(cusolverSpCcsrqrSolve) F(cusolverSpCcsrqrSolveHost)            \
    F(cusolverSpCcsrqrZeroPivot) F(cusolverSpCcsrqrZeroPivotHost) F(cusolverSpCcsrqrrcond)        \
    F(cusolverSpCcsrqrsvBatched) F(cusolverSpCcsrsubm2denseHost) F(cusolverSpCcsrzfdHost)         \
    F(cusolverSpCreate) F(cusolverSpCreateCsrcholInfo) F(cusolverSpCreateCsrcholInfoHost)         \
    F(cusolverSpCreateCsrluInfoHost) F(cusolverSpCreateCsrqrInfo)                                 \
    F(cusolverSpCreateCsrqrInfoHost) F(cusolverSpCreateGluInfo) F(cusolverSpCreateSnluInfo)       \
    F(cusolverSpCsnluBuffersize) F(cusolverSpCsnluFactor) F(cusolverSpCsnluSolve)                 \
    F(cusolverSpCsymgthr) F(cusolverSpCsymgthrHost) F(cusolverSpDcsrbtfHost)                      \
    F(cusolverSpDcsrcholBufferInfo) F(cusolverSpDcsrcholBufferInfoHost)                           \
    F(cusolverSpDcsrcholDiag) F(cusolverSpDcsrcholFactor) F(cusolverSpDcsrcholFactorHost)         \
    F(cusolverSpDcsrcholSolve) F(cusolverSpDcsrcholSolveHost) F(cusolverSpDcsrcholZeroPivot)      \
    F(cusolverSpDcsrcholZeroPivotHost) F(cusolverSpDcsreigsHost) F(cusolverSpDcsreigvsi)          \
    F(cusolverSpDcsreigvsiHost) F(cusolverSpDcsrlsqvqrHost) F(cusolverSpDcsrlsvchol)              \
    F(cusolverSpDcsrlsvcholHost) F(cusolverSpDcsrlsvluHost) F(cusolverSpDcsrlsvqr)                \
    F(cusolverSpDcsrlsvqrHost) F(cusolverSpDcsrluAnalysisHost) F(cusolverSpDcsrluBufferInfoHost)  \
    F(cusolverSpDcsrluExtractBTFHost) F(cusolverSpDcsrluExtractHost)                              \
    F(cusolverSpDcsrluExtractMHost) F(cusolverSpDcsrluFactorHost) F(cusolverSpDcsrluSolveHost)    \
    F(cusolverSpDcsrluZeroPivotHost) F(cusolverSpDcsrlucondHost) F(cusolverSpDcsrqrBufferInfo)    \
    F(cusolverSpDcsrqrBufferInfoBatched) F(cusolverSpDcsrqrBufferInfoHost)                        \
    F(cusolverSpDcsrqrFactor) F(cusolverSpDcsrqrFactorHost) F(cusolverSpDcsrqrSetup)              \
    F(cusolverSpDcsrqrSetupHost) F(cusolverSpDcsrqrSolve) F(cusolverSpDcsrqrSolveHost)            \
    F(cusolverSpDcsrqrZeroPivot) F(cusolverSpDcsrqrZeroPivotHost) F(cusolverSpDcsrqrrcond)        \
    F(cusolverSpDcsrqrsvBatched) F(cusolverSpDcsrsubm2denseHost) F(cusolverSpDcsrzfdHost)         \
    F(cusolverSpDestroy) F(cusolverSpDestroyCsrcholInfo) F(cusolverSpDestroyCsrcholInfoHost)      \
    F(cusolverSpDestroyCsrluInfoHost) F(cusolverSpDestroyCsrqrInfo)                               \
    F(cusolverSpDestroyCsrqrInfoHost) F(cusolverSpDestroyGluInfo) F(cusolverSpDestroySnluInfo)    \
    F(cusolverSpDgluAnalysis) F(cusolverSpDgluBufferSize) F(cusolverSpDgluExtractMHost)           \
    F(cusolverSpDgluFactor) F(cusolverSpDgluNumericBoost) F(cusolverSpDgluReset)                  \
    F(cusolverSpDgluSetup) F(cusolverSpDgluSetupByTile) F(cusolverSpDgluSolve)                    \
    F(cusolverSpDnrminf) F(cusolverSpDsnluBuffersize) F(cusolverSpDsnluFactor)                    \
    F(cusolverSpDsnluSolve) F(cusolverSpDsymgthr) F(cusolverSpDsymgthrHost)                       \
    F(cusolverSpGetStream) F(cusolverSpLcsrqrBufferInfo) F(cusolverSpLcsrqrFactor)                \
    F(cusolverSpLcsrqrSetup) F(cusolverSpLcsrqrSolve) F(cusolverSpLcsrqrSolveRefine)              \
    F(cusolverSpLcsrqrZeroPivot) F(cusolverSpLcsrqrrcond) F(cusolverSpQcsrqrBufferInfo)           \
    F(cusolverSpQcsrqrFactor) F(cusolverSpQcsrqrSetup) F(cusolverSpQcsrqrSolve)                   \
    F(cusolverSpQcsrqrSolveRefine) F(cusolverSpQcsrqrZeroPivot) F(cusolverSpQcsrqrrcond)          \
    F(cusolverSpScsrbtfHost) F(cusolverSpScsrcholBufferInfo) F(cusolverSpScsrcholBufferInfoHost)  \
    F(cusolverSpScsrcholDiag) F(cusolverSpScsrcholFactor) F(cusolverSpScsrcholFactorHost)         \
    F(cusolverSpScsrcholSolve) F(cusolverSpScsrcholSolveHost) F(cusolverSpScsrcholZeroPivot)      \
    F(cusolverSpScsrcholZeroPivotHost) F(cusolverSpScsreigsHost) F(cusolverSpScsreigvsi)          \
    F(cusolverSpScsreigvsiHost) F(cusolverSpScsrlsqvqrHost) F(cusolverSpScsrlsvchol)              \
    F(cusolverSpScsrlsvcholHost) F(cusolverSpScsrlsvluHost) F(cusolverSpScsrlsvqr)                \
    F(cusolverSpScsrlsvqrHost) F(cusolverSpScsrluAnalysisHost) F(cusolverSpScsrluBufferInfoHost)  \
    F(cusolverSpScsrluExtractBTFHost) F(cusolverSpScsrluExtractHost)                              \
    F(cusolverSpScsrluExtractMHost) F(cusolverSpScsrluFactorHost) F(cusolverSpScsrluSolveHost)    \
    F(cusolverSpScsrluZeroPivotHost) F(cusolverSpScsrlucondHost) F(cusolverSpScsrqrBufferInfo)    \
    F(cusolverSpScsrqrBufferInfoBatched) F(cusolverSpScsrqrBufferInfoHost)                        \
    F(cusolverSpScsrqrFactor) F(cusolverSpScsrqrFactorHost) F(cusolverSpScsrqrSetup)              \
    F(cusolverSpScsrqrSetupHost) F(cusolverSpScsrqrSolve) F(cusolverSpScsrqrSolveHost)            \
    F(cusolverSpScsrqrZeroPivot) F(cusolverSpScsrqrZeroPivotHost) F(cusolverSpScsrqrrcond)        \
    F(cusolverSpScsrqrsvBatched) F(cusolverSpScsrsubm2denseHost) F(cusolverSpScsrzfdHost)         \
    F(cusolverSpSetStream) F(cusolverSpSsnluBuffersize) F(cusolverSpSsnluFactor)                  \
    F(cusolverSpSsnluSolve) F(cusolverSpSsymgthr) F(cusolverSpSsymgthrHost)                       \
    F(cusolverSpXcsr2cscHost) F(cusolverSpXcsr2csc_bufferSizeHost) F(cusolverSpXcsrcholAnalysis)  \
    F(cusolverSpXcsrcholAnalysisHost) F(cusolverSpXcsrissymHost) F(cusolverSpXcsrluAnalysisHost)  \
    F(cusolverSpXcsrluConfigHost) F(cusolverSpXcsrluNnzHost) F(cusolverSpXcsrluNnzMHost)          \
    F(cusolverSpXcsrmetisndHost) F(cusolverSpXcsrnsepHost) F(cusolverSpXcsrpermHost)              \
    F(cusolverSpXcsrperm_bufferSizeHost) F(cusolverSpXcsrqrAnalysis)                              \
    F(cusolverSpXcsrqrAnalysisBatched) F(cusolverSpXcsrqrAnalysisHost)                            \
    F(cusolverSpXcsrqrConfigInfo) F(cusolverSpXcsrsubmHost) F(cusolverSpXcsrsubmNnzHost)          \
    F(cusolverSpXcsrsymamdHost) F(cusolverSpXcsrsymmdqHost) F(cusolverSpXcsrsympermHost)          \
    F(cusolverSpXcsrsymperm_bufferSizeHost) F(cusolverSpXcsrsymrcmHost)                           \
    F(cusolverSpXgluZeroPivot) F(cusolverSpXsnluAnalysis) F(cusolverSpXsnluFlops)                 \
    F(cusolverSpXsnluReport) F(cusolverSpXsnluResizeSupernodeBy) F(cusolverSpXsnluSetReorder)     \
    F(cusolverSpZcsrbtfHost) F(cusolverSpZcsrcholBufferInfo) F(cusolverSpZcsrcholBufferInfoHost)  \
    F(cusolverSpZcsrcholDiag) F(cusolverSpZcsrcholFactor) F(cusolverSpZcsrcholFactorHost)         \
    F(cusolverSpZcsrcholSolve) F(cusolverSpZcsrcholSolveHost) F(cusolverSpZcsrcholZeroPivot)      \
    F(cusolverSpZcsrcholZeroPivotHost) F(cusolverSpZcsreigsHost) F(cusolverSpZcsreigvsi)          \
    F(cusolverSpZcsreigvsiHost) F(cusolverSpZcsrlsqvqrHost) F(cusolverSpZcsrlsvchol)              \
    F(cusolverSpZcsrlsvcholHost) F(cusolverSpZcsrlsvluHost) F(cusolverSpZcsrlsvqr)                \
    F(cusolverSpZcsrlsvqrHost) F(cusolverSpZcsrluAnalysisHost) F(cusolverSpZcsrluBufferInfoHost)  \
    F(cusolverSpZcsrluExtractBTFHost) F(cusolverSpZcsrluExtractHost)                              \
    F(cusolverSpZcsrluExtractMHost) F(cusolverSpZcsrluFactorHost) F(cusolverSpZcsrluSolveHost)    \
    F(cusolverSpZcsrluZeroPivotHost) F(cusolverSpZcsrlucondHost) F(cusolverSpZcsrqrBufferInfo)    \
    F(cusolverSpZcsrqrBufferInfoBatched) F(cusolverSpZcsrqrBufferInfoHost)                        \
    F(cusolverSpZcsrqrFactor) F(cusolverSpZcsrqrFactorHost) F(cusolverSpZcsrqrSetup)              \
    F(cusolverSpZcsrqrSetupHost) F(cusolverSpZcsrqrSolve) F(cusolverSpZcsrqrSolveHost)            \
    F(cusolverSpZcsrqrZeroPivot) F(cusolverSpZcsrqrZeroPivotHost) F(cusolverSpZcsrqrrcond)        \
    F(cusolverSpZcsrqrsvBatched) F(cusolverSpZcsrsubm2denseHost) F(cusolverSpZcsrzfdHost)         \
    F(cusolverSpZsnluBuffersize) F(cusolverSpZsnluFactor) F(cusolverSpZsnluSolve)                 \
    F(cusolverSpZsymgthr) F(cusolverSpZsymgthrHost) F(cusolverXcsrqr_dump)

#define F(name) STANDIN_MISSING(name, "CUSOLVER_STATUS_NOT_SUPPORTED", SOLVER_NOT_SUPPORTED)
MISSING(F)
