#include "operator/coordinator/door.h"

#include <algorithm>
#include <utility>

#include "base/contract/names.h"
#include "base/contract/resume_point.h"

namespace ratoon::coordinator {
namespace {

// Late messages come within seconds; a large job in which every process was started anew fits.
constexpr std::size_t kOthersMax = 4096;

bool is_same_place(const ProcessIdentity& a, const ProcessIdentity& b) {
  return a.index == b.index && a.role == b.role && a.incarnation == b.incarnation &&
         a.local_rank == b.local_rank;
}

}  // namespace

std::optional<Refusal> Door::refuse_join(const ProcessIdentity& process) const {
  if (!announcement_.stop) return refuse(process);
  return Refusal{.kind = names::refusal::kFinished, .message = "the job is over: " + announcement_.reason};
}

std::optional<Refusal> Door::refuse(const ProcessIdentity& process) const {
  // First: a token speaks for a whole pod, which must not fill our memory with processes that it cannot have.
  const std::uint32_t processes = announcement_.processes_per_node;
  if (process.local_rank >= processes) {
    return Refusal{.kind = names::refusal::kUnauthorized,
                   .message = "local ranks of " +
                              member_name(process.job, process.role, process.index, process.incarnation) +
                              " are below " + std::to_string(processes) +
                              " (processesPerNode), and one of local rank " +
                              std::to_string(process.local_rank) +
                              " speaks: start as many as the job says, or say more in the job"};
  }
  for (const auto& other : others_) {
    if (!other.is_superseded || other.process.start != process.start || other.process != process) continue;
    return Refusal{.kind = names::refusal::kSuperseded,
                   .message = "process " + std::to_string(process.local_rank) + " of " +
                              member_name(process.job, process.role, process.index, process.incarnation) +
                              " was started again, and this start of it may not take part any more"};
  }
  if (announcement_.current.empty()) return std::nullopt;  // nothing is known yet: listen
  const ProcessIdentity* newest = nullptr;
  for (const auto& current : announcement_.current) {
    if (current.role != process.role || current.index != process.index) continue;
    const bool is_other_pod = process.incarnation == current.incarnation && !current.member_uid.empty() &&
                              process.member_uid != current.member_uid;
    if (process.incarnation == current.incarnation && !is_other_pod) return std::nullopt;
    newest = &current;
  }
  if (newest == nullptr) {
    return Refusal{.kind = names::refusal::kSuperseded,
                   .message = "the job has no member " + process.role + "-" + std::to_string(process.index)};
  }
  // One that is newer than all we know comes from a decision that we have not been told of.
  if (process.incarnation > newest->incarnation) return std::nullopt;
  return Refusal{.kind = names::refusal::kSuperseded,
                 .message = member_name(process.job, process.role, process.index, process.incarnation) +
                            " was replaced by incarnation " + std::to_string(newest->incarnation) +
                            " and may not take part any more"};
}

api::ProcessFacts& Door::facts_of(const ProcessIdentity& process, Timestamp now) {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& facts) { return is_same_place(facts.identity, process); });
  if (found == processes_.end()) {
    return processes_.emplace_back(api::ProcessFacts{.identity = process, .last_heard = now});
  }
  if (found->identity != process) {
    if (others_.size() == kOthersMax) others_.erase(others_.begin());
    others_.push_back({.process = found->identity});
    *found = {.identity = process, .last_heard = now};
  }
  found->last_heard = now;
  return *found;
}

void Door::supersede_others(const ProcessIdentity& process) {
  std::erase_if(others_, [&](const auto& other) { return other.process == process; });
  for (auto& other : others_) other.is_superseded |= is_same_place(other.process, process);
}

void Door::hear_join(const JoinRequest& request, Timestamp now) {
  auto& facts = facts_of(request.process, now);
  facts.waiting = request;
  facts.left_step = request.left_step;
  facts.has_met = facts.has_met || request.has_met;
  supersede_others(request.process);
}

// The start of this process that has a seat, if it is another one. Only who joins takes its place: a beat
// alone may be a late one, of a start before it that was never heard in time.
api::ProcessFacts* Door::find_other_seated(const ProcessIdentity& process) {
  const auto other = std::find_if(processes_.begin(), processes_.end(), [&](const auto& facts) {
    return is_same_place(facts.identity, process) && facts.identity != process;
  });
  if (other == processes_.end()) return nullptr;
  const bool sits = std::any_of(announcement_.world.begin(), announcement_.world.end(),
                                [&](const auto& seat) { return seat.process == other->identity; });
  return sits ? &*other : nullptr;
}

bool Door::hear_beat(const Beat& beat, Timestamp now) {
  if (api::ProcessFacts* seated = find_other_seated(beat.process)) {
    seated->last_heard = now;  // its pod lives; a new start joins as the first thing that it does
    return false;
  }
  auto& facts = facts_of(beat.process, now);
  if (facts.beat && beat.sequence <= facts.beat->sequence) return false;  // overtaken on its way
  facts.has_met = facts.has_met || beat.attempt > Attempt(0);
  const std::optional<Beat> before = std::exchange(facts.beat, beat);
  if (!before || before->attempt != beat.attempt || before->committed != beat.committed) return true;
  const bool has_loaded = before->phase != beat.phase &&
                          (before->phase == ProcessPhase::kLoad || before->phase == ProcessPhase::kUser);
  const auto seat = std::find_if(announcement_.world.begin(), announcement_.world.end(),
                                 [&](const auto& s) { return s.process == beat.process; });
  if (seat == announcement_.world.end()) return has_loaded;
  const Step resumed = seat->assignment.resume ? seat->assignment.resume->step : Step(0);
  const bool is_first_step = before->step <= resumed && beat.step > resumed;
  return has_loaded || is_first_step;
}

std::optional<Refusal> Door::refuse_completion(const Completed& completed) const {
  const ResumePoint& last = completed.checkpoint;
  for (const auto& facts : processes_) {
    if (!facts.beat || facts.beat->attempt != completed.attempt || !facts.beat->committed) continue;
    const InventoryEntry& told = *facts.beat->committed;
    const bool was_damaged = std::ranges::any_of(facts.beat->damaged, [&](const auto& one) {
      return one.attempt == told.attempt && one.step == told.step;
    });
    // One of an attempt before this is no last one, where this attempt has committed as well.
    const bool is_passed = told.attempt == completed.attempt && told.attempt > last.attempt;
    if (was_damaged || (!is_passed && may_be_last(last, told.attempt, told.step, told.digest))) continue;
    return Refusal{.kind = names::refusal::kBadMessage,
                   .message = "the run cannot have ended with the checkpoint of step " +
                              std::to_string(last.step.value()) + " of attempt " +
                              std::to_string(last.attempt.value()) + ", digest " + last.digest +
                              ": a member told of the commit of step " + std::to_string(told.step.value()) +
                              " of attempt " + std::to_string(told.attempt.value()) + ", digest " +
                              told.digest};
  }
  return std::nullopt;
}

void Door::hear_completed(const Completed& completed, Timestamp now) {
  auto& facts = facts_of(completed.process, now);
  facts.is_completed = true;
  facts.waiting.reset();
  const auto weights = completed.result.find(kWeightsResult);
  if (weights != completed.result.end()) facts.weights = weights->second;
  if (!facts.beat) facts.beat = Beat{.process = completed.process};
  facts.beat->attempt = completed.attempt;
  facts.beat->step = completed.step;
}

std::optional<Assignment> Door::take_seat(const ProcessIdentity& process) {
  const auto seat = std::find_if(announcement_.world.begin(), announcement_.world.end(),
                                 [&](const auto& s) { return s.process == process; });
  const auto facts = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& f) { return f.identity == process; });
  if (seat == announcement_.world.end() || facts == processes_.end() || !facts->waiting) return std::nullopt;
  if (facts->waiting->left_attempt >= seat->assignment.attempt) return std::nullopt;
  facts->waiting.reset();
  return seat->assignment;
}

std::optional<double> Door::seconds_left(const ProcessIdentity& process, WallTime now) const {
  for (const auto& leaving : announcement_.departures)
    if (leaving.index == process.index && leaving.role == process.role &&
        leaving.incarnation == process.incarnation)
      return std::max(0.0, seconds(leaving.at.since_epoch - now.since_epoch));
  return std::nullopt;
}

Orders Door::orders(const ProcessIdentity& process, WallTime now) const {
  return {.revision = revision_,
          .attempt = announcement_.attempt,
          .drain_deadline_seconds = seconds_left(process, now),
          .stop = announcement_.stop,
          .save_request = announcement_.save_request,
          .hand_over = announcement_.hand_over,
          .hung = announcement_.is_hung,
          .reason = announcement_.reason};
}

void Door::announce(const api::Announcement& announcement) {
  const bool is_news = announcement.attempt != announcement_.attempt ||
                       announcement.stop != announcement_.stop ||
                       announcement.save_request != announcement_.save_request ||
                       announcement.hand_over != announcement_.hand_over ||
                       announcement.departures != announcement_.departures;
  if (is_news) ++revision_;
  announcement_ = announcement;
  for (const auto& seat : announcement_.world) {
    const auto facts = std::ranges::find(processes_, seat.process, &api::ProcessFacts::identity);
    if (facts != processes_.end()) facts->has_met = true;
  }
  // What superseded processes said counts for nothing any more.
  std::erase_if(processes_, [&](const auto& facts) { return refuse(facts.identity).has_value(); });
}

}  // namespace ratoon::coordinator
