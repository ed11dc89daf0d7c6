#include "agent/src/torch/numerics.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/DeviceType.h>
#include <torch/version.h>

#include <ratoon/failure.h>
#include <ratoon/numerics.h>
#include <ratoon/torch/numerics.h>

#include "agent/src/torch/device_errors.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

constexpr const char* kCpuCapabilityVariable = "ATEN_CPU_CAPABILITY";

std::atomic<int> device_of_weights{-1};  // a c10::DeviceType

bool has_avx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

// Sets an environment variable, unless the user has set it.
void set_if_unset(const char* name, const char* value) {
  ::setenv(name, value, 0);
}

// AVX2 is used, because it is the widest instruction set that both old and new machines have. LibTorch
// chooses an instruction set at its first computation, and never changes it.
void pin_cpu_instructions() {
  const bool is_said = std::getenv(kCpuCapabilityVariable) != nullptr;
  set_if_unset(kCpuCapabilityVariable, has_avx2() ? "avx2" : "default");
  if (!has_avx2()) return;
  set_if_unset("MKL_CBWR", "AVX2");
  set_if_unset("ONEDNN_MAX_CPU_ISA", "AVX2");
  const std::string chosen = at::get_cpu_capability();
  if (is_said || chosen == "AVX2") return;
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "--deterministic comes too late: LibTorch has computed with " + chosen +
                    " before train() was called; make no tensor before it, or start the program with "
                    "ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=AVX2 ONEDNN_MAX_CPU_ISA=AVX2");
}

void pin_numerics() {
  pin_cpu_instructions();
  set_if_unset("CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicCuDNN(true);
  context.setDeterministicMkldnn(true);
  context.setBenchmarkCuDNN(false);
  at::set_num_threads(at::get_num_threads());
}

Numerics numerics_now() {
  const int device = device_of_weights.load();
  return {.library = "LibTorch " TORCH_VERSION,
          .device = device < 0 ? "" : c10::DeviceTypeName(static_cast<c10::DeviceType>(device), true),
          .cpu_capability = at::get_cpu_capability(),
          .threads = static_cast<std::uint32_t>(at::get_num_threads()),
          .is_deterministic = at::globalContext().deterministicAlgorithms()};
}

}  // namespace

bool attach_torch_numerics() {
  register_device_error_explainer();
  attach_numerics({.pin = pin_numerics,
                   .set_threads = [](std::uint32_t count) { at::set_num_threads(static_cast<int>(count)); },
                   .seed = [](std::uint64_t seed) { at::manual_seed(seed); },
                   .now = numerics_now});
  return true;
}

void record_device_of(const at::Tensor& weights) {
  device_of_weights = static_cast<int>(weights.device().type());
}

}  // namespace ratoon
