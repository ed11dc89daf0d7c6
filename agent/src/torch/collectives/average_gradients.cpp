#include <span>

#include <ratoon/torch/average_gradients.h>

#include "agent/src/torch/collectives/averager.h"

namespace ratoon {
namespace {

template <class Trained>
void average(Session& session, const Trained& trained, const Averaging& how) {
  if (session.world_size() == 1 && !averages_alone) {
    if (how.backward) how.backward();
    session.agree(session.requests());
    return;
  }
  session.part<Averager>(session).average(trained_weights(trained), how);
}

}  // namespace

void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how) {
  average(session, module, how);
}

void average_gradients_of(Session& session, const torch::Modules& modules, const Averaging& how) {
  average(session, std::span(modules.all), how);
}

namespace torch {

void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group) {
  session.part<Averager>(session).use(group);
}

}  // namespace torch

}  // namespace ratoon
