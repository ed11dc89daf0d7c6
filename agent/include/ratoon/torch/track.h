// session.track() for modules, optimizers and generators of random numbers of LibTorch.
//
//   Net net;
//   torch::optim::AdamW optimizer(net->parameters(), 1e-3);
//   session.track("net", *net);
//   session.track("optimizer", optimizer);
//   auto noise = at::make_generator<at::CPUGeneratorImpl>();
//   session.track("noise", noise);  // seeds it: of --seed, the name, and this rank
//
// In the checkpoint they have the names of PyTorch's state_dict(): "net.fc1.weight",
// "optimizer.state.0.exp_avg", "optimizer.param_groups.0.lr". A module's buffer that shares its name with a
// parameter is "net.buffer:scale". With a module go the states of LibTorch's default generators, which
// dropout and the like draw from: that of the CPU, "net.generator:cpu", and where the module lies on a GPU
// that one's, "net.generator:cuda:0". Each rank goes on with the random numbers that it would have had; one
// that is new to the world is seeded with Session::seed_of() of these names.
//
// Weights are restored in place where they lie densely on the CPU, and keep the bits that were saved. A
// tensor of another name, shape or type is a Failure with exit code 82 that says which, before anything is
// changed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include <ATen/core/Generator.h>

#include <ratoon/session.h>
#include <ratoon/torch/numerics.h>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace ratoon {

// Generators are handles: the one that is tracked is the one that numbers are drawn from.
void check_generator(const at::Generator& generator, const std::string& name);
void seed_generator(at::Generator generator, std::uint64_t seed);
void save_generator(const at::Generator& generator, StateWriter& out, const std::string& name);
void load_generator(const at::Generator& generator, StateReader& in, const std::string& name);

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

template <>
struct TrackAdapter<at::Generator> {
  static void check(at::Generator& generator, const std::string& name) { check_generator(generator, name); }
  static void seed(at::Generator& generator, std::uint64_t seed) { seed_generator(generator, seed); }
  static void save(at::Generator& generator, StateWriter& out) { save_generator(generator, out, ""); }
  static void load(at::Generator& generator, StateReader& in) { load_generator(generator, in, ""); }
};

}  // namespace ratoon
