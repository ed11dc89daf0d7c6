#include <ratoon/torch/average_gradients.h>

#include "agent/src/torch/collectives/averager.h"

namespace ratoon {

void average_gradients_of(Session& session, ::torch::nn::Module& module, const Averaging& how) {
  if (session.world_size() == 1 && !averages_alone) {
    if (how.backward) how.backward();
    session.agree(session.requests());
    return;
  }
  session.part<Averager>(session).average(module, how);
}

namespace torch {

void use_group(Session& session, const c10::intrusive_ptr<c10d::Backend>& group) {
  session.part<Averager>(session).use(group);
}

}  // namespace torch

}  // namespace ratoon
