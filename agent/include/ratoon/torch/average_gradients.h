// session.average_gradients(): replaces every gradient by its mean over all ranks.
//
//   loss.backward();
//   session.average_gradients(*net);
//   optimizer.step();
//
// All ranks call average_gradients() once in every step, after the last backward() and before gradients are
// clipped. A gradient that only some ranks have counts as zero on the other ranks. If no rank has a gradient
// for a parameter, the gradient stays undefined. The order of the sum depends only on the model and the
// number of ranks, so a resumed run gets the same bits as an uninterrupted run.
//
// If the option `backward` is set, average_gradients() averages a bucket (group) of gradients while
// backward() computes the next gradients. In the first step, the buckets are averaged in the order from the
// last parameter of the model to the first. In each later step, they are averaged in the order in which rank
// 0's backward() completed them in the previous step. The order does not change the means. If backward()
// computes no gradient for a parameter, its bucket waits until backward() has returned. If a step accumulates
// the gradients of several backward() calls, pass the last of these calls:
//
//   for (const auto& part : parts_but_the_last) loss_of(part).backward();
//   const auto loss = loss_of(last_part);
//   session.average_gradients(*net, {.samples = samples, .backward = [&] { loss.backward(); }});
//   torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//   optimizer.step();
//
// If ranks have unequal numbers of samples, each rank sets `samples` to its number of samples, and the result
// is the mean over the samples of all ranks. Unless `sum_in_half_precision` is set, gradients in half
// precision are summed in single precision, and the result is rounded once.
//
// The averaged gradients are in memory of the session, on the device of the parameters. The averaged
// gradients are valid until zero_grad() or the next average_gradients().
//
// The first average_gradients() in an attempt connects the ranks and checks that all ranks have equal
// weights, because unequal weights would never become equal. Gradients on the CPU are summed with the library
// Gloo. Gradients on an accelerator are summed there with NCCL, if the program links the CMake target
// ratoon::agent_torch_cuda (docs/train/gpu.md). By default, average_gradients() returns when the sums are
// complete. A rank waits for others without a time limit, because one rank may validate alone for an hour. If
// the set of processes changes, the wait and a running backward() end with the exception Interrupted.
//
// If a step trains several modules together, one call averages their gradients. Tensors that belong to no
// module are listed beside the modules, or alone in a std::vector:
//
//   const ratoon::torch::Modules both{{*policy, *critic}, {log_temperature}};
//   session.average_gradients(both, {.backward = [&] { loss.backward(); }});
//   session.average_gradients(std::vector{log_temperature});
//
// Each module has buckets of its own, so that the gradients of one module are averaged while backward() still
// computes those of another one. A step may use only some of the modules: if no rank has gradients for a
// module, its gradients stay undefined. The first call compares the weights of all modules and tensors in the
// list between ranks.
//
// Modules that are trained in turn, such as the two networks of a GAN, need one call of average_gradients()
// each. Each call may pass its own `backward`. The call for the generator does not average the gradients that
// its backward() adds to the discriminator.
//
//   session.average_gradients(*discriminator, {.backward = [&] { loss.backward(); }});
//   discriminator_optimizer.step();
//   session.average_gradients(*generator, {.backward = [&] { generator_loss.backward(); }});
//   generator_optimizer.step();
//
// A program with its own process group passes a new group in each call of the training function:
//
//   auto store = c10::make_intrusive<c10d::PrefixStore>(std::to_string(session.attempt()), my_store);
//   ratoon::torch::use_group(session, c10::make_intrusive<c10d::ProcessGroupGloo>(
//                                         store, session.rank(), session.world_size(), my_options));
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <ratoon/session.h>

namespace torch::nn {
class Module;
}
namespace c10d {
class Backend;
}

namespace ratoon {
namespace torch {

// The modules and tensors whose gradients one call of average_gradients() averages: equal on all ranks, and
// in the same order.
struct Modules {
  std::vector<std::reference_wrapper<::torch::nn::Module>> all{};
  std::vector<at::Tensor> tensors{};
};

}  // namespace torch

// Session::average_gradients() calls the functions below.
void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how);
void average_gradients_of(Session& session, const torch::Modules& modules, const Averaging& how);
void average_gradients_of(Session& session, const std::vector<at::Tensor>& tensors, const Averaging& how);

namespace torch {

// Sets the process group for the later calls of average_gradients() in this attempt. The process group must
// contain all ranks, with the same rank numbers, and must support tensors on the device of the parameters.
// The program sets the timeout of its own process group. If a rank calls a collective later than the group's
// timeout, the attempt ends. After several such attempts in a row without a step, the process ends with exit
// code 81. If Interrupted ends a collective before it is complete, the memory of this collective is kept
// until the collective ends.
void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group);

}  // namespace torch

}  // namespace ratoon
