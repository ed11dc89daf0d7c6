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

bool are_same_assignments(const std::vector<api::AssignedProcess>& a,
                          const std::vector<api::AssignedProcess>& b) {
  return std::ranges::equal(a, b, [](const api::AssignedProcess& one, const api::AssignedProcess& other) {
    return one.process == other.process && one.assignment == other.assignment;
  });
}

bool names_new_peer(const std::vector<std::string>& peers, const std::vector<std::string>& before) {
  return std::ranges::any_of(
      peers, [&](const std::string& peer) { return std::ranges::find(before, peer) == before.end(); });
}

}  // namespace

std::optional<Refusal> JobSession::find_join_refusal(const ProcessIdentity& process) const {
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
                              " must be below " + std::to_string(processes) +
                              " (processesPerNode), but a process with local rank " +
                              std::to_string(process.local_rank) +
                              " called: start as many processes as the job says, or raise processesPerNode"};
  }
  if (superseded_starts_.is_superseded(process)) {
    return Refusal{.kind = names::refusal::kSuperseded,
                   .message = "process " + std::to_string(process.local_rank) + " of " +
                              member_name(process.job, process.role, process.index, process.incarnation) +
                              " was started again, and this earlier start of it may no longer take part"};
  }
  if (announcement_.current.empty()) return std::nullopt;  // the announcement is not known yet: accept all
  const ProcessIdentity* newest = nullptr;
  static const NeverDestroyed<std::vector<std::size_t>> kNone;
  const auto known = current_indexes_.find(member_of(process));
  for (const std::size_t at : known == current_indexes_.end() ? *kNone : known->second) {
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
  // An incarnation that is newer than all known incarnations may join: its pod exists, but the operator has
  // not announced the new incarnation yet.
  if (process.incarnation > newest->incarnation) return std::nullopt;
  return Refusal{.kind = names::refusal::kSuperseded,
                 .message = member_name(process.job, process.role, process.index, process.incarnation) +
                            " was replaced by incarnation " + std::to_string(newest->incarnation) +
                            " and may no longer take part"};
}

const api::ProcessFacts* JobSession::find_facts(const ProcessIdentity& process) const {
  const auto at = facts_indexes_.find(process_key_of(process));
  return at == facts_indexes_.end() ? nullptr : &processes_[at->second];
}

const api::AssignedProcess* JobSession::find_assigned_process(const ProcessIdentity& process) const {
  const auto at = assigned_indexes_.find(process_key_of(process));
  if (at == assigned_indexes_.end() || announcement_.world[at->second].process != process) return nullptr;
  return &announcement_.world[at->second];
}

api::ProcessFacts& JobSession::facts_of(const ProcessIdentity& process, Timestamp now) {
  const auto [at, is_new] = facts_indexes_.try_emplace(process_key_of(process), processes_.size());
  if (is_new)
    return processes_.emplace_back(
        api::ProcessFacts{.identity = process, .last_heard = now, .last_progress_at = now});
  api::ProcessFacts& facts = processes_[at->second];
  if (facts.identity != process) {
    superseded_starts_.add(facts.identity);
    facts = {.identity = process, .last_heard = now, .last_progress_at = now};
  }
  facts.last_heard = now;
  return facts;
}

bool JobSession::record_join(const JoinRequest& request, Timestamp now) {
  auto& facts = facts_of(request.process, now);
  const auto old = stale_checkpoint_lists_.find(process_key_of(request.process));
  const bool has_looked_again = old != stale_checkpoint_lists_.end() && old->second == StaleList::kReported;
  // A process repeats its list of checkpoints in each call while it waits. When this operator sees a list of
  // checkpoints for the first time, it learns the list's age only from the message.
  if (request.inventory_age_seconds)
    facts.checkpoints_listed_at = now - from_seconds(*request.inventory_age_seconds);
  else if (!facts.join_request || has_looked_again)
    facts.checkpoints_listed_at = now;
  if (!facts.join_request) facts.last_progress_at = now;
  if (has_looked_again) stale_checkpoint_lists_.erase(old);
  facts.join_request = request;
  facts.save_location = request.save_location;
  facts.has_been_in_world = facts.has_been_in_world || request.has_been_in_world;
  return superseded_starts_.supersede_other_starts(request.process);
}

bool JobSession::take_checkpoint_list_request(const ProcessIdentity& process) {
  const auto old = stale_checkpoint_lists_.find(process_key_of(process));
  if (old == stale_checkpoint_lists_.end() || old->second == StaleList::kReported) return false;
  old->second = StaleList::kReported;
  return true;
}

bool JobSession::mark_stale_checkpoint_lists(Timestamp from) {
  bool is_any_new = false;
  for (const auto& facts : processes_) {
    if (!facts.join_request || facts.checkpoints_listed_at >= from) continue;
    is_any_new |=
        stale_checkpoint_lists_.try_emplace(process_key_of(facts.identity), StaleList::kToReport).second;
  }
  return is_any_new;
}

bool JobSession::record_unauthenticated(const ProcessIdentity& process, Timestamp now) {
  const auto at = facts_indexes_.find(process_key_of(process));
  if (at == facts_indexes_.end()) return false;
  api::ProcessFacts& facts = processes_[at->second];
  const bool is_its_pod = facts.identity.member_uid == process.member_uid;
  if (is_its_pod) facts.last_heard = now;
  return is_its_pod;
}

// Returns whether the heartbeat was sent before another message that has already arrived. Such a heartbeat is
// no sign of life, because the network can deliver it long after its sender died. Each start of a process
// joins before it sends heartbeats. So if another start of the process is in the current world, the sender of
// this heartbeat is an earlier start.
bool JobSession::is_overtaken(const Heartbeat& beat) const {
  const api::ProcessFacts* facts = find_facts(beat.process);
  if (facts == nullptr) return false;
  if (facts->identity != beat.process) return find_assigned_process(facts->identity) != nullptr;
  return facts->beat && beat.sequence <= facts->beat->sequence;
}

bool JobSession::record_beat(const Heartbeat& beat, Timestamp now) {
  if (is_overtaken(beat)) return false;
  auto& facts = facts_of(beat.process, now);
  facts.has_been_in_world = facts.has_been_in_world || beat.attempt > Attempt(0);
  // Compare unreachable peers only with those in a heartbeat of the same attempt, because each attempt has
  // other peers.
  const bool is_same_world = facts.beat && facts.beat->attempt == beat.attempt;
  if (!is_same_world || names_new_peer(beat.unreachable_peers, facts.beat->unreachable_peers))
    facts.new_unreachable_peer_at = now;
  if (beat.unreachable_peers.empty())
    facts.peers_unreachable_since.reset();
  else if (!facts.peers_unreachable_since || !is_same_world)
    facts.peers_unreachable_since = now;
  const std::optional<Heartbeat> before = std::exchange(facts.beat, beat);
  const bool has_same_commits = before && before->attempt == beat.attempt &&
                                before->committed == beat.committed && before->damaged == beat.damaged;
  if (!has_same_commits) accepted_end_.reset();
  if (!before || before->attempt != beat.attempt || before->step != beat.step) facts.last_progress_at = now;
  const bool is_news = !before || before->attempt != beat.attempt || before->committed != beat.committed ||
                       before->unreachable_peers != beat.unreachable_peers;
  if (is_news) return true;
  const bool has_loaded = before->phase != beat.phase &&
                          (before->phase == ProcessPhase::kLoad || before->phase == ProcessPhase::kUser);
  const api::AssignedProcess* seat = find_assigned_process(beat.process);
  if (seat == nullptr) return has_loaded;
  const Step resumed = seat->assignment.resume ? seat->assignment.resume->step : Step(0);
  const bool is_first_step = before->step <= resumed && beat.step > resumed;
  return has_loaded || is_first_step;
}

bool JobSession::is_accepted_end(const Completed& completed) const {
  return accepted_end_ && accepted_end_->attempt == completed.attempt &&
         accepted_end_->checkpoint == completed.checkpoint;
}

std::optional<Refusal> JobSession::find_completion_refusal(const Completed& completed) const {
  if (is_accepted_end(completed)) return std::nullopt;
  const ResumePoint& last = completed.checkpoint;
  for (const auto& facts : processes_) {
    if (!facts.beat || facts.beat->attempt != completed.attempt || !facts.beat->committed) continue;
    const InventoryEntry& told = *facts.beat->committed;
    const bool was_damaged = std::ranges::any_of(facts.beat->damaged, [&](const auto& one) {
      return one.attempt == told.attempt && one.step == told.step;
    });
    // If this attempt committed a checkpoint, the run's last checkpoint cannot be from an earlier attempt.
    const bool is_passed = told.attempt == completed.attempt && told.attempt > last.attempt;
    if (was_damaged || (!is_passed && may_be_final_checkpoint(last, told.attempt, told.step, told.digest)))
      continue;
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
  facts.join_request.reset();
  const auto weights = completed.result.find(kWeightsKey);
  if (weights != completed.result.end()) facts.weights = weights->second;
  const auto reason = completed.result.find(kFinishReasonKey);
  if (reason != completed.result.end()) facts.finish_reason = reason->second;
  if (!facts.beat) facts.beat = Heartbeat{.process = completed.process, .attempt = completed.attempt};
  // A heartbeat of another attempt counts as one of this attempt from now on, with the commit in it.
  if (facts.beat->attempt == completed.attempt)
    accepted_end_ = {.attempt = completed.attempt, .checkpoint = completed.checkpoint};
  else
    accepted_end_.reset();
  facts.beat->attempt = completed.attempt;
  facts.beat->step = completed.step;
}

bool JobSession::is_recorded_as_completed(const ProcessIdentity& process) const {
  if (announcement_.processes_per_node <= 1 || announcement_.stop) return true;
  const auto of_member = recorded_local_ranks_.find(process.member_uid);
  return of_member != recorded_local_ranks_.end() && (of_member->second >> process.local_rank & 1U) != 0;
}

std::optional<Assignment> JobSession::take_assignment(const ProcessIdentity& process) {
  const api::AssignedProcess* seat = find_assigned_process(process);
  const api::ProcessFacts* known = find_facts(process);
  if (seat == nullptr || known == nullptr || known->identity != process || !known->join_request)
    return std::nullopt;
  if (known->join_request->left_attempt >= seat->assignment.attempt) return std::nullopt;
  api::ProcessFacts& facts = processes_[facts_indexes_.at(process_key_of(process))];
  facts.join_request.reset();
  facts.last_progress_at =
      facts.last_heard;  // its connection may have been cut for long since it began to wait
  stale_checkpoint_lists_.erase(process_key_of(process));
  Assignment assignment = seat->assignment;
  assignment.peers = peers_of(*seat);
  return assignment;
}

std::vector<PeerAddress> JobSession::peers_of(const api::AssignedProcess& seat) const {
  const auto position = static_cast<std::size_t>(&seat - announcement_.world.data());
  const auto own = std::ranges::lower_bound(first_process_indexes_, position);
  std::vector<PeerAddress> peers;
  if (own == first_process_indexes_.end() || *own != position) return peers;
  const auto add = [&](std::size_t member) {
    const api::AssignedProcess& peer = announcement_.world[first_process_indexes_[member]];
    if (!peer.address.empty())
      peers.push_back({.member_uid = peer.process.member_uid, .address = peer.address});
  };
  const auto here = static_cast<std::size_t>(own - first_process_indexes_.begin());
  const std::size_t members = first_process_indexes_.size();
  if (here != 0) add(0);
  for (std::size_t next = 1; next < members && peers.size() < kPeersMax; ++next)
    if ((here + next) % members != 0) add((here + next) % members);
  return peers;
}

std::optional<double> JobSession::seconds_left(const ProcessIdentity& process, WallTime now) const {
  const auto found = departure_indexes_.find(member_of(process));
  if (found == departure_indexes_.end()) return std::nullopt;
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
                       are_same_assignments(announcement.world, announcement_.world);
  announcement_ = announcement;
  const bool is_any_old = announcement.checkpoint_lists_valid_from &&
                          mark_stale_checkpoint_lists(*announcement.checkpoint_lists_valid_from);
  if (is_same) return is_any_old;
  index_announcement();
  for (const auto& seat : announcement_.world) {
    const auto at = facts_indexes_.find(process_key_of(seat.process));
    if (at == facts_indexes_.end() || processes_[at->second].identity != seat.process) continue;
    processes_[at->second].has_been_in_world = true;
  }
  // Removes the facts about processes that refuse() would refuse now.
  const auto counts_not = [&](const auto& facts) { return refuse(facts.identity).has_value(); };
  if (std::erase_if(processes_, counts_not) > 0) index_processes();
  return true;
}

void JobSession::forget_processes() {
  processes_.clear();
  facts_indexes_.clear();
  stale_checkpoint_lists_.clear();
  superseded_starts_ = {};
}

bool JobSession::is_any_member_unheard() const {
  return std::ranges::any_of(announcement_.current, [this](const ProcessIdentity& current) {
    const api::ProcessFacts* facts = find_facts(current);
    return facts == nullptr || facts->identity.member_uid != current.member_uid;
  });
}

void JobSession::index_announcement() {
  assigned_indexes_.clear();
  first_process_indexes_.clear();
  current_indexes_.clear();
  departure_indexes_.clear();
  recorded_local_ranks_.clear();
  for (const auto& done : announcement_.done) recorded_local_ranks_[done.member_uid] |= done.local_ranks;
  for (std::size_t i = 0; i < announcement_.world.size(); ++i) {
    const ProcessIdentity& process = announcement_.world[i].process;
    assigned_indexes_.emplace(process_key_of(process), i);
    // A member's ranks are consecutive, so the ranks of the next member begin where the member's UID changes.
    const bool is_first = i == 0 || announcement_.world[i - 1].process.member_uid != process.member_uid;
    if (is_first) first_process_indexes_.push_back(i);
  }
  for (std::size_t i = 0; i < announcement_.current.size(); ++i)
    current_indexes_[member_of(announcement_.current[i])].push_back(i);
  for (std::size_t i = 0; i < announcement_.departures.size(); ++i) {
    const api::Departure& leaving = announcement_.departures[i];
    departure_indexes_[{.role = leaving.role, .index = leaving.index}].push_back(i);
  }
}

void JobSession::index_processes() {
  facts_indexes_.clear();
  for (std::size_t i = 0; i < processes_.size(); ++i)
    facts_indexes_.emplace(process_key_of(processes_[i].identity), i);
}

}  // namespace ratoon::coordinator
