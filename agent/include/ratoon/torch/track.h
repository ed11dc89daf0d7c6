// session.track() for modules and optimizers of LibTorch.
//
//   Net net;
//   torch::optim::AdamW optimizer(net->parameters(), 1e-3);
//   session.track("net", *net);
//   session.track("optimizer", optimizer);
//
// In the checkpoint they have the names of PyTorch's state_dict(): "net.fc1.weight",
// "optimizer.state.0.exp_avg", "optimizer.param_groups.0.lr". A module's buffer that shares its name with a
// parameter is "net.buffer:scale". With a module goes the state of LibTorch's default CPU generator,
// "net.generator:cpu", which dropout and the like draw from: each rank goes on with the random numbers that
// it would have had. In a larger world rank r begins with those of rank r modulo the old size.
//
// Weights are restored in place where they lie densely on the CPU, and keep the bits that were saved. A
// tensor of another name, shape or type is a Failure with exit code 82 that says which, before anything is
// changed.
#pragma once

#include <concepts>
#include <string>

#include <ratoon/session.h>
#include <ratoon/torch/numerics.h>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace ratoon {

void save_module(const ::torch::nn::Module& module, StateWriter& out);
void load_module(::torch::nn::Module& module, StateReader& in);

// Those of LibTorch: SGD, Adam, AdamW, Adagrad, RMSprop and LBFGS. `check_optimizer` refuses any other.
void check_optimizer(::torch::optim::Optimizer& optimizer, const std::string& name);
void save_optimizer(::torch::optim::Optimizer& optimizer, StateWriter& out);
void load_optimizer(::torch::optim::Optimizer& optimizer, StateReader& in);

template <std::derived_from<::torch::nn::Module> T>
struct TrackAdapter<T> {
  static constexpr bool kIsWeights = true;
  static void check(T&, const std::string&) {}
  static void save(T& module, StateWriter& out) { save_module(module, out); }
  static void load(T& module, StateReader& in) { load_module(module, in); }
};

template <std::derived_from<::torch::optim::Optimizer> T>
struct TrackAdapter<T> {
  static void check(T& optimizer, const std::string& name) { check_optimizer(optimizer, name); }
  static void save(T& optimizer, StateWriter& out) { save_optimizer(optimizer, out); }
  static void load(T& optimizer, StateReader& in) { load_optimizer(optimizer, in); }
};

}  // namespace ratoon
