#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/ones.h>
#include <torch/version.h>

#include <ratoon/torch/nccl.h>

#include "agent/src/torch/collectives/nccl/device_collectives.h"
#include "tests/gpu/probe/gpu.h"
#include "tests/gpu/probe/rows.h"
#include "tests/gpu/probe/stages.h"

namespace ratoon::gpu_probe {

int facts() {
  Rows rows("facts");
  const auto& hooks = at::detail::getCUDAHooks();
  rows.expect(hooks.hasCUDA(), "LibTorch has its half for CUDA and sees a device");
  rows.expect(find_device_collective(c10::kCUDA) != nullptr, "NCCL's collectives are linked");
  const auto nccl = nccl_versions();
  rows.expect(nccl.has_value() && check_nccl(*nccl).has_value(), "the NCCL that is loaded fits");
  rows.add({{"libtorch", TORCH_VERSION},
            {"devices", hooks.getNumGPUs()},
            {"nccl_compiled", nccl ? to_string(nccl->compiled) : ""},
            {"nccl_loaded", nccl ? to_string(nccl->loaded) : ""},
            {"free_bytes", free_device_bytes()}});
  const auto ones = at::ones({1 << 20}, at::TensorOptions(gpu()));
  rows.expect(ones.sum().item<float>() == 1 << 20, "a kernel computes");
  return rows.exit_code();
}

}  // namespace ratoon::gpu_probe
