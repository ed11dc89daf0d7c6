// session.average_gradients(): the mean of every gradient over all ranks, in place.
//
//   loss.backward();
//   session.average_gradients(*net);
//   optimizer.step();
//
// All ranks call average_gradients() in every step, once per accumulation window, before gradients are
// clipped. A gradient that a rank does not have counts as zero; a gradient that no rank has stays undefined.
// The order of the sum depends only on the model and the number of ranks, so a resumed run gets the same bits
// as an uninterrupted run.
//
// If average_gradients() is given the call of backward(), it averages a bucket of gradients while the next
// gradients are computed. The order of the buckets is fixed: the parameters from the last to the first. A
// gradient that a rank does not have delays its bucket and all later buckets until backward() is done. In an
// accumulation window, pass the last backward():
//
//   for (const auto& part : parts_but_the_last) loss_of(part).backward();
//   const auto loss = loss_of(last_part);
//   session.average_gradients(*net, {.samples = samples, .backward = [&] { loss.backward(); }});
//   torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//   optimizer.step();
//
// If ranks have unequal numbers of samples, each rank passes its own number, and the result is the mean over
// all samples. Gradients in half precision are summed in single precision and rounded once.
//
// Averaged gradients lie in memory of the session, on the device of the parameters, until zero_grad() or the
// next average_gradients().
//
// The first call of an attempt connects the ranks and compares their weights, because ranks with different
// weights would never become equal. Gradients on the CPU are summed over Gloo. Gradients on an accelerator
// are summed there (needs ratoon::agent_torch_cuda and NCCL, docs/train/gpu.md). average_gradients() returns
// when the sums are complete. A rank waits for other ranks without a limit, because one rank may validate
// alone for an hour. If the world changes, the wait and a running backward() end with Interrupted.
//
// Several modules are averaged by one call, in one set of buckets, if a step trains them together:
//
//   const ratoon::torch::Modules both{{*policy, *critic}};
//   session.average_gradients(both, {.backward = [&] { loss.backward(); }});
//
// Modules that are trained in turn, such as the two networks of a GAN, need one average_gradients() each.
//
// A program with its own process group passes a new group in each attempt:
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

// Modules that one average_gradients() averages together: the same ones in the same order on all ranks.
struct Modules {
  std::vector<std::reference_wrapper<::torch::nn::Module>> all;
};

}  // namespace torch

// Session::average_gradients() calls the functions below.
void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how);
void average_gradients_of(Session& session, const torch::Modules& modules, const Averaging& how);

namespace torch {

// The group takes effect with the next average_gradients() of this attempt. The group must contain all ranks
// of the world, with the same numbers, and must support tensors on the device of the parameters. The program
// sets the timeout of the group. A rank that arrives after the group's timeout ends the attempt with exit
// code 81. A collective that was abandoned stays alive until the process ends.
void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group);

}  // namespace torch

}  // namespace ratoon
