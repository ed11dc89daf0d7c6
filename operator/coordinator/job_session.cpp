#include "operator/coordinator/job_session.h"

#include <algorithm>
#include <utility>

#include "base/contract/names.h"
#include "base/contract/resume_point.h"
#include "base/core/never_destroyed.h"

namespace ratoon::coordinator {
namespace {

MemberKey member_of(const ProcessIdentity& process) {
  return {.role = process.role, .index = process.index};
}

bool are_same_seats(const std::vector<api::Seat>& a, const std::vector<api::Seat>& b) {
  return std::ranges::equal(a, b, [](const api::Seat& one, const api::Seat& other) {
    return one.process == other.process && one.assignment == other.assignment;
  });
}

bool names_another(const std::vector<std::string>& peers, const std::vector<std::string>& before) {
  return std::ranges::any_of(
      peers, [&](const std::string& peer) { return std::ranges::find(before, peer) == before.end(); });
}

}  // namespace

std::optional<Refusal> JobSession::refuse_join(const ProcessIdentity& process) const {
  if (!announcement_.stop) return refuse(process);
  return Refusal{.kind = names::refusal::kFinished, .message = "the job is over: " + announcement_.reason};
}

std::optional<Refusal> JobSession::refuse(const ProcessIdentity& process) const {
  // Refuses local ranks that the job does not have: a token authenticates only the pod, and a pod must not
  // add processes.
  const std::uint32_t processes = announcement_.processes_per_node;
  if (process.local_rank >= processes) {
    return Refusal{.kind = names::refusal::kUnauthorized,
                   .message = "local ranks of " +
                              member_name(process.job, process.role, process.index, process.incarnation) +
                              " are below " + std::to_string(processes) +
                              " (processesPerNode), and a process with local rank " +
                              std::to_string(process.local_rank) +
                              " called: start as many processes as the job says, or raise processesPerNode"};
  }
  if (starts_.is_superseded(process)) {
    return Refusal{.kind = names::refusal::kSuperseded,
                   .message = "process " + std::to_string(process.local_rank) + " of " +
                              member_name(process.job, process.role, process.index, process.incarnation) +
                              " was started again, and this earlier start of it may no longer take part"};
  }
  if (announcement_.current.empty()) return std::nullopt;  // the announcement is not known yet: accept all
  const ProcessIdentity* newest = nullptr;
  static const NeverDestroyed<std::vector<std::size_t>> kNone;
  const auto known = current_at_.find(member_of(process));
  for (const std::size_t at : known == current_at_.end() ? *kNone : known->second) {
    const ProcessIdentity& current = announcement_.current[at];
    const bool is_other_pod = process.incarnation == current.incarnation && !current.member_uid.empty() &&
                              process.member_uid != current.member_uid;
    if (process.incarnation == current.incarnation && !is_other_pod) return std::nullopt;
    newest = &current;
  }
  if (newest == nullptr) {
    return Refusal{.kind = names::refusal::kSuperseded,
                   .message = "the job has no member " + process.role + "-" + std::to_string(process.index)};
  }
  // An incarnation newer than all known ones may join: its pod exists, but the operator has not announced it
  // yet.
  if (process.incarnation > newest->incarnation) return std::nullopt;
  return Refusal{.kind = names::refusal::kSuperseded,
                 .message = member_name(process.job, process.role, process.index, process.incarnation) +
                            " was replaced by incarnation " + std::to_string(newest->incarnation) +
                            " and may no longer take part"};
}

const api::ProcessFacts* JobSession::find_facts(const ProcessIdentity& process) const {
  const auto at = facts_at_.find(process_key_of(process));
  return at == facts_at_.end() ? nullptr : &processes_[at->second];
}

const api::Seat* JobSession::find_seat(const ProcessIdentity& process) const {
  const auto at = seats_at_.find(process_key_of(process));
  if (at == seats_at_.end() || announcement_.world[at->second].process != process) return nullptr;
  return &announcement_.world[at->second];
}

api::ProcessFacts& JobSession::facts_of(const ProcessIdentity& process, Timestamp now) {
  const auto [at, is_new] = facts_at_.try_emplace(process_key_of(process), processes_.size());
  if (is_new)
    return processes_.emplace_back(api::ProcessFacts{.identity = process, .last_heard = now, .moved = now});
  api::ProcessFacts& facts = processes_[at->second];
  if (facts.identity != process) {
    starts_.add(facts.identity);
    facts = {.identity = process, .last_heard = now, .moved = now};
  }
  facts.last_heard = now;
  return facts;
}

bool JobSession::record_join(const JoinRequest& request, Timestamp now) {
  auto& facts = facts_of(request.process, now);
  const auto old = stale_lists_.find(process_key_of(request.process));
  const bool has_looked_again = old != stale_lists_.end() && old->second == StaleList::kReported;
  // A process repeats its list of checkpoints in each call. When this operator sees a list of checkpoints for
  // the first time, only the message can contain the list's age.
  if (request.inventory_age_seconds)
    facts.listed = now - from_seconds(*request.inventory_age_seconds);
  else if (!facts.waiting || has_looked_again)
    facts.listed = now;
  if (!facts.waiting) facts.moved = now;
  if (has_looked_again) stale_lists_.erase(old);
  facts.waiting = request;
  facts.save_location = request.save_location;
  facts.has_met = facts.has_met || request.has_met;
  return starts_.supersede_for(request.process);
}

bool JobSession::take_list_request(const ProcessIdentity& process) {
  const auto old = stale_lists_.find(process_key_of(process));
  if (old == stale_lists_.end() || old->second == StaleList::kReported) return false;
  old->second = StaleList::kReported;
  return true;
}

bool JobSession::note_stale_lists(Timestamp from) {
  bool is_any_new = false;
  for (const auto& facts : processes_) {
    if (!facts.waiting || facts.listed >= from) continue;
    is_any_new |= stale_lists_.try_emplace(process_key_of(facts.identity), StaleList::kToReport).second;
  }
  return is_any_new;
}

bool JobSession::record_unauthenticated(const ProcessIdentity& process, Timestamp now) {
  const auto at = facts_at_.find(process_key_of(process));
  if (at == facts_at_.end()) return false;
  api::ProcessFacts& facts = processes_[at->second];
  const bool is_its_pod = facts.identity.member_uid == process.member_uid;
  if (is_its_pod) facts.last_heard = now;
  return is_its_pod;
}

// If a different start of the same process is in the current world, returns the facts of that start. Only a
// join replaces the start in the world: a heartbeat may be a delayed message of an earlier start.
api::ProcessFacts* JobSession::find_other_seated(const ProcessIdentity& process) {
  const auto at = facts_at_.find(process_key_of(process));
  if (at == facts_at_.end()) return nullptr;
  api::ProcessFacts& facts = processes_[at->second];
  return facts.identity != process && find_seat(facts.identity) != nullptr ? &facts : nullptr;
}

bool JobSession::record_beat(const Beat& beat, Timestamp now) {
  if (api::ProcessFacts* seated = find_other_seated(beat.process)) {
    seated->last_heard = now;  // its pod is alive; a new start joins before it does anything else
    return false;
  }
  auto& facts = facts_of(beat.process, now);
  if (facts.beat && beat.sequence <= facts.beat->sequence) return false;  // arrived out of order
  facts.has_met = facts.has_met || beat.attempt > Attempt(0);
  // Compare peers only with a heartbeat of the same attempt: in a new attempt the process waits for other
  // peers.
  const bool is_same_world = facts.beat && facts.beat->attempt == beat.attempt;
  if (!is_same_world || names_another(beat.unreachable_peers, facts.beat->unreachable_peers))
    facts.peer_added_at = now;
  if (beat.unreachable_peers.empty())
    facts.unreachable_since.reset();
  else if (!facts.unreachable_since || !is_same_world)
    facts.unreachable_since = now;
  const std::optional<Beat> before = std::exchange(facts.beat, beat);
  if (!before || before->attempt != beat.attempt || before->step != beat.step) facts.moved = now;
  const bool is_news = !before || before->attempt != beat.attempt || before->committed != beat.committed ||
                       before->unreachable_peers != beat.unreachable_peers;
  if (is_news) return true;
  const bool has_loaded = before->phase != beat.phase &&
                          (before->phase == ProcessPhase::kLoad || before->phase == ProcessPhase::kUser);
  const api::Seat* seat = find_seat(beat.process);
  if (seat == nullptr) return has_loaded;
  const Step resumed = seat->assignment.resume ? seat->assignment.resume->step : Step(0);
  const bool is_first_step = before->step <= resumed && beat.step > resumed;
  return has_loaded || is_first_step;
}

std::optional<Refusal> JobSession::refuse_completion(const Completed& completed) const {
  const ResumePoint& last = completed.checkpoint;
  for (const auto& facts : processes_) {
    if (!facts.beat || facts.beat->attempt != completed.attempt || !facts.beat->committed) continue;
    const InventoryEntry& told = *facts.beat->committed;
    const bool was_damaged = std::ranges::any_of(facts.beat->damaged, [&](const auto& one) {
      return one.attempt == told.attempt && one.step == told.step;
    });
    // A last checkpoint of an earlier attempt is wrong if this attempt has committed a checkpoint too.
    const bool is_passed = told.attempt == completed.attempt && told.attempt > last.attempt;
    if (was_damaged || (!is_passed && may_be_last(last, told.attempt, told.step, told.digest))) continue;
    return Refusal{.kind = names::refusal::kBadMessage,
                   .message = "the run cannot have ended with the checkpoint of step " +
                              std::to_string(last.step.value()) + " of attempt " +
                              std::to_string(last.attempt.value()) + ", digest " + last.digest +
                              ": a member reported the commit of step " + std::to_string(told.step.value()) +
                              " of attempt " + std::to_string(told.attempt.value()) + ", digest " +
                              told.digest};
  }
  return std::nullopt;
}

void JobSession::record_completed(const Completed& completed, Timestamp now) {
  auto& facts = facts_of(completed.process, now);
  if (!std::exchange(facts.is_completed, true)) facts.completed_at = now;
  facts.waiting.reset();
  const auto weights = completed.result.find(kWeightsResult);
  if (weights != completed.result.end()) facts.weights = weights->second;
  const auto reason = completed.result.find(kFinishReasonResult);
  if (reason != completed.result.end()) facts.finish_reason = reason->second;
  if (!facts.beat) facts.beat = Beat{.process = completed.process};
  facts.beat->attempt = completed.attempt;
  facts.beat->step = completed.step;
}

bool JobSession::is_recorded_as_completed(const ProcessIdentity& process) const {
  if (announcement_.processes_per_node <= 1 || announcement_.stop) return true;
  return std::ranges::any_of(announcement_.done, [&](const api::RecordedCompletion& done) {
    return done.member_uid == process.member_uid && (done.local_ranks >> process.local_rank & 1U) != 0;
  });
}

std::optional<Assignment> JobSession::take_seat(const ProcessIdentity& process) {
  const api::Seat* seat = find_seat(process);
  const api::ProcessFacts* known = find_facts(process);
  if (seat == nullptr || known == nullptr || known->identity != process || !known->waiting)
    return std::nullopt;
  if (known->waiting->left_attempt >= seat->assignment.attempt) return std::nullopt;
  api::ProcessFacts& facts = processes_[facts_at_.at(process_key_of(process))];
  facts.waiting.reset();
  facts.moved = facts.last_heard;  // its connection may have been cut for long since it began to wait
  stale_lists_.erase(process_key_of(process));
  Assignment assignment = seat->assignment;
  assignment.peers = peers_of(*seat);
  return assignment;
}

std::vector<PeerAddress> JobSession::peers_of(const api::Seat& seat) const {
  const auto position = static_cast<std::size_t>(&seat - announcement_.world.data());
  const auto own = std::ranges::lower_bound(first_seats_, position);
  std::vector<PeerAddress> peers;
  if (own == first_seats_.end() || *own != position) return peers;
  const auto add = [&](std::size_t member) {
    const api::Seat& peer = announcement_.world[first_seats_[member]];
    if (!peer.address.empty())
      peers.push_back({.member_uid = peer.process.member_uid, .address = peer.address});
  };
  const auto here = static_cast<std::size_t>(own - first_seats_.begin());
  const std::size_t members = first_seats_.size();
  if (here != 0) add(0);
  for (std::size_t next = 1; next < members && peers.size() < kPeersMax; ++next)
    if ((here + next) % members != 0) add((here + next) % members);
  return peers;
}

std::optional<double> JobSession::seconds_left(const ProcessIdentity& process, WallTime now) const {
  const auto found = departures_at_.find(member_of(process));
  if (found == departures_at_.end()) return std::nullopt;
  for (const std::size_t at : found->second) {
    const api::Departure& leaving = announcement_.departures[at];
    if (leaving.incarnation == process.incarnation)
      return std::max(0.0, seconds(leaving.at.since_epoch - now.since_epoch));
  }
  return std::nullopt;
}

Orders JobSession::orders(const ProcessIdentity& process, WallTime now) const {
  return {.revision = revision_,
          .attempt = announcement_.attempt,
          .drain_deadline_seconds = seconds_left(process, now),
          .stop = announcement_.stop,
          .save_request = announcement_.save_request,
          .hand_over = announcement_.hand_over,
          .hung = announcement_.is_hung,
          .reason = announcement_.reason};
}

bool JobSession::announce(const api::Announcement& announcement) {
  const bool is_news = announcement.attempt != announcement_.attempt ||
                       announcement.stop != announcement_.stop ||
                       announcement.save_request != announcement_.save_request ||
                       announcement.hand_over != announcement_.hand_over ||
                       announcement.departures != announcement_.departures;
  if (is_news) ++revision_;
  const bool is_same = !is_news && announcement.current == announcement_.current &&
                       announcement.done == announcement_.done &&
                       announcement.processes_per_node == announcement_.processes_per_node &&
                       are_same_seats(announcement.world, announcement_.world);
  announcement_ = announcement;
  const bool is_any_old = announcement.lists_from && note_stale_lists(*announcement.lists_from);
  if (is_same) return is_any_old;
  index_announcement();
  for (const auto& seat : announcement_.world) {
    const auto at = facts_at_.find(process_key_of(seat.process));
    if (at == facts_at_.end() || processes_[at->second].identity != seat.process) continue;
    processes_[at->second].has_met = true;
  }
  // Removes the facts about processes that refuse() would refuse now.
  const auto counts_not = [&](const auto& facts) { return refuse(facts.identity).has_value(); };
  if (std::erase_if(processes_, counts_not) > 0) index_processes();
  return true;
}

void JobSession::forget_processes() {
  processes_.clear();
  facts_at_.clear();
  stale_lists_.clear();
  starts_ = {};
}

bool JobSession::is_any_unheard() const {
  return std::ranges::any_of(announcement_.current, [this](const ProcessIdentity& current) {
    const api::ProcessFacts* facts = find_facts(current);
    return facts == nullptr || facts->identity.member_uid != current.member_uid;
  });
}

void JobSession::index_announcement() {
  seats_at_.clear();
  first_seats_.clear();
  current_at_.clear();
  departures_at_.clear();
  for (std::size_t i = 0; i < announcement_.world.size(); ++i) {
    const ProcessIdentity& process = announcement_.world[i].process;
    seats_at_.emplace(process_key_of(process), i);
    // A member's ranks are consecutive, so the ranks of the next member begin where the member's UID changes.
    const bool is_first = i == 0 || announcement_.world[i - 1].process.member_uid != process.member_uid;
    if (is_first) first_seats_.push_back(i);
  }
  for (std::size_t i = 0; i < announcement_.current.size(); ++i)
    current_at_[member_of(announcement_.current[i])].push_back(i);
  for (std::size_t i = 0; i < announcement_.departures.size(); ++i) {
    const api::Departure& leaving = announcement_.departures[i];
    departures_at_[{.role = leaving.role, .index = leaving.index}].push_back(i);
  }
}

void JobSession::index_processes() {
  facts_at_.clear();
  for (std::size_t i = 0; i < processes_.size(); ++i)
    facts_at_.emplace(process_key_of(processes_[i].identity), i);
}

}  // namespace ratoon::coordinator
