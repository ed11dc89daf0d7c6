#include "operator/core/policy/finish.h"

#include <utility>

#include "operator/core/policy/clean_pods.h"

namespace ratoon::core {

Decision finish(const Observation& seen, api::TrainingJobStatus status, api::JobPhase phase,
                std::string message, std::vector<Action> news) {
  Decision decision{.actions = std::move(news)};
  const bool is_news = status.phase != phase;
  status.phase = phase;
  if (is_news) status.message = message;
  if (!status.completed_at) status.completed_at = seen.wall_now;
  status.is_world_formed = false;
  status.world_size = 0;
  status.world_formed_at.reset();
  status.world_awaited_since.reset();
  status.capacity_wait.reset();
  status.suspending_since.reset();
  for (auto& action : clean_pods(seen, status, message)) decision.actions.push_back(std::move(action));
  if (is_news) {
    decision.actions.push_back(EmitEvent{.is_warning = phase == api::JobPhase::kFailed,
                                         .reason = std::string(name_of(phase)),
                                         .message = message});
  }
  decision.announcement = {
      .attempt = status.attempt, .world = {}, .current = {}, .stop = true, .reason = message};
  decision.status = std::move(status);
  return decision;
}

}  // namespace ratoon::core
