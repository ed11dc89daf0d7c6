#include <vector>

#include <ratoon/torch/average_gradients.h>

#include "agent/src/torch/collectives/averager.h"

namespace ratoon {
namespace {

template <class WeightsOf>
void average(Session& session, const WeightsOf& weights_of_modules, const Averaging& how) {
  if (session.world_size() == 1 && !averages_with_one_rank) {
    if (how.backward) how.backward();
    session.agree(session.requests());
    return;
  }
  session.part<Averager>(session).average(weights_of_modules(), how);
}

}  // namespace

void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how) {
  average(session, [&] { return std::vector<NamedWeights>{trained_weights(module)}; }, how);
}

void average_gradients_of(Session& session, const torch::Modules& modules, const Averaging& how) {
  average(session, [&] { return trained_weights(modules.all, modules.tensors); }, how);
}

void average_gradients_of(Session& session, const std::vector<at::Tensor>& tensors, const Averaging& how) {
  average(session, [&] { return trained_weights({}, tensors); }, how);
}

namespace torch {

void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group) {
  session.part<Averager>(session).use(group);
}

}  // namespace torch

}  // namespace ratoon
