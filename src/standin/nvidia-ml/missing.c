/* missing.c - functions of NVML that ask for what the virtual GPU lacks, or would change a GPU.
** NVML has a status for both, which programs know: neither is a reason to end with status 4. */
#include "standin/nvidia-ml/nvml.h"

#define NOT_SUPPORTED(name)      \
    EXPORT(name, void) {         \
        return ML_NOT_SUPPORTED; \
    }
#define NO_PERMISSION(name)      \
    EXPORT(name, void) {         \
        return ML_NO_PERMISSION; \
    }

#define ASKING(F)                                                                                 \
    F(nvmlComputeInstanceGetInfo_v2) F(nvmlDeviceDiscoverGpus) F(nvmlDeviceGetAPIRestriction)     \
    F(nvmlDeviceGetAccountingBufferSize) F(nvmlDeviceGetAccountingMode)                           \
    F(nvmlDeviceGetAccountingPids) F(nvmlDeviceGetAccountingStats)                                \
    F(nvmlDeviceGetAccountingStats_v2) F(nvmlDeviceGetActiveVgpus)                                \
    F(nvmlDeviceGetAdaptiveClockInfoStatus) F(nvmlDeviceGetAdaptiveTgpModeInfo_v1)                \
    F(nvmlDeviceGetAddressingMode) F(nvmlDeviceGetAttributes_v2)                                  \
    F(nvmlDeviceGetAutoBoostedClocksEnabled) F(nvmlDeviceGetBAR1MemoryInfo)                       \
    F(nvmlDeviceGetBBXTimeData_v1) F(nvmlDeviceGetBankRemapperStatus_v1) F(nvmlDeviceGetBoardId)  \
    F(nvmlDeviceGetBoardPartNumber) F(nvmlDeviceGetBrand) F(nvmlDeviceGetBridgeChipInfo)          \
    F(nvmlDeviceGetBusType) F(nvmlDeviceGetC2cModeInfoV) F(nvmlDeviceGetCapabilities)             \
    F(nvmlDeviceGetClkMonStatus) F(nvmlDeviceGetClockOffsets) F(nvmlDeviceGetComputeInstanceId)   \
    F(nvmlDeviceGetConfComputeGpuAttestationReport) F(nvmlDeviceGetConfComputeGpuCertificate)     \
    F(nvmlDeviceGetConfComputeMemSizeInfo) F(nvmlDeviceGetConfComputeProtectedMemoryUsage)        \
    F(nvmlDeviceGetCoolerInfo) F(nvmlDeviceGetCpuAffinity)                                        \
    F(nvmlDeviceGetCpuAffinityWithinScope) F(nvmlDeviceGetCreatableVgpus)                         \
    F(nvmlDeviceGetCurrPcieLinkGeneration) F(nvmlDeviceGetCurrPcieLinkWidth)                      \
    F(nvmlDeviceGetCurrentClockFreqs) F(nvmlDeviceGetCurrentClocksEventReasons)                   \
    F(nvmlDeviceGetCurrentClocksThrottleReasons) F(nvmlDeviceGetDecoderUtilization)               \
    F(nvmlDeviceGetDefaultEccMode) F(nvmlDeviceGetDetailedEccErrors)                              \
    F(nvmlDeviceGetDeviceHandleFromMigDeviceHandle) F(nvmlDeviceGetDramEncryptionMode)            \
    F(nvmlDeviceGetDriverModel) F(nvmlDeviceGetDriverModel_v2)                                    \
    F(nvmlDeviceGetDynamicPstatesInfo) F(nvmlDeviceGetEncoderCapacity)                            \
    F(nvmlDeviceGetEncoderSessions) F(nvmlDeviceGetEncoderStats)                                  \
    F(nvmlDeviceGetEncoderUtilization) F(nvmlDeviceGetEnforcedPowerLimit)                         \
    F(nvmlDeviceGetFBCSessions) F(nvmlDeviceGetFBCStats) F(nvmlDeviceGetFanControlPolicy_v2)      \
    F(nvmlDeviceGetFanSpeed) F(nvmlDeviceGetFanSpeedRPM) F(nvmlDeviceGetFanSpeed_v2)              \
    F(nvmlDeviceGetFieldValues) F(nvmlDeviceGetGpcClkMinMaxVfOffset)                              \
    F(nvmlDeviceGetGpcClkVfOffset) F(nvmlDeviceGetGpuFabricInfo) F(nvmlDeviceGetGpuFabricInfoV)   \
    F(nvmlDeviceGetGpuFabricInfo_v4) F(nvmlDeviceGetGpuInstanceById)                              \
    F(nvmlDeviceGetGpuInstanceId) F(nvmlDeviceGetGpuInstancePossiblePlacements_v2)                \
    F(nvmlDeviceGetGpuInstanceProfileInfo) F(nvmlDeviceGetGpuInstanceProfileInfoByIdV)            \
    F(nvmlDeviceGetGpuInstanceProfileInfoV) F(nvmlDeviceGetGpuInstanceRemainingCapacity)          \
    F(nvmlDeviceGetGpuInstances) F(nvmlDeviceGetGpuMaxPcieLinkGeneration)                         \
    F(nvmlDeviceGetGpuOperationMode) F(nvmlDeviceGetGridLicensableFeatures_v4)                    \
    F(nvmlDeviceGetGspFirmwareMode) F(nvmlDeviceGetGspFirmwareVersion)                            \
    F(nvmlDeviceGetHandleBySerial) F(nvmlDeviceGetHandleByUUIDV) F(nvmlDeviceGetHostVgpuMode)     \
    F(nvmlDeviceGetHostname_v1) F(nvmlDeviceGetInforomConfigurationChecksum)                      \
    F(nvmlDeviceGetInforomImageVersion) F(nvmlDeviceGetInforomVersion) F(nvmlDeviceGetIrqNum)     \
    F(nvmlDeviceGetJpgUtilization) F(nvmlDeviceGetLastBBXFlushTime)                               \
    F(nvmlDeviceGetMPSComputeRunningProcesses_v2) F(nvmlDeviceGetMPSComputeRunningProcesses_v3)   \
    F(nvmlDeviceGetMarginTemperature) F(nvmlDeviceGetMaxCustomerBoostClock)                       \
    F(nvmlDeviceGetMaxMigDeviceCount) F(nvmlDeviceGetMaxPcieLinkGeneration)                       \
    F(nvmlDeviceGetMaxPcieLinkWidth) F(nvmlDeviceGetMemClkMinMaxVfOffset)                         \
    F(nvmlDeviceGetMemClkVfOffset) F(nvmlDeviceGetMemoryAffinity)                                 \
    F(nvmlDeviceGetMemoryErrorCounter) F(nvmlDeviceGetMemoryLimits_v1)                            \
    F(nvmlDeviceGetMigDeviceHandleByIndex) F(nvmlDeviceGetMigMode)                                \
    F(nvmlDeviceGetMinMaxClockOfPState) F(nvmlDeviceGetMinMaxFanSpeed) F(nvmlDeviceGetModuleId)   \
    F(nvmlDeviceGetNumFans) F(nvmlDeviceGetNumaNodeId) F(nvmlDeviceGetNvLinkCapability)           \
    F(nvmlDeviceGetNvLinkErrorCounter) F(nvmlDeviceGetNvLinkInfo)                                 \
    F(nvmlDeviceGetNvLinkRemoteDeviceType) F(nvmlDeviceGetNvLinkRemotePciInfo_v2)                 \
    F(nvmlDeviceGetNvLinkState) F(nvmlDeviceGetNvLinkTelemetrySamples_v1)                         \
    F(nvmlDeviceGetNvLinkUtilizationControl) F(nvmlDeviceGetNvLinkUtilizationCounter)             \
    F(nvmlDeviceGetNvLinkVersion) F(nvmlDeviceGetNvlinkBwMode)                                    \
    F(nvmlDeviceGetNvlinkSupportedBwModes) F(nvmlDeviceGetOfaUtilization)                         \
    F(nvmlDeviceGetP2PStatus) F(nvmlDeviceGetPciInfoExt) F(nvmlDeviceGetPcieLinkMaxSpeed)         \
    F(nvmlDeviceGetPcieReplayCounter) F(nvmlDeviceGetPcieSpeed) F(nvmlDeviceGetPcieThroughput)    \
    F(nvmlDeviceGetPdi) F(nvmlDeviceGetPerformanceModes) F(nvmlDeviceGetPgpuMetadataString)       \
    F(nvmlDeviceGetPlatformInfo) F(nvmlDeviceGetPowerManagementDefaultLimit)                      \
    F(nvmlDeviceGetPowerManagementLimit) F(nvmlDeviceGetPowerManagementLimitConstraints)          \
    F(nvmlDeviceGetPowerManagementMode) F(nvmlDeviceGetPowerMizerMode_v1)                         \
    F(nvmlDeviceGetPowerSource) F(nvmlDeviceGetPowerUsage) F(nvmlDeviceGetProcessUtilization)     \
    F(nvmlDeviceGetProcessesUtilizationInfo) F(nvmlDeviceGetRemappedRows)                         \
    F(nvmlDeviceGetRemappedRows_v2) F(nvmlDeviceGetRepairStatus) F(nvmlDeviceGetRetiredPages)     \
    F(nvmlDeviceGetRetiredPagesPendingStatus) F(nvmlDeviceGetRetiredPages_v2)                     \
    F(nvmlDeviceGetRowRemapperHistogram) F(nvmlDeviceGetRunningProcessDetailList)                 \
    F(nvmlDeviceGetSamples) F(nvmlDeviceGetSerial) F(nvmlDeviceGetSramEccErrorStatus)             \
    F(nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts)                                           \
    F(nvmlDeviceGetSupportedClocksEventReasons) F(nvmlDeviceGetSupportedClocksThrottleReasons)    \
    F(nvmlDeviceGetSupportedEventTypes) F(nvmlDeviceGetSupportedGraphicsClocks)                   \
    F(nvmlDeviceGetSupportedMemoryClocks) F(nvmlDeviceGetSupportedPerformanceStates)              \
    F(nvmlDeviceGetSupportedVgpus) F(nvmlDeviceGetTargetFanSpeed) F(nvmlDeviceGetTemperature)     \
    F(nvmlDeviceGetTemperatureThreshold) F(nvmlDeviceGetTemperatureV)                             \
    F(nvmlDeviceGetThermalSettings) F(nvmlDeviceGetTopologyCommonAncestor)                        \
    F(nvmlDeviceGetTopologyNearestGpus) F(nvmlDeviceGetTotalEccErrors)                            \
    F(nvmlDeviceGetTotalEnergyConsumption) F(nvmlDeviceGetUnrepairableMemoryFlag_v1)              \
    F(nvmlDeviceGetUtilizationRates) F(nvmlDeviceGetVbiosVersion)                                 \
    F(nvmlDeviceGetVgpuCapabilities) F(nvmlDeviceGetVgpuHeterogeneousMode)                        \
    F(nvmlDeviceGetVgpuInstancesUtilizationInfo) F(nvmlDeviceGetVgpuMetadata)                     \
    F(nvmlDeviceGetVgpuProcessUtilization) F(nvmlDeviceGetVgpuProcessesUtilizationInfo)           \
    F(nvmlDeviceGetVgpuSchedulerCapabilities) F(nvmlDeviceGetVgpuSchedulerLog)                    \
    F(nvmlDeviceGetVgpuSchedulerLog_v2) F(nvmlDeviceGetVgpuSchedulerState)                        \
    F(nvmlDeviceGetVgpuSchedulerState_v2) F(nvmlDeviceGetVgpuTypeCreatablePlacements)             \
    F(nvmlDeviceGetVgpuTypeSupportedPlacements) F(nvmlDeviceGetVgpuUtilization)                   \
    F(nvmlDeviceGetViolationStatus) F(nvmlDeviceGetVirtualizationMode)                            \
    F(nvmlDeviceIsMigDeviceHandle) F(nvmlDeviceOnSameBoard)                                       \
    F(nvmlDevicePerfMetricsGetSamples_v1) F(nvmlDeviceQueryDrainState)                            \
    F(nvmlDeviceReadPRMCounters_v1) F(nvmlDeviceReadWritePRM_v1) F(nvmlDeviceRegisterEvents)      \
    F(nvmlDeviceVgpuForceGspUnload) F(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles)           \
    F(nvmlDeviceWorkloadPowerProfileGetProfilesInfo) F(nvmlEventSetCreate) F(nvmlEventSetFree)    \
    F(nvmlEventSetGetContextCount_v1) F(nvmlEventSetGetContextData_v1)                            \
    F(nvmlEventSetGetContextInfo_v1) F(nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1)     \
    F(nvmlEventSetRegisterGpuOperationalEvents_v1) F(nvmlEventSetWait_v2) F(nvmlEventSetWait_v3)  \
    F(nvmlGetExcludedDeviceCount) F(nvmlGetExcludedDeviceInfoByIndex) F(nvmlGetFunctionPointer)   \
    F(nvmlGetVgpuCompatibility) F(nvmlGetVgpuDriverCapabilities) F(nvmlGetVgpuVersion)            \
    F(nvmlGpmMetricsGet) F(nvmlGpmMigSampleGet) F(nvmlGpmQueryDeviceSupport)                      \
    F(nvmlGpmQueryIfStreamingEnabled) F(nvmlGpmSampleAlloc) F(nvmlGpmSampleFree)                  \
    F(nvmlGpmSampleGet) F(nvmlGpuInstanceGetActiveVgpus)                                          \
    F(nvmlGpuInstanceGetComputeInstanceById)                                                      \
    F(nvmlGpuInstanceGetComputeInstancePossiblePlacements)                                        \
    F(nvmlGpuInstanceGetComputeInstanceProfileInfo)                                               \
    F(nvmlGpuInstanceGetComputeInstanceProfileInfoV)                                              \
    F(nvmlGpuInstanceGetComputeInstanceRemainingCapacity) F(nvmlGpuInstanceGetComputeInstances)   \
    F(nvmlGpuInstanceGetCreatableVgpus) F(nvmlGpuInstanceGetInfo)                                 \
    F(nvmlGpuInstanceGetVgpuHeterogeneousMode) F(nvmlGpuInstanceGetVgpuSchedulerLog)              \
    F(nvmlGpuInstanceGetVgpuSchedulerLog_v2) F(nvmlGpuInstanceGetVgpuSchedulerState)              \
    F(nvmlGpuInstanceGetVgpuSchedulerState_v2) F(nvmlGpuInstanceGetVgpuTypeCreatablePlacements)   \
    F(nvmlSystemEventSetCreate) F(nvmlSystemEventSetFree) F(nvmlSystemEventSetWait)               \
    F(nvmlSystemGetCPER_v1) F(nvmlSystemGetConfComputeCapabilities)                               \
    F(nvmlSystemGetConfComputeGpusReadyState)                                                     \
    F(nvmlSystemGetConfComputeKeyRotationThresholdInfo) F(nvmlSystemGetConfComputeSettings)       \
    F(nvmlSystemGetConfComputeState) F(nvmlSystemGetDriverBranch) F(nvmlSystemGetHicVersion)      \
    F(nvmlSystemGetNvlinkBwMode) F(nvmlSystemGetProcessName) F(nvmlSystemGetTopologyGpuSet)       \
    F(nvmlSystemRegisterEvents) F(nvmlUnitGetCount) F(nvmlUnitGetDevices)                         \
    F(nvmlUnitGetFanSpeedInfo) F(nvmlUnitGetHandleByIndex) F(nvmlUnitGetLedState)                 \
    F(nvmlUnitGetPsuInfo) F(nvmlUnitGetTemperature) F(nvmlUnitGetUnitInfo)                        \
    F(nvmlVgpuInstanceGetAccountingMode) F(nvmlVgpuInstanceGetAccountingPids)                     \
    F(nvmlVgpuInstanceGetAccountingStats) F(nvmlVgpuInstanceGetEccMode)                           \
    F(nvmlVgpuInstanceGetEncoderCapacity) F(nvmlVgpuInstanceGetEncoderSessions)                   \
    F(nvmlVgpuInstanceGetEncoderStats) F(nvmlVgpuInstanceGetFBCSessions)                          \
    F(nvmlVgpuInstanceGetFBCStats) F(nvmlVgpuInstanceGetFbUsage)                                  \
    F(nvmlVgpuInstanceGetFrameRateLimit) F(nvmlVgpuInstanceGetGpuInstanceId)                      \
    F(nvmlVgpuInstanceGetGpuPciId) F(nvmlVgpuInstanceGetLicenseInfo_v2)                           \
    F(nvmlVgpuInstanceGetLicenseStatus) F(nvmlVgpuInstanceGetMdevUUID)                            \
    F(nvmlVgpuInstanceGetMetadata) F(nvmlVgpuInstanceGetPlacementId)                              \
    F(nvmlVgpuInstanceGetRuntimeStateSize) F(nvmlVgpuInstanceGetType) F(nvmlVgpuInstanceGetUUID)  \
    F(nvmlVgpuInstanceGetVmDriverVersion) F(nvmlVgpuInstanceGetVmID) F(nvmlVgpuTypeGetBAR1Info)   \
    F(nvmlVgpuTypeGetCapabilities) F(nvmlVgpuTypeGetClass) F(nvmlVgpuTypeGetDeviceID)             \
    F(nvmlVgpuTypeGetFbReservation) F(nvmlVgpuTypeGetFrameRateLimit)                              \
    F(nvmlVgpuTypeGetFramebufferSize) F(nvmlVgpuTypeGetGpuInstanceProfileId)                      \
    F(nvmlVgpuTypeGetGspHeapSize) F(nvmlVgpuTypeGetLicense) F(nvmlVgpuTypeGetMaxInstances)        \
    F(nvmlVgpuTypeGetMaxInstancesPerGpuInstance) F(nvmlVgpuTypeGetMaxInstancesPerVm)              \
    F(nvmlVgpuTypeGetName) F(nvmlVgpuTypeGetNumDisplayHeads) F(nvmlVgpuTypeGetResolution)
ASKING(NOT_SUPPORTED)

#define CHANGING(F)                                                                               \
    F(nvmlComputeInstanceDestroy) F(nvmlDeviceClearAccountingPids) F(nvmlDeviceClearCpuAffinity)  \
    F(nvmlDeviceClearEccErrorCounts) F(nvmlDeviceClearFieldValues)                                \
    F(nvmlDeviceCreateGpuInstance) F(nvmlDeviceCreateGpuInstanceWithPlacement)                    \
    F(nvmlDeviceFreezeNvLinkUtilizationCounter) F(nvmlDeviceModifyDrainState)                     \
    F(nvmlDevicePowerSmoothingActivatePresetProfile) F(nvmlDevicePowerSmoothingSetState)          \
    F(nvmlDevicePowerSmoothingUpdatePresetProfileParam) F(nvmlDeviceRemoveGpu)                    \
    F(nvmlDeviceResetApplicationsClocks) F(nvmlDeviceResetGpuLockedClocks)                        \
    F(nvmlDeviceResetMemoryLockedClocks) F(nvmlDeviceResetNvLinkErrorCounters)                    \
    F(nvmlDeviceResetNvLinkUtilizationCounter) F(nvmlDeviceSetAPIRestriction)                     \
    F(nvmlDeviceSetAccountingMode) F(nvmlDeviceSetAdaptiveTgpMode_v1)                             \
    F(nvmlDeviceSetApplicationsClocks) F(nvmlDeviceSetAutoBoostedClocksEnabled)                   \
    F(nvmlDeviceSetClockOffsets) F(nvmlDeviceSetComputeMode)                                      \
    F(nvmlDeviceSetConfComputeUnprotectedMemSize) F(nvmlDeviceSetCpuAffinity)                     \
    F(nvmlDeviceSetDefaultAutoBoostedClocksEnabled) F(nvmlDeviceSetDefaultFanSpeed_v2)            \
    F(nvmlDeviceSetDramEncryptionMode) F(nvmlDeviceSetDriverModel) F(nvmlDeviceSetEccMode)        \
    F(nvmlDeviceSetFanControlPolicy) F(nvmlDeviceSetFanSpeed_v2) F(nvmlDeviceSetGpcClkVfOffset)   \
    F(nvmlDeviceSetGpuLockedClocks) F(nvmlDeviceSetGpuOperationMode) F(nvmlDeviceSetHostname_v1)  \
    F(nvmlDeviceSetMemClkVfOffset) F(nvmlDeviceSetMemoryLimits_v1)                                \
    F(nvmlDeviceSetMemoryLockedClocks) F(nvmlDeviceSetMigMode)                                    \
    F(nvmlDeviceSetNvLinkDeviceLowPowerThreshold) F(nvmlDeviceSetNvLinkUtilizationControl)        \
    F(nvmlDeviceSetNvlinkBwMode) F(nvmlDeviceSetNvlinkBwModeAsync_v1)                             \
    F(nvmlDeviceSetPersistenceMode) F(nvmlDeviceSetPowerManagementLimit)                          \
    F(nvmlDeviceSetPowerManagementLimit_v2) F(nvmlDeviceSetPowerMizerMode_v1)                     \
    F(nvmlDeviceSetRusdSettings_v1) F(nvmlDeviceSetTemperatureThreshold)                          \
    F(nvmlDeviceSetVgpuCapabilities) F(nvmlDeviceSetVgpuHeterogeneousMode)                        \
    F(nvmlDeviceSetVgpuSchedulerState) F(nvmlDeviceSetVgpuSchedulerState_v2)                      \
    F(nvmlDeviceSetVirtualizationMode) F(nvmlDeviceValidateInforom)                               \
    F(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles)                                       \
    F(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles)                                         \
    F(nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1) F(nvmlGpmSetStreamingEnabled)              \
    F(nvmlGpuInstanceCreateComputeInstance) F(nvmlGpuInstanceCreateComputeInstanceWithPlacement)  \
    F(nvmlGpuInstanceDestroy) F(nvmlGpuInstanceSetVgpuHeterogeneousMode)                          \
    F(nvmlGpuInstanceSetVgpuSchedulerState) F(nvmlGpuInstanceSetVgpuSchedulerState_v2)            \
    F(nvmlSetVgpuVersion) F(nvmlSystemSetConfComputeGpusReadyState)                               \
    F(nvmlSystemSetConfComputeKeyRotationThresholdInfo) F(nvmlSystemSetNvlinkBwMode)              \
    F(nvmlUnitSetLedState) F(nvmlVgpuInstanceClearAccountingPids)                                 \
    F(nvmlVgpuInstanceSetEncoderCapacity)
CHANGING(NO_PERMISSION)
