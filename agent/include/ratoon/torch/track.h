// Makes session.track() accept LibTorch's modules, optimizers, learning rate schedules, random number
// generators and tensors.
//
//   Net net;
//   torch::optim::AdamW optimizer(net->parameters(), 1e-3);
//   session.track("net", *net);
//   session.track("optimizer", optimizer);
//   auto noise = at::make_generator<at::CPUGeneratorImpl>();
//   session.track("noise", noise);  // seeds it from --seed, the name and this rank
//   torch::optim::StepLR schedule(optimizer, 30);
//   session.track("schedule", schedule);
//   ratoon::TensorPart rows{.part = table, .box = {.begin = {first_row, 0}, .whole_shape = {1000, 64}}};
//   session.track("table", rows);  // each rank a part of it; any number of ranks reads any parts
//
// In the checkpoint, a tensor's name is the tracked name and then the name in PyTorch's state_dict(), such as
// "net.fc1.weight" or "optimizer.state.0.exp_avg". If a buffer has the same name as a parameter of its
// module, the tensor of the buffer has the prefix "buffer:", as in "net.buffer:scale".
//
// If the program tracks a module, the session also saves the states of LibTorch's default generators, from
// which dropout and similar layers draw. The CPU's generator is saved as "net.generator:cpu". For a module on
// a GPU, that GPU's generator is saved, too, as "net.generator:cuda:0". After a resume, each rank draws the
// same random numbers as without an interruption. On a rank without saved states, LibTorch's default
// generators are seeded with Session::seed_of() of their names.
//
// A learning rate schedule changes its optimizer, so track the optimizer too. The session saves only the
// count of steps of a schedule. If your own schedule class has other state, track this state separately. For
// a tensor, the session tracks the program's variable: if the program assigns another tensor to the variable,
// the new tensor is saved.
//
// Weights that are dense and on the CPU are restored in place, bit for bit as they were saved. If a tensor in
// the checkpoint has another name, shape or type, a Failure with exit code 82 names it, and no object has
// changed.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <ratoon/session.h>
#include <ratoon/tensor_view.h>
#include <ratoon/torch/numerics.h>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
class LRScheduler;
class ReduceLROnPlateauScheduler;
}  // namespace torch::optim

namespace ratoon {

// TensorPart: this rank's part of a tensor that is divided over the ranks, and the position of the part.
struct TensorPart {
  at::Tensor part{};
  TensorBox box{};
};

// Copies of an at::Generator share one state. The program must draw its numbers from the tracked generator or
// a copy.
void check_generator(const at::Generator& generator, const std::string& name);
void seed_generator(at::Generator generator, std::uint64_t seed);
void save_generator(const at::Generator& generator, StateWriter& out, const std::string& name);
void load_generator(const at::Generator& generator, StateReader& in, const std::string& name);

void save_module(const ::torch::nn::Module& module, StateWriter& out);
void load_module(::torch::nn::Module& module, StateReader& in);

// Optimizers can be of LibTorch's classes SGD, Adam, AdamW, Adagrad, RMSprop and LBFGS. check_optimizer()
// refuses any other class.
void check_optimizer(::torch::optim::Optimizer& optimizer, const std::string& name);
void save_optimizer(::torch::optim::Optimizer& optimizer, StateWriter& out);
void load_optimizer(::torch::optim::Optimizer& optimizer, StateReader& in);

void save_schedule(const ::torch::optim::LRScheduler& schedule, StateWriter& out);
void load_schedule(::torch::optim::LRScheduler& schedule, StateReader& in);
void save_schedule(const ::torch::optim::ReduceLROnPlateauScheduler& schedule, StateWriter& out);
void load_schedule(::torch::optim::ReduceLROnPlateauScheduler& schedule, StateReader& in);

// `box` is the position of a part in a larger tensor, or nullptr for a whole tensor.
void check_tensor(const at::Tensor& tensor, const TensorBox* box, const std::string& name);
void save_tensor(const at::Tensor& tensor, const TensorBox* box, StateWriter& out);
void load_tensor(const at::Tensor& tensor, const TensorBox* box, StateReader& in);

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

template <class T>
  requires(std::derived_from<T, ::torch::optim::LRScheduler> ||
           std::derived_from<T, ::torch::optim::ReduceLROnPlateauScheduler>)
struct TrackAdapter<T> {
  static void check(T&, const std::string&) {}
  static void save(T& schedule, StateWriter& out) { save_schedule(schedule, out); }
  static void load(T& schedule, StateReader& in) { load_schedule(schedule, in); }
};

template <>
struct TrackAdapter<at::Tensor> {
  static constexpr bool kIsWeights = true;
  static void check(at::Tensor& tensor, const std::string& name) { check_tensor(tensor, nullptr, name); }
  static void save(at::Tensor& tensor, StateWriter& out) { save_tensor(tensor, nullptr, out); }
  static void load(at::Tensor& tensor, StateReader& in) { load_tensor(tensor, nullptr, in); }
};

template <>
struct TrackAdapter<TensorPart> {
  static constexpr bool kIsWeights = true;
  static void check(TensorPart& of, const std::string& name) { check_tensor(of.part, &of.box, name); }
  static void save(TensorPart& of, StateWriter& out) { save_tensor(of.part, &of.box, out); }
  static void load(TensorPart& of, StateReader& in) { load_tensor(of.part, &of.box, in); }
};

template <>
struct TrackAdapter<at::Generator> {
  static void check(at::Generator& generator, const std::string& name) { check_generator(generator, name); }
  static void seed(at::Generator& generator, std::uint64_t seed) { seed_generator(generator, seed); }
  static void save(at::Generator& generator, StateWriter& out) { save_generator(generator, out, ""); }
  static void load(at::Generator& generator, StateReader& in) { load_generator(generator, in, ""); }
};

}  // namespace ratoon
