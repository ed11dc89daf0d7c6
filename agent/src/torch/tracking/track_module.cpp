#include <map>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include <ratoon/torch/track.h>

#include "agent/src/torch/numerics.h"
#include "agent/src/torch/tracking/default_generators.h"
#include "agent/src/torch/tracking/stored_tensor.h"

namespace ratoon {
namespace {

// Returns the tensors of a module with the names that they have in PyTorch's state_dict(). If a buffer has
// the same name as a parameter, its name in the result begins with "buffer:". Undefined tensors, such as the
// bias of a Linear layer without bias, are left out.
std::map<std::string, at::Tensor> tensors_of(const ::torch::nn::Module& module) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& item : module.named_parameters())
    if (item.value().defined()) tensors[item.key()] = item.value();
  const auto parameters = module.named_parameters();
  for (const auto& item : module.named_buffers()) {
    if (!item.value().defined()) continue;
    tensors[parameters.contains(item.key()) ? "buffer:" + item.key() : item.key()] = item.value();
  }
  return tensors;
}

std::vector<at::Device> devices_of(const std::map<std::string, at::Tensor>& tensors) {
  std::vector<at::Device> devices;
  for (const auto& [name, tensor] : tensors) devices.push_back(tensor.device());
  return devices;
}

}  // namespace

void save_module(const ::torch::nn::Module& module, StateWriter& out) {
  const auto tensors = tensors_of(module);
  if (!tensors.empty()) record_device_of(tensors.begin()->second);
  for (const auto& [name, tensor] : tensors) write_tensor(out, name, tensor, {}, ShapeRule::kFixed);
  for (const auto& [name, generator] : default_generators(devices_of(tensors)))
    save_generator(generator, out, name);
}

void load_module(::torch::nn::Module& module, StateReader& in) {
  const auto now = tensors_of(module);
  if (!now.empty()) record_device_of(now.begin()->second);
  for (const auto& [name, tensor] : now) request_tensor(in, name, tensor);
  if (!in.is_for_weights_alone()) {
    for (const auto& [name, generator] : default_generators(devices_of(now))) {
      // If the run uses a kind of device for the first time, the checkpoint has no state for its generator,
      // and the generator keeps the seed of --seed.
      if (!generator.device().is_cpu() && !in.find(name)) continue;
      load_generator(generator, in, name);
    }
  }
  for (const std::string& name : in.names()) {
    if (name.starts_with(kGeneratorPrefix) || now.contains(name)) continue;
    in.refuse("the program has no tensor \"" + name +
              "\", which the checkpoint has: the checkpoint is of another model");
  }
}

}  // namespace ratoon
