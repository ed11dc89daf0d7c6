// DeviceMemory: tracks memory of an accelerator, or any other memory that the CPU cannot read directly, with
// functions that copy it.
//
//   float* weights = ...;  // from cudaMalloc()
//   ratoon::DeviceMemory memory({
//       .pointer = weights, .type = ratoon::ElementType::kFloat32, .shape = {rows, columns},
//       .copy_to_host = [](void* to, const void* from, std::size_t bytes) {
//         check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
//       },
//       .copy_from_host = [](void* to, const void* from, std::size_t bytes) {
//         check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
//       }});
//   session.track("weights", memory);
//
// A copy function returns when the copy is complete, and throws if it fails. The memory must keep its address
// and its size. --load-from fills the memory unless it is tracked with {.is_weight = false}. A program with
// LibTorch can track torch::from_blob(pointer, shape, options) instead.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <ratoon/element_type.h>
#include <ratoon/state.h>
#include <ratoon/tensor_view.h>

namespace ratoon {

struct DeviceMemoryFacts {
  void* pointer = nullptr;
  ElementType type = ElementType::kUint8;
  TensorShape shape{};
  std::function<void(void* to_host, const void* from_device, std::size_t bytes)> copy_to_host{};
  std::function<void(void* to_device, const void* from_host, std::size_t bytes)> copy_from_host{};
};

class DeviceMemory {
 public:
  explicit DeviceMemory(DeviceMemoryFacts facts) : facts_(std::move(facts)) {}

 private:
  friend struct TrackAdapter<DeviceMemory>;
  DeviceMemoryFacts facts_;
};

template <>
struct TrackAdapter<DeviceMemory> {
  static constexpr bool kIsWeights = true;
  static void check(DeviceMemory& memory, const std::string& name);
  static void save(DeviceMemory& memory, StateWriter& out);
  static void load(DeviceMemory& memory, StateReader& in);
};

}  // namespace ratoon
