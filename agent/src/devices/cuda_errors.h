// Lists the errors of the CUDA runtime, and for each error whether the process, the program or the device is
// at fault.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ratoon::devices {

enum class CudaErrorClass {
  kNone,          // no error
  kMistake,       // a call that the program must not make; the device still works
  kMemory,        // the device has no free memory
  kKernelFault,   // a kernel of the program failed; the process can never use the device again
  kUnclear,       // a kernel or the context failed, cause unknown; the process can never use the device again
  kHardware,      // the device failed; the process can never use it again
  kUnavailable,   // the device or its driver cannot be used at the moment by this machine's processes
  kServer,        // the server that shares the device (MPS) refused or ended this process
  kInstallation,  // the driver, the libraries and the program do not fit each other
  kInvalidDevice,  // there is no such device
};

struct CudaErrorRow {
  int code;
  const char* name;  // as in the runtime's header
  CudaErrorClass of;
};

// Returns all errors of CUDA 13.0, sorted by number.
[[nodiscard]] std::span<const CudaErrorRow> cuda_errors();

// Returns kUnclear for an unknown code, for example of a newer CUDA.
[[nodiscard]] CudaErrorClass classify_cuda_error(int code);

// Returns true if, after an error of this class, every further CUDA call of the process fails.
[[nodiscard]] bool is_sticky(CudaErrorClass of);

// Returns the name of an error code, such as "cudaErrorIllegalAddress", or "unknown to this version of
// Ratoon" for an unknown code.
[[nodiscard]] std::string_view name_of_cuda_error(int code);

}  // namespace ratoon::devices
