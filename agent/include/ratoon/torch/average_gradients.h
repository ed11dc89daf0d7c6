// session.average_gradients(): the mean of every gradient over all ranks, in place.
//
//   loss.backward();
//   session.average_gradients(*net);
//   optimizer.step();
//
// All ranks call it in every step, once per accumulation window, before the gradients are clipped. A gradient
// that a rank does not have counts as zero; one that no rank has stays undefined. The sum is taken in an
// order that depends on the model and the number of ranks alone, so a resumed run gets the bits of an
// unbroken one.
//
// With the backward() in its hands it averages a bucket of gradients while the next are computed, in an order
// that is fixed: that of the parameters, from the last to the first. What a rank has no gradient of waits,
// with all that comes after it, until backward() is done. Of an accumulation window the last backward() goes
// here:
//
//   for (const auto& part : parts_but_the_last) loss_of(part).backward();
//   const auto loss = loss_of(last_part);
//   session.average_gradients(*net, {.samples = samples, .backward = [&] { loss.backward(); }});
//   torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
//   optimizer.step();
//
// Where ranks have unequal numbers of samples, each gives its own, and the mean is that over all samples.
// Gradients in half precision are added up in single precision, and rounded once.
//
// Averaged gradients lie in memory of the session from then on, until zero_grad() or the next call, on the
// device of the parameters.
//
// The first call of an attempt connects the ranks and compares their weights: ranks that start from different
// ones would never agree again. Gradients on the CPU are added up over Gloo; those on an accelerator there,
// which needs ratoon::agent_torch_cuda and NCCL (docs/train/gpu.md). It returns when they are complete. A
// rank waits without a limit for another one, which may validate alone for an hour. Waiting ends with
// Interrupted as soon as the world changed, as the backward() does that is under way.
//
// A program that has a process group of its own gives it instead of that, in each attempt a new one:
//
//   auto store = c10::make_intrusive<c10d::PrefixStore>(std::to_string(session.attempt()), my_store);
//   ratoon::torch::use_group(session, c10::make_intrusive<c10d::ProcessGroupGloo>(
//                                         store, session.rank(), session.world_size(), my_options));
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <ratoon/session.h>

namespace torch::nn {
class Module;
}
namespace c10d {
class Backend;
}

namespace ratoon {

// What Session::average_gradients() calls.
void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how);

namespace torch {

// From the next average_gradients() of this attempt on. All ranks of the world are in it, under the numbers
// that they have there, and it can add up tensors on the device of the parameters. The time-out is the
// program's: a rank that comes later than that ends the attempt with exit code 81, and a collective that is
// given up goes on, and lives, until then.
void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group);

}  // namespace torch

}  // namespace ratoon
