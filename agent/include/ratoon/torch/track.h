// session.track() for modules and optimizers of LibTorch.
//
//   Net net;
//   torch::optim::AdamW optimizer(net->parameters(), 1e-3);
//   session.track("net", *net);
//   session.track("optimizer", optimizer);
//
// A module's state is its parameters and buffers by name, and the state of LibTorch's default CPU generator,
// which dropout and the like draw from: each rank goes on with the random numbers that it would have had. An
// optimizer's state goes by the order of its parameters and has its options in it, the learning rate too.
//
// What comes back has the bits that were saved. A tensor of another name, shape or type is a Failure with
// exit code 82 that says which.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <ratoon/session.h>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace ratoon {

[[nodiscard]] std::string save_module(const ::torch::nn::Module& module, const std::string& name);
void load_module(::torch::nn::Module& module, const std::string& name, std::string_view state);

// Those of LibTorch: SGD, Adam, AdamW, Adagrad, RMSprop and LBFGS. `check_optimizer` refuses any other.
void check_optimizer(::torch::optim::Optimizer& optimizer, const std::string& name);
[[nodiscard]] std::string save_optimizer(::torch::optim::Optimizer& optimizer, const std::string& name);
void load_optimizer(::torch::optim::Optimizer& optimizer, const std::string& name, std::string_view state);

template <std::derived_from<::torch::nn::Module> T>
struct TrackAdapter<T> {
  static void check(T&, const std::string&) {}
  static std::string save(T& module, const std::string& name) { return save_module(module, name); }
  static void load(T& module, const std::string& name, std::string_view state) {
    load_module(module, name, state);
  }
};

template <std::derived_from<::torch::optim::Optimizer> T>
struct TrackAdapter<T> {
  static void check(T& optimizer, const std::string& name) { check_optimizer(optimizer, name); }
  static std::string save(T& optimizer, const std::string& name) { return save_optimizer(optimizer, name); }
  static void load(T& optimizer, const std::string& name, std::string_view state) {
    load_optimizer(optimizer, name, state);
  }
};

}  // namespace ratoon
