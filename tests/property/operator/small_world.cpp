#include "tests/property/operator/small_world.h"

#include <algorithm>
#include <chrono>

#include "operator/core/members/roster.h"
#include "operator/core/reconcile.h"
#include "tests/property/operator/scheduling.h"
#include "tests/support/operator_builders.h"

namespace ratoon::sim {
namespace {

using Kind = Event::Kind;
using Stage = Body::Stage;

constexpr std::size_t kWhole = 1000;  // of a decision: no prefix
constexpr Duration kKnownAfter = std::chrono::seconds(40);
constexpr Duration kASecond = std::chrono::seconds(1);  // all moments here are whole seconds

std::string node_name(std::size_t number) {
  return "node-" + std::to_string(number + 1);
}

// Whether the stored roster has exactly this pod.
bool is_member(const SmallJob& job, const Body& body) {
  return std::ranges::any_of(job.job.status.members, [&](const auto& member) {
    return member.index == body.pod.index && member.incarnation == body.pod.incarnation &&
           (member.uid.empty() || member.uid == body.pod.uid);
  });
}

}  // namespace

SmallWorld::SmallWorld(std::size_t jobs, std::uint32_t faults, std::uint64_t steps, Beside beside)
    : count_(jobs),
      has_neighbour_(beside == Beside::kNeighbour),
      steps_(steps),
      faults_left_(faults),
      now_(test::at_seconds(100)),
      last_fault_(now_) {
  for (std::size_t number = 0; number < jobs; ++number) {
    SmallJob made;
    made.job = test::new_job(2);
    made.job.meta.name = "job-" + std::to_string(number);
    made.job.meta.uid = made.job.meta.name;
    made.job.spec.restart_policy.restarts_max = 1000;
    made.job.spec.restart_policy.backoff_seconds = 0;
    made.job.spec.start_deadline_seconds = 0;
    made.job.spec.disruption_policy.avoid_node_seconds = 20;
    jobs_.at(number) = std::make_shared<const SmallJob>(std::move(made));
  }
}

SmallWorld SmallWorld::of_first_job() const {
  SmallWorld world = *this;
  world.count_ = 1;
  world.jobs_.at(1) = nullptr;
  world.has_neighbour_ = true;
  return world;
}

bool SmallWorld::is_first_over() const {
  return api::is_over(jobs_.front()->job.status.phase);
}

core::Observation SmallWorld::observe(const SmallJob& job) const {
  core::Observation seen{
      .job = job.job,
      .pods = job.copy,
      .processes = job.job_session.processes(),
      .world = job.job_session.announcement().world,
      .nodes = {},
      .wall_now = wall_now(),
      .checkpoint_lists_valid_from = job.job_session.announcement().checkpoint_lists_valid_from,
      .listening_since = job.is_open ? job.opened : now_};
  for (std::size_t i = 0; i < kNodes; ++i)
    seen.nodes.push_back({.name = node_name(i), .taints = {}, .is_lost = is_known_dead(i)});
  return seen;
}

core::Decision SmallWorld::decide(const SmallJob& job) const {
  return core::reconcile(observe(job), now_);
}

bool SmallWorld::is_known_dead(std::size_t node) const {
  return died_.at(node) && now_ - *died_.at(node) >= kKnownAfter;
}

bool SmallWorld::is_dead(const Body& body) const {
  for (std::size_t node = 0; node < kNodes; ++node)
    if (died_.at(node) && body.pod.node == node_name(node)) return true;
  return false;
}

// All ranks of its world are in it and have the same progress.
bool SmallWorld::can_step(const SmallJob& job, const Body& body) const {
  if (body.step >= steps_) return false;
  return 2 == std::ranges::count_if(job.bodies, [&](const Body& other) {
           return other.stage == Stage::kTrains && other.attempt == body.attempt && other.step == body.step;
         });
}

void SmallWorld::add_events(std::size_t number, std::vector<Event>& events) const {
  const SmallJob& job = *jobs_.at(number);
  if (job.is_news || (job.wake_at && *job.wake_at <= now_)) events.push_back({Kind::kLook, number, kWhole});
  if (job.is_copy_held) events.push_back({Kind::kCatchUp, number});
  for (std::size_t i = 0; i < job.bodies.size(); ++i) {
    const Body& body = job.bodies[i];
    if (is_dead(body)) continue;
    if (body.is_there && body.pod.is_deleting) events.push_back({Kind::kGo, number, i});
    if (body.stage == Stage::kWaits && body.is_there && !body.pod.is_deleting && !body.pod.node.empty())
      events.push_back({Kind::kStart, number, i});
    if (body.stage == Stage::kTrains) {
      if (can_step(job, body) && body.pod.index == 0) events.push_back({Kind::kStep, number, i});
      if (body.step >= steps_) events.push_back({Kind::kEnd, number, i});
    }
    if (!job.is_open || (body.stage != Stage::kTrains && body.stage != Stage::kJoins)) continue;
    const auto& told = job.job_session.announcement();
    const auto who = identity_of(body);
    const bool may_sit = body.stage == Stage::kJoins && body.has_asked && [&] {
      auto job_session = job.job_session;
      return job_session.take_assignment(who).has_value();
    }();
    const bool is_told = body.stage == Stage::kTrains && told.attempt > body.attempt;
    if (may_sit) events.push_back({Kind::kSit, number, i});
    if (is_told || !body.has_asked || told.stop || job.job_session.refuse(who))
      events.push_back({Kind::kObey, number, i});
  }
}

void SmallWorld::add_faults(std::size_t number, std::vector<Event>& events) const {
  const SmallJob& job = *jobs_.at(number);
  if (api::is_over(job.job.status.phase)) return;
  if (!job.is_copy_held) events.push_back({Kind::kHold, number});
  for (std::size_t i = 0; i < job.bodies.size(); ++i) {
    const Body& body = job.bodies[i];
    if (!is_member(job, body) || is_dead(body)) continue;
    const bool lives = body.stage == Stage::kJoins || body.stage == Stage::kTrains;
    if (lives && body.is_there && !body.pod.is_deleting) events.push_back({Kind::kCrash, number, i});
    if (body.is_there && body.stage != Stage::kGone) events.push_back({Kind::kVanish, number, i});
  }
  if (!job.is_news) return;
  // A decision consists of the status, each action, and telling the members.
  const std::size_t parts = decide(job).actions.size() + 2;
  for (std::size_t prefix = 0; prefix < parts; ++prefix) events.push_back({Kind::kCutShort, number, prefix});
}

std::vector<Event> SmallWorld::next() const {
  std::vector<Event> events;
  for (std::size_t number = 0; number < count_; ++number) add_events(number, events);
  if (events.empty() && !is_over()) {
    events.push_back({Kind::kTime});
    const auto moment = next_moment();
    if (has_neighbour_ && moment && *moment - now_ > kASecond) events.push_back({Kind::kASecond});
  }
  if (faults_left_ == 0) return events;
  if (has_neighbour_) events.insert(events.end(), {{Kind::kOperatorEnds}, {Kind::kElsewhere}});
  for (std::size_t number = 0; number < count_; ++number) add_faults(number, events);
  for (std::size_t node = 0; node < kNodes; ++node) {
    const bool is_used =
        std::any_of(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(count_), [&](const auto& job) {
          return std::ranges::any_of(job->bodies, [&](const Body& body) {
            return body.pod.node == node_name(node) && is_member(*job, body) && body.stage != Stage::kGone;
          });
        });
    // One of three nodes is free.
    const auto dead = std::ranges::count_if(died_, [](const auto& at) { return at.has_value(); });
    if ((is_used || has_neighbour_) && dead < 2 && !died_.at(node))
      events.push_back({Kind::kNodeDies, 0, node});
  }
  return events;
}

bool SmallWorld::is_over() const {
  for (std::size_t number = 0; number < count_; ++number) {
    const SmallJob& job = *jobs_.at(number);
    if (!api::is_over(job.job.status.phase) || job.is_news || (job.wake_at && *job.wake_at <= now_))
      return false;
  }
  return true;
}

SmallJob& SmallWorld::change(std::size_t number) {
  auto copy = std::make_shared<SmallJob>(*jobs_.at(number));
  SmallJob& job = *copy;
  jobs_.at(number) = std::move(copy);
  return job;
}

SmallWorld SmallWorld::after(const Event& event) const {
  SmallWorld world = *this;
  if (event.is_fault())
    world.fail(event);
  else
    world.apply(event);
  return world;
}

// The effect of a change of pods on the operator's copy.
void SmallWorld::note(SmallJob& job) {
  if (job.is_copy_held) return;
  std::vector<api::Pod> now;
  for (const auto& body : job.bodies)
    if (body.is_there) now.push_back(body.pod);
  if (now == job.copy) return;
  job.copy = std::move(now);
  job.is_news = true;
}

void SmallWorld::apply(const Event& event) {
  if (event.kind == Kind::kASecond) return pass_time(now_ + kASecond);
  if (event.kind == Kind::kTime) {
    if (const auto moment = next_moment()) return pass_time(*moment);
    broken_ = "nothing happens any more, and no decision named a moment";
    return;
  }
  SmallJob& job = change(event.job);
  if (event.kind == Kind::kLook) return look(job, event.which);
  if (event.kind == Kind::kCatchUp) {
    job.is_copy_held = false;
    return note(job);
  }
  Body& body = job.bodies.at(event.which);
  if (event.kind == Kind::kStart) start(job, body);
  if (event.kind == Kind::kSit) sit(job, body);
  if (event.kind == Kind::kObey) obey(job, body);
  if (event.kind == Kind::kStep) step(job, body.attempt);
  if (event.kind == Kind::kEnd) end(job, body);
  if (event.kind == Kind::kGo) {
    body.is_there = false;
    body.stage = Stage::kGone;
  }
  std::erase_if(job.bodies, [](const Body& b) { return !b.is_there && b.stage == Stage::kGone; });
  note(job);
}

void SmallWorld::lose(SmallJob& job, const Body& body) const {
  if (is_member(job, body) && body.stage != Stage::kGone) ++job.losses;
}

void SmallWorld::fail(const Event& event) {
  --faults_left_;
  last_fault_ = now_;
  if (event.kind == Kind::kNodeDies) {
    for (std::size_t number = 0; number < count_; ++number) {
      SmallJob& job = change(number);
      for (Body& body : job.bodies) {
        if (body.pod.node != node_name(event.which)) continue;
        lose(job, body);
        body.stage = body.stage == Stage::kWaits ? Stage::kWaits : Stage::kGone;
      }
    }
    died_.at(event.which) = now_;
    return;
  }
  if (event.kind == Kind::kElsewhere) return;
  if (event.kind == Kind::kOperatorEnds) return end_operator();
  SmallJob& job = change(event.job);
  if (event.kind == Kind::kHold) {
    job.is_copy_held = true;
  } else if (event.kind == Kind::kCutShort) {
    look(job, event.which);
    end_operator();
  } else {
    Body& body = job.bodies.at(event.which);
    lose(job, body);
    if (event.kind == Kind::kCrash) leave(job, body, 1);
    if (event.kind == Kind::kVanish) {
      body.is_there = false;
      if (body.stage == Stage::kWaits) body.stage = Stage::kGone;
    }
    std::erase_if(job.bodies, [](const Body& b) { return !b.is_there && b.stage == Stage::kGone; });
    note(job);
  }
}

// Members' messages and orders are forgotten; the next operator lists everything first.
void SmallWorld::end_operator() {
  for (std::size_t number = 0; number < count_; ++number) {
    SmallJob& job = change(number);
    job.job_session = {};
    job.is_open = false;
    job.is_copy_held = false;
    for (Body& body : job.bodies) body.has_asked = false;
    note(job);
    job.is_news = true;
    job.wake_at.reset();
  }
}

void SmallWorld::carry_out(SmallJob& job, const core::CreatePod& action) const {
  std::vector<api::Pod> pods;
  for (const Body& other : job.bodies)
    if (other.is_there) pods.push_back(other.pod);
  if (std::ranges::find(pods, action.pod.name, &api::Pod::name) != pods.end()) return;
  Body body;
  body.pod = action.pod;
  body.pod.uid = job.job.meta.name + "-" + std::to_string(++job.made);
  // A node of its own if possible, so that the sharing of nodes is not drawn.
  for (std::size_t turn = 0; turn < kNodes && body.pod.node.empty(); ++turn) {
    const std::size_t at = (action.pod.index + turn) % kNodes;
    if (is_open(action.avoid_nodes, node_name(at), pods) && !is_known_dead(at)) body.pod.node = node_name(at);
  }
  body.pod.avoided_nodes = excluded_nodes(action.avoid_nodes);
  if (is_dead(body)) ++job.losses;  // it was made on a node that nobody knows to be dead
  job.bodies.push_back(std::move(body));
}

void SmallWorld::look(SmallJob& job, std::size_t prefix) {
  const core::Decision decision = decide(job);
  check(job, decision);
  job.is_news = false;
  job.wake_at = decision.wake_at;
  if (prefix-- == 0) return;
  job.job.status = decision.status;
  for (const auto& action : decision.actions) {
    if (prefix-- == 0) return;
    if (const auto* create = std::get_if<core::CreatePod>(&action)) {
      carry_out(job, *create);
      job.is_news = true;
    }
    if (const auto* remove = std::get_if<core::DeletePod>(&action))
      for (Body& body : job.bodies) body.pod.is_deleting |= body.is_there && body.pod.uid == remove->uid;
  }
  // Our own writes are in the copy even if it is behind.
  for (const Body& body : job.bodies) {
    const auto known = std::ranges::find(job.copy, body.pod.uid, &api::Pod::uid);
    if (known == job.copy.end() && job.is_copy_held && body.is_there && body.stage == Stage::kWaits)
      job.copy.push_back(body.pod);
    else if (known != job.copy.end())
      known->is_deleting |= body.pod.is_deleting;
  }
  note(job);
  if (prefix == 0) return;
  if (!job.is_open) job.opened = now_;
  job.is_open = true;
  job.job_session.announce(decision.announcement);
  look_again(job);
}

void SmallWorld::check(const SmallJob& job, const core::Decision& decision) {
  const auto& before = job.job.status;
  const auto& after = decision.status;
  const auto complain = [&](const char* what) {
    if (broken_.empty()) broken_ = what;
  };
  if (after.attempt < before.attempt) complain("an attempt went back");
  if (api::is_over(before.phase) && after.phase != before.phase) complain("a job that is over goes on");
  if (after.phase == api::JobPhase::kFailed) complain("a job failed");
  if (after.restarts.application + after.restarts.disruption + after.restarts.hung > job.losses)
    complain("more was counted than was lost");
  std::set<std::uint32_t> places;
  for (const auto& seat : decision.announcement.world) {
    if (!places.insert(seat.process.index).second) complain("two sit for one");
    const bool sits = std::ranges::any_of(
        after.members, [&](const auto& member) { return core::is_process_of(seat.process, member); });
    if (!sits) complain("a superseded process has a seat");
    const auto& resume = seat.assignment.resume;
    const auto from = resume ? std::pair(resume->attempt, resume->step) : std::pair(Attempt(0), Step(0));
    if (resume && !job.checkpoints.contains(from)) complain("it resumes what was never committed");
    const auto& last = after.last_checkpoint;
    if (before.attempt != after.attempt && last && from < std::pair(last->attempt, last->step))
      complain("what was reported durable is lost");
  }
  if (decision.wake_at && *decision.wake_at <= now_ && after == before && decision.actions.empty())
    complain("it looks again at once, over and over");
}

// The next moment that a decision named.
std::optional<Timestamp> SmallWorld::next_moment() const {
  std::optional<Timestamp> next;
  for (std::size_t number = 0; number < count_; ++number) {
    const SmallJob& job = *jobs_.at(number);
    if (job.wake_at && !api::is_over(job.job.status.phase))
      next = std::min(*job.wake_at, next.value_or(*job.wake_at));
  }
  for (std::size_t node = 0; node < kNodes; ++node)
    if (died_.at(node) && !is_known_dead(node))
      next = std::min(*died_.at(node) + kKnownAfter, next.value_or(*died_.at(node) + kKnownAfter));
  return next;
}

// Living processes have been heard until then.
void SmallWorld::pass_time(Timestamp until) {
  now_ = until;
  const bool is_node_news =
      std::ranges::any_of(died_, [&](const auto& at) { return at && *at + kKnownAfter == now_; });
  for (std::size_t number = 0; number < count_; ++number) {
    SmallJob& job = change(number);
    job.is_news |= is_node_news;
    if (!job.is_open) continue;
    for (Body& body : job.bodies) {
      const bool lives = body.stage == Stage::kJoins || body.stage == Stage::kTrains;
      if (lives && !is_dead(body) && !job.job_session.refuse(identity_of(body))) beat(job, body);
    }
  }
}

}  // namespace ratoon::sim
