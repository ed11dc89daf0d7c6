#include "agent/src/devices/cuda_errors.h"

#include <algorithm>
#include <array>

namespace ratoon::devices {
namespace {

// The classes of errors follow the comments in the header of the CUDA runtime. The header says that every
// error of the class kKernelFault, and most errors of the class kUnclear, leave the process in an
// inconsistent state. A contained memory error (code 226) comes from the hardware, or from reading the memory
// of another process that has ended.
constexpr auto kCudaErrorTable = std::to_array<CudaErrorRow>({
    {0, "cudaSuccess", CudaErrorClass::kNone},
    {1, "cudaErrorInvalidValue", CudaErrorClass::kMistake},
    {2, "cudaErrorMemoryAllocation", CudaErrorClass::kMemory},
    {3, "cudaErrorInitializationError", CudaErrorClass::kUnavailable},
    {4, "cudaErrorCudartUnloading", CudaErrorClass::kMistake},
    {5, "cudaErrorProfilerDisabled", CudaErrorClass::kMistake},
    {6, "cudaErrorProfilerNotInitialized", CudaErrorClass::kMistake},
    {7, "cudaErrorProfilerAlreadyStarted", CudaErrorClass::kMistake},
    {8, "cudaErrorProfilerAlreadyStopped", CudaErrorClass::kMistake},
    {9, "cudaErrorInvalidConfiguration", CudaErrorClass::kMistake},
    {12, "cudaErrorInvalidPitchValue", CudaErrorClass::kMistake},
    {13, "cudaErrorInvalidSymbol", CudaErrorClass::kMistake},
    {16, "cudaErrorInvalidHostPointer", CudaErrorClass::kMistake},
    {17, "cudaErrorInvalidDevicePointer", CudaErrorClass::kMistake},
    {18, "cudaErrorInvalidTexture", CudaErrorClass::kMistake},
    {19, "cudaErrorInvalidTextureBinding", CudaErrorClass::kMistake},
    {20, "cudaErrorInvalidChannelDescriptor", CudaErrorClass::kMistake},
    {21, "cudaErrorInvalidMemcpyDirection", CudaErrorClass::kMistake},
    {22, "cudaErrorAddressOfConstant", CudaErrorClass::kMistake},
    {23, "cudaErrorTextureFetchFailed", CudaErrorClass::kMistake},
    {24, "cudaErrorTextureNotBound", CudaErrorClass::kMistake},
    {25, "cudaErrorSynchronizationError", CudaErrorClass::kMistake},
    {26, "cudaErrorInvalidFilterSetting", CudaErrorClass::kMistake},
    {27, "cudaErrorInvalidNormSetting", CudaErrorClass::kMistake},
    {28, "cudaErrorMixedDeviceExecution", CudaErrorClass::kMistake},
    {31, "cudaErrorNotYetImplemented", CudaErrorClass::kMistake},
    {32, "cudaErrorMemoryValueTooLarge", CudaErrorClass::kMistake},
    {34, "cudaErrorStubLibrary", CudaErrorClass::kInstallation},
    {35, "cudaErrorInsufficientDriver", CudaErrorClass::kInstallation},
    {36, "cudaErrorCallRequiresNewerDriver", CudaErrorClass::kInstallation},
    {37, "cudaErrorInvalidSurface", CudaErrorClass::kMistake},
    {43, "cudaErrorDuplicateVariableName", CudaErrorClass::kMistake},
    {44, "cudaErrorDuplicateTextureName", CudaErrorClass::kMistake},
    {45, "cudaErrorDuplicateSurfaceName", CudaErrorClass::kMistake},
    {46, "cudaErrorDevicesUnavailable", CudaErrorClass::kUnavailable},
    {49, "cudaErrorIncompatibleDriverContext", CudaErrorClass::kMistake},
    {52, "cudaErrorMissingConfiguration", CudaErrorClass::kMistake},
    {53, "cudaErrorPriorLaunchFailure", CudaErrorClass::kMistake},
    {65, "cudaErrorLaunchMaxDepthExceeded", CudaErrorClass::kMistake},
    {66, "cudaErrorLaunchFileScopedTex", CudaErrorClass::kMistake},
    {67, "cudaErrorLaunchFileScopedSurf", CudaErrorClass::kMistake},
    {68, "cudaErrorSyncDepthExceeded", CudaErrorClass::kMistake},
    {69, "cudaErrorLaunchPendingCountExceeded", CudaErrorClass::kMistake},
    {98, "cudaErrorInvalidDeviceFunction", CudaErrorClass::kMistake},
    {100, "cudaErrorNoDevice", CudaErrorClass::kInvalidDevice},
    {101, "cudaErrorInvalidDevice", CudaErrorClass::kInvalidDevice},
    {102, "cudaErrorDeviceNotLicensed", CudaErrorClass::kUnavailable},
    {103, "cudaErrorSoftwareValidityNotEstablished", CudaErrorClass::kUnavailable},
    {127, "cudaErrorStartupFailure", CudaErrorClass::kUnavailable},
    {200, "cudaErrorInvalidKernelImage", CudaErrorClass::kMistake},
    {201, "cudaErrorDeviceUninitialized", CudaErrorClass::kMistake},
    {205, "cudaErrorMapBufferObjectFailed", CudaErrorClass::kMistake},
    {206, "cudaErrorUnmapBufferObjectFailed", CudaErrorClass::kMistake},
    {207, "cudaErrorArrayIsMapped", CudaErrorClass::kMistake},
    {208, "cudaErrorAlreadyMapped", CudaErrorClass::kMistake},
    {209, "cudaErrorNoKernelImageForDevice", CudaErrorClass::kInstallation},
    {210, "cudaErrorAlreadyAcquired", CudaErrorClass::kMistake},
    {211, "cudaErrorNotMapped", CudaErrorClass::kMistake},
    {212, "cudaErrorNotMappedAsArray", CudaErrorClass::kMistake},
    {213, "cudaErrorNotMappedAsPointer", CudaErrorClass::kMistake},
    {214, "cudaErrorECCUncorrectable", CudaErrorClass::kHardware},
    {215, "cudaErrorUnsupportedLimit", CudaErrorClass::kMistake},
    {216, "cudaErrorDeviceAlreadyInUse", CudaErrorClass::kUnavailable},
    {217, "cudaErrorPeerAccessUnsupported", CudaErrorClass::kMistake},
    {218, "cudaErrorInvalidPtx", CudaErrorClass::kMistake},
    {219, "cudaErrorInvalidGraphicsContext", CudaErrorClass::kMistake},
    {220, "cudaErrorNvlinkUncorrectable", CudaErrorClass::kHardware},
    {221, "cudaErrorJitCompilerNotFound", CudaErrorClass::kMistake},
    {222, "cudaErrorUnsupportedPtxVersion", CudaErrorClass::kInstallation},
    {223, "cudaErrorJitCompilationDisabled", CudaErrorClass::kMistake},
    {224, "cudaErrorUnsupportedExecAffinity", CudaErrorClass::kMistake},
    {225, "cudaErrorUnsupportedDevSideSync", CudaErrorClass::kMistake},
    {226, "cudaErrorContained", CudaErrorClass::kUnclear},
    {300, "cudaErrorInvalidSource", CudaErrorClass::kMistake},
    {301, "cudaErrorFileNotFound", CudaErrorClass::kMistake},
    {302, "cudaErrorSharedObjectSymbolNotFound", CudaErrorClass::kMistake},
    {303, "cudaErrorSharedObjectInitFailed", CudaErrorClass::kMistake},
    {304, "cudaErrorOperatingSystem", CudaErrorClass::kUnavailable},
    {400, "cudaErrorInvalidResourceHandle", CudaErrorClass::kMistake},
    {401, "cudaErrorIllegalState", CudaErrorClass::kMistake},
    {402, "cudaErrorLossyQuery", CudaErrorClass::kMistake},
    {500, "cudaErrorSymbolNotFound", CudaErrorClass::kMistake},
    {600, "cudaErrorNotReady", CudaErrorClass::kNone},
    {700, "cudaErrorIllegalAddress", CudaErrorClass::kKernelFault},
    {701, "cudaErrorLaunchOutOfResources", CudaErrorClass::kMistake},
    {702, "cudaErrorLaunchTimeout", CudaErrorClass::kUnclear},
    {703, "cudaErrorLaunchIncompatibleTexturing", CudaErrorClass::kMistake},
    {704, "cudaErrorPeerAccessAlreadyEnabled", CudaErrorClass::kMistake},
    {705, "cudaErrorPeerAccessNotEnabled", CudaErrorClass::kMistake},
    {708, "cudaErrorSetOnActiveProcess", CudaErrorClass::kMistake},
    {709, "cudaErrorContextIsDestroyed", CudaErrorClass::kMistake},
    {710, "cudaErrorAssert", CudaErrorClass::kKernelFault},
    {711, "cudaErrorTooManyPeers", CudaErrorClass::kMistake},
    {712, "cudaErrorHostMemoryAlreadyRegistered", CudaErrorClass::kMistake},
    {713, "cudaErrorHostMemoryNotRegistered", CudaErrorClass::kMistake},
    {714, "cudaErrorHardwareStackError", CudaErrorClass::kKernelFault},
    {715, "cudaErrorIllegalInstruction", CudaErrorClass::kKernelFault},
    {716, "cudaErrorMisalignedAddress", CudaErrorClass::kKernelFault},
    {717, "cudaErrorInvalidAddressSpace", CudaErrorClass::kKernelFault},
    {718, "cudaErrorInvalidPc", CudaErrorClass::kKernelFault},
    {719, "cudaErrorLaunchFailure", CudaErrorClass::kKernelFault},
    {720, "cudaErrorCooperativeLaunchTooLarge", CudaErrorClass::kMistake},
    {721, "cudaErrorTensorMemoryLeak", CudaErrorClass::kKernelFault},
    {800, "cudaErrorNotPermitted", CudaErrorClass::kUnavailable},
    {801, "cudaErrorNotSupported", CudaErrorClass::kMistake},
    {802, "cudaErrorSystemNotReady", CudaErrorClass::kUnavailable},
    {803, "cudaErrorSystemDriverMismatch", CudaErrorClass::kUnavailable},
    {804, "cudaErrorCompatNotSupportedOnDevice", CudaErrorClass::kInstallation},
    {805, "cudaErrorMpsConnectionFailed", CudaErrorClass::kServer},
    {806, "cudaErrorMpsRpcFailure", CudaErrorClass::kServer},
    {807, "cudaErrorMpsServerNotReady", CudaErrorClass::kServer},
    {808, "cudaErrorMpsMaxClientsReached", CudaErrorClass::kServer},
    {809, "cudaErrorMpsMaxConnectionsReached", CudaErrorClass::kServer},
    {810, "cudaErrorMpsClientTerminated", CudaErrorClass::kServer},
    {811, "cudaErrorCdpNotSupported", CudaErrorClass::kMistake},
    {812, "cudaErrorCdpVersionMismatch", CudaErrorClass::kMistake},
    {900, "cudaErrorStreamCaptureUnsupported", CudaErrorClass::kMistake},
    {901, "cudaErrorStreamCaptureInvalidated", CudaErrorClass::kMistake},
    {902, "cudaErrorStreamCaptureMerge", CudaErrorClass::kMistake},
    {903, "cudaErrorStreamCaptureUnmatched", CudaErrorClass::kMistake},
    {904, "cudaErrorStreamCaptureUnjoined", CudaErrorClass::kMistake},
    {905, "cudaErrorStreamCaptureIsolation", CudaErrorClass::kMistake},
    {906, "cudaErrorStreamCaptureImplicit", CudaErrorClass::kMistake},
    {907, "cudaErrorCapturedEvent", CudaErrorClass::kMistake},
    {908, "cudaErrorStreamCaptureWrongThread", CudaErrorClass::kMistake},
    {909, "cudaErrorTimeout", CudaErrorClass::kMistake},
    {910, "cudaErrorGraphExecUpdateFailure", CudaErrorClass::kMistake},
    {911, "cudaErrorExternalDevice", CudaErrorClass::kUnclear},
    {912, "cudaErrorInvalidClusterSize", CudaErrorClass::kMistake},
    {913, "cudaErrorFunctionNotLoaded", CudaErrorClass::kMistake},
    {914, "cudaErrorInvalidResourceType", CudaErrorClass::kMistake},
    {915, "cudaErrorInvalidResourceConfiguration", CudaErrorClass::kMistake},
    {999, "cudaErrorUnknown", CudaErrorClass::kUnclear},
});

const CudaErrorRow* find_cuda_error_row(int code) {
  const auto row = std::ranges::lower_bound(kCudaErrorTable, code, {}, &CudaErrorRow::code);
  return row != kCudaErrorTable.end() && row->code == code ? &*row : nullptr;
}

}  // namespace

std::span<const CudaErrorRow> cuda_errors() {
  return kCudaErrorTable;
}

CudaErrorClass classify_cuda_error(int code) {
  const CudaErrorRow* row = find_cuda_error_row(code);
  return row == nullptr ? CudaErrorClass::kUnclear : row->of;
}

bool is_sticky(CudaErrorClass of) {
  return of == CudaErrorClass::kKernelFault || of == CudaErrorClass::kUnclear ||
         of == CudaErrorClass::kHardware;
}

std::string_view name_of_cuda_error(int code) {
  const CudaErrorRow* row = find_cuda_error_row(code);
  return row == nullptr ? "unknown to this version of Ratoon" : row->name;
}

}  // namespace ratoon::devices
