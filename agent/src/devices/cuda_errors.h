// The errors of the CUDA runtime by number, and what each says about the process, the program and the device.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ratoon::devices {

enum class CudaErrorClass {
  kNone,           // no error
  kMistake,        // a call that the program must not make; the device goes on
  kMemory,         // the device has no room
  kKernelFault,    // a kernel of the program failed; the process can never use the device again
  kUnclear,        // a kernel failed or the context is lost, and the number does not say why; the same
  kHardware,       // the device failed; the process can never use it again
  kUnavailable,    // the device or its driver cannot be used at the moment by this machine's processes
  kServer,         // the server that shares the device (MPS) refused or ended this process
  kInstallation,   // the driver, the libraries and the program do not fit each other
  kInvalidDevice,  // there is no such device
};

struct CudaErrorRow {
  int code;
  const char* name;  // as the runtime's header has it
  CudaErrorClass of;
};

// All of CUDA 13.0, by number.
[[nodiscard]] std::span<const CudaErrorRow> cuda_errors();

// Of a newer CUDA it may be none of these: then it is unclear.
[[nodiscard]] CudaErrorClass class_of_cuda_error(int code);

// Whether each later call of the same process fails, too.
[[nodiscard]] bool is_sticky(CudaErrorClass of);

// "cudaErrorIllegalAddress"; "unknown to this version of Ratoon" where it is none of these.
[[nodiscard]] std::string_view name_of_cuda_error(int code);

}  // namespace ratoon::devices
