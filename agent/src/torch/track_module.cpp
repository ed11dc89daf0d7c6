#include <map>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>

#include <ratoon/torch/track.h>

#include "agent/src/torch/numerics.h"
#include "agent/src/torch/stored_tensor.h"

namespace ratoon {
namespace {

constexpr const char* kGenerator = "generator:cpu";

// By the names of PyTorch's state_dict(). A parameter and a buffer may share one. Undefined tensors (a Linear
// without bias has one) hold nothing.
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

at::Tensor generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void load_generator(StateReader& in) {
  const at::Tensor state = generator_state();
  want_tensor(in, kGenerator, state);
  in.at_end([state] {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::scoped_lock lock(generator.mutex());
    generator.set_state(state);
  });
}

}  // namespace

void save_module(const ::torch::nn::Module& module, StateWriter& out) {
  const auto tensors = tensors_of(module);
  if (!tensors.empty()) note_device_of(tensors.begin()->second);
  for (const auto& [name, tensor] : tensors) put_tensor(out, name, tensor);
  put_tensor(out, kGenerator, generator_state());
}

void load_module(::torch::nn::Module& module, StateReader& in) {
  const auto now = tensors_of(module);
  if (!now.empty()) note_device_of(now.begin()->second);
  for (const auto& [name, tensor] : now) want_tensor(in, name, tensor);
  if (!in.is_for_weights_alone()) load_generator(in);
  for (const std::string& name : in.names()) {
    if (name == kGenerator || now.contains(name)) continue;
    in.refuse("the program has no tensor \"" + name + "\", which the checkpoint has: it is of another model");
  }
}

}  // namespace ratoon
