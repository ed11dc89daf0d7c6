// session.average_gradients(): replaces every gradient by its mean over all ranks.
//
//   loss.backward();
//   session.average_gradients(*net);
//   optimizer.step();
//
// All ranks call average_gradients() once in every step, after the last backward() and before gradients are
// clipped. If only some ranks have a gradient for a parameter, it counts as zero on the other ranks. If no
// rank has a gradient for a parameter, the gradient stays undefined. The order of the sum depends only on the
// model and the number of ranks, so a resumed run gets the same bits as an uninterrupted run.
//
// If the option `backward` is set, average_gradients() averages a bucket (group) of gradients while
// backward() computes the next gradients. The order of the buckets is fixed: from the last parameter of the
// model to the first. If backward() computes no gradient for a parameter, its bucket and all later buckets
// wait until backward() has returned. If a step accumulates the gradients of several backward() calls, pass
// the last of these calls:
//
//   for (const auto& part : parts_but_the_last) loss_of(part).backward();
//   const auto loss = loss_of(last_part);
//   session.average_gradients(*net, {.samples = samples, .backward = [&] { loss.backward(); }});
//   torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//   optimizer.step();
//
// If ranks have unequal numbers of samples, each rank sets `samples` to its number, and the result is the
// mean over all samples. Gradients in half precision are summed in single precision, and the result is
// rounded once.
//
// The averaged gradients are in memory of the session, on the device of the parameters. The averaged
// gradients are valid until zero_grad() or the next average_gradients().
//
// The first call in an attempt connects the ranks and checks that all ranks have equal weights, because
// unequal weights would never become equal. Gradients on the CPU are summed with the library Gloo. Gradients
// on an accelerator are summed on it, with NCCL and the CMake target ratoon::agent_torch_cuda
// (docs/train/gpu.md). average_gradients() returns when the sums are complete. A rank waits for other ranks
// without a time limit, because one rank may validate alone for an hour. If the set of processes changes, the
// wait and a running backward() end with the exception Interrupted.
//
// If a step trains several modules together, one call averages their gradients:
//
//   const ratoon::torch::Modules both{{*policy, *critic}};
//   session.average_gradients(both, {.backward = [&] { loss.backward(); }});
//
// Modules that are trained in turn, such as the two networks of a GAN, need one call of average_gradients()
// each.
//
// A program with its own process group passes a new group in each call of the training function:
//
//   auto store = c10::make_intrusive<c10d::PrefixStore>(std::to_string(session.attempt()), my_store);
//   ratoon::torch::use_group(session, c10::make_intrusive<c10d::ProcessGroupGloo>(
//                                         store, session.rank(), session.world_size(), my_options));
#pragma once

#include <functional>
#include <vector>

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

// The modules whose gradients one call of average_gradients() averages: equal on all ranks, and in the same
// order.
struct Modules {
  std::vector<std::reference_wrapper<::torch::nn::Module>> all;
};

}  // namespace torch

// Session::average_gradients() calls the functions below.
void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how);
void average_gradients_of(Session& session, const torch::Modules& modules, const Averaging& how);

namespace torch {

// Sets the process group for the later calls of average_gradients() in this attempt. The process group must
// contain all ranks, with the same rank numbers, and must support tensors on the device of the parameters.
// The program sets the timeout of its own process group. If a rank calls a collective later than the group's
// timeout, the process ends with exit code 81. The memory of a collective that Interrupted left unfinished is
// kept until the process ends.
void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group);

}  // namespace torch

}  // namespace ratoon
