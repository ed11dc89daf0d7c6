// Trainers that end early and say that their run is complete, without the checkpoint of its last step: by a
// message that contradicts a commit of which this operator was told, or by the record of a pod that
// contradicts the commit in the job's status. The trainers of a correct agent do not.
#include "base/contract/resume_point.h"
#include "tests/property/operator/simulated_world.h"
#include "tests/support/builders.h"

namespace ratoon::sim {

// The newest commit of that attempt's world of which a process told the present operator.
std::optional<ResumePoint> World::commit_told_in(Attempt attempt) const {
  std::optional<ResumePoint> newest;
  for (const auto& agent : agents_) {
    const auto told = told_.find(agent->identity.start);
    if (told == told_.end() || told->second.first != attempt || !agent->is_in_a_world()) continue;
    if (agent->assignment.attempt != attempt || member_server_.refuse(agent->identity)) continue;
    if (!newest || is_newer(told->second.second, *newest)) newest = told->second.second;
  }
  return newest;
}

// Any commit but `known`, which the run cannot have ended with.
ResumePoint World::draw_wrong_end(const ResumePoint& known) {
  ResumePoint wrong = known;
  switch (moves_.below("ends-with", 3)) {
    case 0:
      wrong.step = Step(known.step.value() - 1);
      break;
    case 1:
      wrong.digest += "-of-other-bytes";
      break;
    default:
      wrong.attempt = Attempt(known.attempt.value() - 1);
      wrong.step = Step(moves_.below("of-step", known.step.value()));
  }
  return wrong;
}

void World::complete_too_early() {
  if (moves_.percent("by-message", 70)) {
    for (const auto& agent : agents_)
      if (agent->is_in_a_world() && is_reachable(*agent) && !member_server_.refuse(agent->identity))
        claim_completion(*agent);
    return;
  }
  std::vector<std::string> running;
  for (const auto& [uid, entry] : pods_)
    if (entry.pod.phase == api::PodPhase::kRunning && !entry.pod.is_deleting && !is_on_dead_node(entry))
      running.push_back(uid);
  if (!running.empty()) leave_wrong_record(running[moves_.below("whose-record", running.size())]);
}

void World::claim_completion(const Agent& agent) {
  const Attempt attempt = agent.assignment.attempt;
  const auto known = commit_told_in(attempt);
  // With a commit of an earlier attempt, each commit of this attempt may be the last one.
  if (!known || known->attempt != attempt || known->step == Step(0)) return;
  Completed wrong = test::completed(agent.identity, attempt.value(), agent.step);
  wrong.checkpoint = draw_wrong_end(*known);
  ++wrong_completions_;
  if (member_server_.find_completion_refusal(wrong)) return;  // and the trainer goes on
  member_server_.record_completed(wrong, now_);
  has_news_ = true;
}

void World::leave_wrong_record(const std::string& pod_uid) {
  const auto& known = job_.status.last_checkpoint;
  if (!known || known->step == Step(0)) return;
  end_processes(pod_uid);
  api::Pod& pod = pods_.at(pod_uid).pod;
  pod.phase = api::PodPhase::kSucceeded;
  pod.exit_code = 0;
  pod.ended_at = wall_now();
  pod.has_running_sidecars = scenario_.policies.has_neighbours;
  pod.is_completed = true;
  pod.last_checkpoint = draw_wrong_end(*known);
  ++wrong_completions_;
}

}  // namespace ratoon::sim
