#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>

#include <ratoon/torch/track.h>

#include "agent/src/torch/restore.h"

namespace ratoon {
namespace {

constexpr const char* kKind = "module";
constexpr const char* kGenerator = "generator cpu";

// A parameter and a buffer may share a name. Undefined ones (a Linear without bias has one) hold nothing.
TensorsByName tensors_of(const torch::nn::Module& module) {
  TensorsByName tensors;
  for (const auto& item : module.named_parameters())
    if (item.value().defined()) tensors["parameter " + item.key()] = item.value();
  for (const auto& item : module.named_buffers())
    if (item.value().defined()) tensors["buffer " + item.key()] = item.value();
  return tensors;
}

}  // namespace

std::string save_module(const torch::nn::Module& module, const std::string& name) {
  TensorsByName tensors = tensors_of(module);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  {
    const std::scoped_lock lock(generator.mutex());
    tensors[kGenerator] = generator.get_state();
  }
  return save_archive(name, {.kind = kKind, .tensors = std::move(tensors)});
}

// All is looked at before anything is changed.
void load_module(torch::nn::Module& module, const std::string& name, std::string_view state) {
  const TensorsByName saved = read_state(name, kKind, state);
  const TensorsByName now = tensors_of(module);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  for (const auto& [tensor_name, tensor] : now) {
    const auto found = saved.find(tensor_name);
    if (found == saved.end())
      refuse_state(name, "the checkpoint has no tensor \"" + tensor_name + "\": it is of another model");
    check_same_form(name, tensor_name, found->second, tensor);
  }
  for (const auto& [tensor_name, tensor] : saved) {
    if (tensor_name == kGenerator)
      check_same_form(name, tensor_name, tensor, generator.get_state());
    else if (!now.contains(tensor_name))
      refuse_state(name, "the program has no tensor \"" + tensor_name +
                             "\", which the checkpoint has: it is of another model");
  }
  if (const auto found = saved.find(kGenerator); found != saved.end()) {
    try {
      const std::scoped_lock lock(generator.mutex());
      generator.set_state(found->second);
    } catch (const c10::Error& error) {
      refuse_state(name, std::string("the generator's state is damaged: ") + error.what_without_backtrace());
    }
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [tensor_name, tensor] : now) tensor.copy_(saved.at(tensor_name));
}

}  // namespace ratoon
