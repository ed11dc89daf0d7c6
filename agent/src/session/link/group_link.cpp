#include "agent/src/session/link/group_link.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "agent/src/session/locations/rollback_plan.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/rendezvous/own_address.h"
#include "agent/src/session/shutdown/group_end.h"
#include "base/contract/resume_point.h"
#include "base/core/lists.h"
#include "base/core/log.h"
#include "base/core/random_name.h"

namespace ratoon::session {
namespace {

constexpr std::uint32_t kWasInAWorld = 1;             // of this launch, and is the same process
constexpr Duration kLine = std::chrono::seconds(10);  // from one log line about missing ranks to the next

bool is_final(const Error& why) {
  return why.kind() == ErrorKind::kInvalid || why.kind() == ErrorKind::kAlreadyExists;
}

std::string list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kListedMax = 8;
  const auto listed = std::span(ranks).first(std::min(ranks.size(), kListedMax));
  const std::string text = join(listed, ", ", [](std::uint32_t rank) { return std::to_string(rank); });
  return ranks.size() > kListedMax ? text + " and " + std::to_string(ranks.size() - kListedMax) + " more"
                                   : text;
}

std::vector<std::uint32_t> missing_in(const GroupRendezvous::Calls& calls) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < calls.size(); ++rank)
    if (!calls[rank]) missing.push_back(rank);
  return missing;
}

}  // namespace

Result<std::unique_ptr<Link>> GroupLink::open(const Options& options,
                                              const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                                              const GroupTimeouts& patience,
                                              const std::function<bool()>& goes_on) {
  auto link = try_open(options, calls, patience, {.patience = patience.locks, .goes_on = goes_on});
  if (!link && is_final(link.error())) tell_group_of_end(options, calls, link.error().message(), patience);
  return link;
}

Result<std::unique_ptr<Link>> GroupLink::try_open(const Options& options,
                                                  const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                                                  const GroupTimeouts& patience, const LockWaiting& waiting) {
  const GroupOptions& group = options.group;
  FolderLocks folder_locks;
  if (group.rank == 0) {
    auto lock = lock_folders(options, FolderUse::kAlone, *calls, waiting);
    if (!lock) return lock.error();
    folder_locks = *std::move(lock);
  }
  const auto no_sign_of_life = [] { return std::string(); };
  auto folder = take_when_free([&] { return GroupRendezvous::open(options, calls); }, no_sign_of_life,
                               waiting, SystemClock());
  if (!folder) return folder.error();
  std::string own_ip = options.member.pod_ip;
  if (own_ip.empty() && !group.is_on_one_machine) own_ip = find_own_address();
  auto meeting = open_meeting_socket(own_ip);
  if (!meeting) return meeting.error();
  return std::unique_ptr<Link>(
      new GroupLink(options, *std::move(folder), std::move(folder_locks), *std::move(meeting), patience));
}

GroupLink::GroupLink(const Options& options, GroupRendezvous folder, FolderLocks folder_locks,
                     RendezvousSocket meeting, const GroupTimeouts& patience)
    : group_(options.group),
      rollback_(rollback_wish(options)),
      folder_(std::move(folder)),
      folder_locks_(std::move(folder_locks)),
      meeting_(std::move(meeting)),
      timeouts_(patience),
      watching_([this](const std::stop_token& stop) { watch_until_stopped(stop); }) {}

GroupLink::~GroupLink() = default;

std::string GroupLink::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

ChangeSigns GroupLink::change_signs() const {
  const std::lock_guard lock(mutex_);
  return {.why_near = failed_look_};
}

void GroupLink::leave_attempt() {
  const std::lock_guard lock(mutex_);
  left_attempt_ = std::max(left_attempt_, std::exchange(attempt_, Attempt(0)));
  world_status_ = WorldStatus::kGoOn;
}

void GroupLink::give_up(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  given_up_ = reason;
}

std::optional<std::string> GroupLink::find_given_up() const {
  const std::lock_guard lock(mutex_);
  return given_up_;
}

Result<Assignment> GroupLink::join(const std::vector<InventoryEntry>& inventory, Attempt newest_attempt) {
  leave_attempt();
  own_call_ = draw_name();
  JoinRequest request;
  request.process = {
      .job = {.name_space = "launch", .name = group_.name}, .role = "rank", .index = group_.rank};
  request.process.member_uid = own_call_;
  request.process.incarnation = left_attempt_ > Attempt(0) ? kWasInAWorld : 0;
  request.process.start = own_call_;
  request.left_attempt = std::max(left_attempt_, newest_attempt);
  request.address = join_address(meeting_.at);
  request.inventory = inventory;
  request.rollback = rollback_;
  request.threads = threads();
  if (auto called = folder_.call(request); !called) return called.error();
  if (group_.rank != 0) return wait_for_answer(own_call_);
  auto formed = form_world(request);
  if (!formed && formed.error().kind() == ErrorKind::kInvalid) publish_refusal(formed.error().message());
  return formed;
}

// If the reason cannot be published, the other ranks wait, as if rank 0 had ended without a reason.
void GroupLink::publish_refusal(const std::string& why) {
  std::vector<std::string> former;
  {
    const std::lock_guard lock(mutex_);
    former = calls_;
  }
  // Write the reason also to rank 0's earlier call file, because ranks of the previous attempt still read
  // that file.
  if (!former.empty()) static_cast<void>(folder_.note_end(former.front(), why));
  const auto tell = [&] { return folder_.end_before_call(why, own_call_, former); };
  call_until_all_informed(tell, clock_.now() + timeouts_.telling, timeouts_.look, clock_);
}

void GroupLink::end_for_good(const std::string& why) {
  if (!own_call_.empty()) return static_cast<void>(folder_.note_end(own_call_, why));
  // Publish the reason in a new file, because the other ranks have not seen a call file of this process.
  const auto tell = [&] { return folder_.end_before_call(why); };
  call_until_all_informed(tell, clock_.now() + timeouts_.telling, timeouts_.look, clock_);
}

// Returns an error if a rank of the last attempt, or a rank that has not called yet, has ended and would fail
// again after a restart.
Result<void> GroupLink::check_none_has_ended(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::string> calls;
  {
    const std::lock_guard lock(mutex_);
    calls = calls_;
  }
  for (const std::uint32_t rank : ranks) {
    if (rank >= calls.size() || calls[rank].empty()) continue;
    const auto why = folder_.find_refusal(calls[rank]);
    if (!why) return why.error();
    if (*why) return Error(ErrorKind::kInvalid, "rank " + std::to_string(rank) + " ended for good: " + **why);
  }
  if (group_.rank != 0) return {};
  // Check the earlier call file too, because ranks that ended during this call may have written their reason
  // to it.
  for (const std::string& own : {own_call_, calls.empty() ? own_call_ : calls.front()}) {
    const auto why = folder_.find_end_before_call(own, ranks);
    if (!why) return why.error();
    if (*why) return Error(ErrorKind::kInvalid, **why);
  }
  return {};
}

Result<Assignment> GroupLink::form_world(const JoinRequest& own) {
  const Logger logger(clock_, {.format = LogFormat::kText});
  const Timestamp began = clock_.now();
  Timestamp next_line = began + kLine;
  LocalCheckFailures looks(timeouts_.local_check);
  for (;;) {
    auto found = folder_.find_calls();
    if (!found) return found.error();
    if (auto why = looks.note(found->unknown, clock_)) return Error(ErrorKind::kIo, *std::move(why));
    found->calls.front() = own;
    const auto missing = missing_in(found->calls);
    if (missing.empty()) {
      std::vector<JoinRequest> all;
      for (auto& call : found->calls) all.push_back(*std::move(call));
      return assign(all);
    }
    if (const auto all_may_come = check_none_has_ended(missing); !all_may_come) return all_may_come.error();
    if (const auto why = find_given_up()) return Error(ErrorKind::kCancelled, *why);
    const Timestamp now = clock_.now();
    if (now - began > timeouts_.meeting) {
      // The kind of the error is kIo, because a restart of this process may help: the launcher may have
      // started the other ranks by then.
      return Error(ErrorKind::kIo,
                   "ranks " + list(missing) + " have not called for " +
                       std::to_string(timeouts_.meeting / std::chrono::seconds(1)) +
                       " s: give all ranks the same --save-folder, on a volume that all of them see");
    }
    if (now >= next_line) {
      logger.info("waiting for other ranks of this launch", {{"missing", list(missing)}});
      note_waiting();
      next_line = now + kLine;
    }
    std::this_thread::sleep_for(timeouts_.look);
  }
}

Result<Assignment> GroupLink::assign(const std::vector<JoinRequest>& calls) {
  if (auto dispute = find_rollback_dispute(calls); !dispute.empty())
    return Error(ErrorKind::kInvalid, std::move(dispute));
  const auto was_in_a_world = [](const JoinRequest& call) {
    return call.process.incarnation == kWasInAWorld;
  };
  if (refusal_ && std::ranges::none_of(calls, was_in_a_world)) return Error(ErrorKind::kInvalid, *refusal_);
  Attempt newest{0};
  bool is_anything_saved = false;
  for (const JoinRequest& call : calls) {
    newest = std::max(newest, call.left_attempt);
    is_anything_saved = is_anything_saved || !call.inventory.empty();
  }
  const auto resume = pick_resume_point(calls, {});
  if (!resume && is_anything_saved) {
    return Error(ErrorKind::kInvalid,
                 "checkpoints exist, but no checkpoint can be read by all ranks: see the output of the "
                 "ranks; Ratoon does not start the run over by itself");
  }
  auto secret = draw_secret(kSecretBytes);
  if (!secret) return secret.error();
  Assignment assignment{.attempt = newest.next(),
                        .rank = Rank(0),
                        .world_size = group_.size,
                        .rendezvous = calls[0].address,
                        .secret = *std::move(secret),
                        .resume = resume,
                        .threads = calls[0].threads};
  const Assignment own = assignment;
  std::vector<std::string> starts;
  for (std::uint32_t rank = 0; rank < group_.size; ++rank) {
    starts.push_back(calls[rank].process.start);
    assignment.rank = Rank(rank);
    if (rank == 0) continue;
    const auto answered = answer(starts.back(), {.assignment = assignment, .first_call = own_call_});
    if (!answered) return answered.error();
  }
  // Remove the older call files, because all ranks have written new call files. Files that cannot be removed
  // are removed by the next launch.
  const auto forgotten = folder_.forget(calls_);
  if (!forgotten && !forgotten.error().is_retryable()) return forgotten.error();
  stand_in(own.attempt, std::move(starts));
  return own;
}

// Writes an answer for a rank, and repeats the write after a temporary error. If rank 0 joined again in place
// of the retry, the attempt would end for ranks that already have their answers.
Result<void> GroupLink::answer(const std::string& call, const GroupRendezvous::Answer& answer) {
  const Timestamp give_up = clock_.now() + timeouts_.local_check;
  for (;;) {
    auto written = folder_.answer(call, answer);
    if (written || !written.error().is_retryable() || clock_.now() >= give_up) return written;
    if (const auto why = find_given_up()) return Error(ErrorKind::kCancelled, *why);
    std::this_thread::sleep_for(timeouts_.look);
  }
}

Result<Assignment> GroupLink::wait_for_answer(const std::string& call) {
  const Logger logger(clock_, {.format = LogFormat::kText});
  const Timestamp began = clock_.now();
  Timestamp next_line = began + kLine;
  LocalCheckFailures looks(timeouts_.local_check);
  for (;;) {
    const auto found = folder_.find_answer(call);
    if (!found) return found.error();
    if (auto why = looks.note(found->unknown, clock_)) return Error(ErrorKind::kIo, *std::move(why));
    if (const auto& answer = found->answer) {
      // If the process that wrote this answer has ended since, the attempt is over. This rank notices an
      // ended rank 0 during the attempt.
      stand_in(answer->assignment.attempt, {answer->first_call});
      return answer->assignment;
    }
    const auto refusal = folder_.find_refusal(call);
    if (!refusal) return refusal.error();
    if (*refusal) return Error(ErrorKind::kInvalid, "rank 0 forms no world: " + **refusal);
    if (const auto may_come = check_none_has_ended({0}); !may_come) return may_come.error();
    if (const auto why = find_given_up()) return Error(ErrorKind::kCancelled, *why);
    if (clock_.now() - began > timeouts_.meeting) {
      return Error(ErrorKind::kIo,
                   "rank 0 formed no world for " +
                       std::to_string(timeouts_.meeting / std::chrono::seconds(1)) +
                       " s: see the output of rank 0, and check whether it has the same --save-folder");
    }
    if (clock_.now() >= next_line) {
      logger.info("waiting for rank 0, which begins the attempt when all ranks have started",
                  {{"rank", std::to_string(group_.rank)}});
      note_waiting();
      next_line = clock_.now() + kLine;
    }
    std::this_thread::sleep_for(timeouts_.look);
  }
}

void GroupLink::stand_in(Attempt attempt, std::vector<std::string> calls) {
  const std::lock_guard lock(mutex_);
  attempt_ = attempt;
  calls_ = std::move(calls);
}

Result<void> GroupLink::complete(const Position&, const std::stop_token&) {
  {
    const std::lock_guard lock(mutex_);
    attempt_ = Attempt(0);  // this process has done its part: losses no longer matter to it
  }
  return folder_.note_done(own_call_);
}

std::string GroupLink::find_end_of_attempt(Attempt attempt, const std::vector<std::string>& calls) {
  const auto looked = folder_.find_fault(attempt, calls);
  if (looked && !looked->why.empty()) return looked->why;
  // A check that hangs ends the attempt, but does not count as an error of this machine.
  if (!looked && !looked.error().is_retryable()) return looked.error().message();
  const std::optional<Error> unknown = looked ? looked->unknown : looked.error();
  {
    const std::lock_guard lock(mutex_);
    failed_look_ =
        unknown ? "this rank cannot check whether the other ranks are alive: " + unknown->message() : "";
  }
  return looks_.note(unknown, clock_).value_or("");
}

void GroupLink::watch_until_stopped(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    is_ending_.wait_for(lock, stop, timeouts_.look, [] { return false; });
    if (stop.stop_requested() || attempt_.value() == 0 || world_status() != WorldStatus::kGoOn) continue;
    const Attempt attempt = attempt_;
    const std::vector<std::string> calls = calls_;
    lock.unlock();
    const std::string fault = find_end_of_attempt(attempt, calls);
    lock.lock();
    if (fault.empty() || attempt_ != attempt) continue;
    reason_ = fault;
    world_status_ = WorldStatus::kWorldChanged;
  }
}

}  // namespace ratoon::session
