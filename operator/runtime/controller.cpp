#include "operator/runtime/controller.h"

#include <algorithm>
#include <thread>
#include <variant>
#include <vector>

#include "operator/core/reconcile.h"
#include "operator/runtime/patience.h"

namespace ratoon::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kRetryPauseMin = milliseconds(100);
constexpr int kRetryDoublingsMax = 7;
// Beats that bring only a step ask for no look; their progress is stored by then.
constexpr Duration kLookAgain = seconds(5);

std::string text_of(const JobKey& key) {
  return key.name_space + "/" + key.name;
}

}  // namespace

Controller::Controller(const Clock& clock, const Logger& logger, WorkQueue& queue, Cluster& cluster,
                       coordinator::Rooms& rooms, OperatorMetrics& metrics)
    : clock_(clock), logger_(logger), queue_(queue), cluster_(cluster), rooms_(rooms), metrics_(metrics) {}

void Controller::run(const std::stop_token& stop, int workers) {
  for (const auto& key : cluster_.jobs()) queue_.add_now(key);
  std::vector<std::jthread> others;
  for (int i = 1; i < workers; ++i) others.emplace_back([this, &stop] { work(stop); });
  work(stop);
}

void Controller::work(const std::stop_token& stop) {
  while (const auto key = queue_.take(stop)) {
    look_at(*key);
    queue_.done(*key);
  }
}

Controller::Memory& Controller::memory_of(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  return memories_[key];
}

bool Controller::step() {
  const auto key = queue_.take_due();
  if (!key) return false;
  look_at(*key);
  queue_.done(*key);
  return true;
}

void Controller::look_at(const JobKey& key) {
  const auto view = cluster_.view(key);
  if (!view) {
    report_broken(key);
    rooms_.close(key);
    metrics_.forget(key);
    const std::lock_guard lock(mutex_);
    memories_.erase(key);
    return;
  }
  const Timestamp began = clock_.now();
  Memory& memory = memory_of(key);
  if (memory.uid != view->job.meta.uid) memory = {.uid = view->job.meta.uid};
  const core::Observation seen{.job = view->job,
                               .pods = view->pods,
                               .processes = rooms_.processes(key),
                               .world = rooms_.world(key),
                               .nodes = view->nodes,
                               .wall_now = clock_.wall_now(),
                               .recovery = memory.recovery,
                               .listening_since = rooms_.listening_since(key)};
  const core::Decision decision = core::reconcile(seen, began);
  metrics_.note_decision_seconds(ratoon::seconds(clock_.now() - began));
  const auto done = carry_out(view->job, decision, memory);
  if (!done) retry_later(key, done.error(), memory);
  if (done) memory.failures_in_a_row = 0;
  // A failure must not make us late for the next silence, nor spin.
  const Timestamp now = clock_.now();
  Timestamp next = std::min(now + kLookAgain, decision.wake_at.value_or(now + kLookAgain));
  if (memory.roster_due) next = std::max(next, *memory.roster_due);  // without news it would be the same look
  queue_.add(key, done ? next : std::max(next, now + kRetryPauseMin));
}

// A job that cannot be read, by an older operator or after an edit by hand, is left as it is: its members
// train on, and its owner is told why nobody looks after them.
void Controller::report_broken(const JobKey& key) {
  for (const auto& broken : cluster_.broken_jobs()) {
    if (broken.meta.name_space != key.name_space || broken.meta.name != key.name) continue;
    const std::string name = text_of(key);
    logger_.warning("a job cannot be read and is left alone", {{"job", name}, {"error", broken.complaint}});
    api::TrainingJob job;
    job.meta = broken.meta;
    cluster_.emit_event(job, {.is_warning = true, .reason = "InvalidSpec", .message = broken.complaint});
  }
}

Result<void> Controller::carry_out(const api::TrainingJob& job, const core::Decision& decision,
                                   Memory& memory) {
  api::TrainingJob decided = job;
  decided.status = decision.status;
  if (auto stored = store_status(decided, job.status, memory); !stored) return stored;
  memory.recovery = decision.recovery;
  metrics_.note_status(key_of(job), job.status, decision.status);
  Result<void> all_done;
  for (const auto& action : decision.actions) {
    // One pod that cannot be made is no reason to leave the others unmade, or the agents untold.
    if (auto done = act(decided, action); !done) all_done = done;
  }
  rooms_.announce(key_of(job), decision.announcement);
  return all_done;
}

Result<void> Controller::store_status(const api::TrainingJob& decided, const api::TrainingJobStatus& before,
                                      Memory& memory) {
  const Timestamp now = clock_.now();
  const auto patience = patience_with(decided.spec, before, decided.status);
  if (!patience.has_news) {
    memory.roster_due.reset();
    return {};
  }
  if (now - memory.progress_stored < patience.after_the_last_write) return {};
  if (patience.from_now > Duration::zero()) {
    if (!memory.roster_due) memory.roster_due = now + patience.from_now;
    if (now < *memory.roster_due) return {};
  }
  auto written = cluster_.write_status(decided);
  if (!written) return written;
  memory.progress_stored = now;
  memory.roster_due.reset();
  return {};
}

Result<void> Controller::act(const api::TrainingJob& job, const core::Action& action) {
  if (const auto* create = std::get_if<core::CreatePod>(&action)) {
    auto created = cluster_.create_pod(job, *create);
    if (created) {
      queue_.add_now(key_of(job));  // its UID is to be noted
    } else if (!created.error().is_retryable() || created.error().kind() == ErrorKind::kNoSpace) {
      cluster_.emit_event(job,
                          {.is_warning = true, .reason = "PodRefused", .message = created.error().message()});
    }
    return created;
  }
  if (const auto* remove = std::get_if<core::DeletePod>(&action)) return cluster_.delete_pod(job, *remove);
  if (const auto* end = std::get_if<core::DeleteJob>(&action)) return cluster_.delete_job(job, *end);
  const auto& event = std::get<core::EmitEvent>(action);
  const std::string name = text_of(key_of(job));
  logger_.log(event.is_warning ? LogLevel::kWarning : LogLevel::kInfo, event.message,
              {{"job", name}, {"reason", event.reason}});
  cluster_.emit_event(job, event);
  return {};
}

void Controller::retry_later(const JobKey& key, const Error& error, Memory& memory) {
  const int doublings = std::min(memory.failures_in_a_row++, kRetryDoublingsMax);
  // Somebody else wrote first: no failure, the next look sees what he wrote.
  if (error.kind() != ErrorKind::kConflict) {
    const std::string name = text_of(key);
    logger_.warning("a decision could not be carried out, it is made again",
                    {{"job", name}, {"error", error.message()}});
  }
  queue_.add(key, clock_.now() + kRetryPauseMin * (1 << doublings));
}

}  // namespace ratoon::runtime
