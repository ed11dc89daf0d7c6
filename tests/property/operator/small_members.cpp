// The actions of the processes of a small world.
#include <algorithm>

#include "tests/property/operator/small_world.h"
#include "tests/support/operator_builders.h"

namespace ratoon::sim {

using Stage = Body::Stage;

ProcessIdentity identity_of(const Body& body) {
  ProcessIdentity process = test::process(body.pod.index, body.pod.incarnation);
  process.member_uid = body.pod.uid;
  process.start = body.pod.uid;
  return process;
}

void SmallWorld::start(SmallJob& job, Body& body) const {
  body.pod.phase = api::PodPhase::kRunning;
  body.stage = Stage::kJoins;
  if (job.is_open && !job.job_session.refuse(identity_of(body))) join(job, body);
}

void SmallWorld::join(SmallJob& job, Body& body) const {
  JoinRequest request = test::join_request(identity_of(body), body.attempt.value());
  for (const auto& [attempt, step] : job.checkpoints)
    request.inventory.push_back(test::checkpoint(attempt.value(), step.value()));
  job.job_session.record_join(request, now_);
  body.has_asked = true;
  job.is_news = true;
}

// Processes that wait with a list of checkpoints that is too old act at once.
void SmallWorld::look_again(SmallJob& job) const {
  for (Body& body : job.bodies)
    if (body.stage == Stage::kJoins && body.has_asked &&
        job.job_session.take_checkpoint_list_request(identity_of(body)))
      join(job, body);
}

void SmallWorld::sit(SmallJob& job, Body& body) {
  const auto assignment = job.job_session.take_assignment(identity_of(body));
  body.stage = Stage::kTrains;
  body.attempt = assignment->attempt;
  body.step = assignment->resume ? assignment->resume->step.value() : 0;
  const auto twins = std::ranges::count_if(job.bodies, [&](const Body& other) {
    return other.stage == Stage::kTrains && other.attempt == body.attempt &&
           other.pod.index == body.pod.index;
  });
  if (twins > 1 && broken_.empty()) broken_ = "two of one member train in one world";
  beat(job, body);
}

void SmallWorld::beat(SmallJob& job, Body& body) const {
  std::optional<InventoryEntry> committed;
  if (!job.checkpoints.empty() && body.stage == Stage::kTrains) {
    const auto& newest = *job.checkpoints.rbegin();
    committed = test::checkpoint(newest.first.value(), newest.second.value());
  }
  const std::uint64_t attempt = body.stage == Stage::kTrains ? body.attempt.value() : 0;
  job.is_news |= job.job_session.record_beat(
      test::beat(identity_of(body), attempt, body.step, ++body.said, committed), now_);
  body.has_asked = true;
}

// The operator's order, or no order from an operator that does not know the process yet.
void SmallWorld::obey(SmallJob& job, Body& body) const {
  if (job.job_session.refuse(identity_of(body))) return leave(job, body, 81);
  if (job.job_session.announcement().stop) return leave(job, body, 80);
  if (body.stage == Stage::kTrains && job.job_session.announcement().attempt <= body.attempt)
    return beat(job, body);
  body.stage = Stage::kJoins;
  join(job, body);
}

void SmallWorld::step(SmallJob& job, Attempt attempt) const {
  std::uint64_t reached = 0;
  for (Body& body : job.bodies)
    if (body.stage == Stage::kTrains && body.attempt == attempt) reached = ++body.step;
  job.checkpoints.emplace(attempt, Step(reached));
  for (Body& body : job.bodies)
    if (job.is_open && body.stage == Stage::kTrains && body.attempt == attempt &&
        !job.job_session.refuse(identity_of(body)))
      beat(job, body);
}

void SmallWorld::end(SmallJob& job, Body& body) const {
  if (job.is_open && !job.job_session.refuse(identity_of(body))) {
    job.job_session.record_completed(test::completed(identity_of(body), body.attempt.value(), body.step),
                                     now_);
    job.is_news = true;
  }
  body.pod.is_completed = true;
  leave(job, body, 0);
}

void SmallWorld::leave(SmallJob&, Body& body, int exit_code) {
  body.stage = Stage::kGone;
  if (!body.is_there) return;
  body.pod.phase = exit_code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed;
  body.pod.exit_code = exit_code;
}

}  // namespace ratoon::sim
