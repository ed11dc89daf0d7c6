// session.average_gradients(): the mean of every gradient over all ranks, in place.
//
//   loss.backward();
//   session.average_gradients(*net);
//   optimizer.step();
//
// All ranks call it in every step, once per accumulation window. A gradient that a rank does not have counts
// as zero; one that no rank has stays undefined. The sum is taken in an order that depends on the model and
// the number of ranks alone, so a resumed run gets the bits of an unbroken one.
//
// The first call of an attempt connects the ranks (Gloo, on the CPU) and compares their weights: ranks that
// start from different ones would never agree again. Waiting ends with Interrupted as soon as the world
// changed.
#pragma once

#include <ratoon/session.h>

namespace torch::nn {
class Module;
}

namespace ratoon {

// What Session::average_gradients() calls.
void average_gradients_of(Session& session, ::torch::nn::Module& module);

}  // namespace ratoon
