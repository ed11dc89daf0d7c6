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
#include "base/core/log.h"
#include "base/core/random_name.h"
#include "base/core/split_join.h"

namespace ratoon::session {
namespace {

constexpr std::uint32_t kRejoinIncarnation = 1;  // of this launch, and is the same process
constexpr Duration kMissingRanksLogInterval =
    std::chrono::seconds(10);  // from one log line about missing ranks to the next

bool is_permanent_error(const Error& why) {
  return why.kind() == ErrorKind::kInvalid || why.kind() == ErrorKind::kAlreadyExists;
}

std::string describe_ranks(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kListedMax = 8;
  const auto listed = std::span(ranks).first(std::min(ranks.size(), kListedMax));
  const std::string text = join(listed, ", ", [](std::uint32_t rank) { return std::to_string(rank); });
  return ranks.size() > kListedMax ? text + " and " + std::to_string(ranks.size() - kListedMax) + " more"
                                   : text;
}

std::vector<std::uint32_t> find_missing_ranks(const GroupRendezvous::Calls& calls) {
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
  if (!link && is_permanent_error(link.error()))
    report_end_to_group(options, calls, link.error().message(), patience);
  return link;
}

Result<std::unique_ptr<Link>> GroupLink::try_open(const Options& options,
                                                  const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                                                  const GroupTimeouts& patience,
                                                  const LockWaitOptions& waiting) {
  const GroupOptions& group = options.group;
  FolderLocks folder_locks;
  if (group.rank == 0) {
    auto lock = lock_folders(options, FolderUse::kExclusive, *calls, waiting);
    if (!lock) return lock.error();
    folder_locks = *std::move(lock);
  }
  const auto no_sign_of_life = [] { return std::string(); };
  auto folder = take_when_free([&] { return GroupRendezvous::open(options, calls); }, no_sign_of_life,
                               waiting, SystemClock());
  if (!folder) return folder.error();
  std::string own_ip = options.member.pod_ip;
  if (own_ip.empty() && !group.is_on_one_machine) own_ip = find_own_address();
  auto meeting = open_rendezvous_socket(own_ip);
  if (!meeting) return meeting.error();
  return std::unique_ptr<Link>(
      new GroupLink(options, *std::move(folder), std::move(folder_locks), *std::move(meeting), patience));
}

GroupLink::GroupLink(const Options& options, GroupRendezvous folder, FolderLocks folder_locks,
                     RendezvousSocket meeting, const GroupTimeouts& patience)
    : group_(options.group),
      rollback_(requested_rollback(options)),
      rendezvous_(std::move(folder)),
      folder_locks_(std::move(folder_locks)),
      rendezvous_socket_(std::move(meeting)),
      timeouts_(patience),
      watch_thread_([this](const std::stop_token& stop) { watch_until_stopped(stop); }) {}

GroupLink::~GroupLink() = default;

std::string GroupLink::reason() const {
  const MutexLock lock(mutex_);
  return status_reason_;
}

ChangeSigns GroupLink::change_signs() const {
  const MutexLock lock(mutex_);
  return {.expected_change_reason = check_error_};
}

void GroupLink::leave_attempt() {
  const MutexLock lock(mutex_);
  left_attempt_ = std::max(left_attempt_, std::exchange(attempt_, Attempt(0)));
  world_status_ = WorldStatus::kGoOn;
}

void GroupLink::give_up(const std::string& reason) {
  const MutexLock lock(mutex_);
  give_up_reason_ = reason;
}

std::optional<std::string> GroupLink::find_give_up_reason() const {
  const MutexLock lock(mutex_);
  return give_up_reason_;
}

Result<Assignment> GroupLink::join(const std::vector<InventoryEntry>& inventory, Attempt newest_attempt) {
  leave_attempt();
  own_request_name_ = random_hex_name();
  JoinRequest request;
  request.process = {
      .job = {.name_space = "launch", .name = group_.name}, .role = "rank", .index = group_.rank};
  request.process.member_uid = own_request_name_;
  request.process.incarnation = left_attempt_ > Attempt(0) ? kRejoinIncarnation : 0;
  request.process.start = own_request_name_;
  request.left_attempt = std::max(left_attempt_, newest_attempt);
  request.address = format_address(rendezvous_socket_.at);
  request.inventory = inventory;
  request.rollback = rollback_;
  request.threads = threads();
  if (auto called = rendezvous_.call(request); !called) return called.error();
  if (group_.rank != 0) return wait_for_answer(own_request_name_);
  auto formed = form_world(request);
  if (!formed && formed.error().kind() == ErrorKind::kInvalid) publish_refusal(formed.error().message());
  return formed;
}

// If the reason cannot be published, the other ranks wait, as if rank 0 had ended without a reason.
void GroupLink::publish_refusal(const std::string& why) {
  std::vector<std::string> former;
  {
    const MutexLock lock(mutex_);
    former = rank_request_names_;
  }
  // Write the reason also to rank 0's earlier call file, because ranks of the previous attempt still read
  // that file.
  if (!former.empty()) static_cast<void>(rendezvous_.note_end(former.front(), why));
  const auto tell = [&] { return rendezvous_.end_before_call(why, own_request_name_, former); };
  repeat_until_all_informed(tell, clock_.now() + timeouts_.end_report_timeout, timeouts_.check_interval,
                            clock_);
}

void GroupLink::publish_final_failure(const std::string& why) {
  if (!own_request_name_.empty()) return static_cast<void>(rendezvous_.note_end(own_request_name_, why));
  // Publish the reason in a new file, because the other ranks have not seen a call file of this process.
  const auto tell = [&] { return rendezvous_.end_before_call(why); };
  repeat_until_all_informed(tell, clock_.now() + timeouts_.end_report_timeout, timeouts_.check_interval,
                            clock_);
}

// Returns an error if a rank of the last attempt, or a rank without a call file, has ended and would fail
// again after a restart.
Result<void> GroupLink::check_none_has_ended(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::string> calls;
  {
    const MutexLock lock(mutex_);
    calls = rank_request_names_;
  }
  for (const std::uint32_t rank : ranks) {
    if (rank >= calls.size() || calls[rank].empty()) continue;
    const auto why = rendezvous_.find_refusal(calls[rank]);
    if (!why) return why.error();
    if (*why) return Error(ErrorKind::kInvalid, "rank " + std::to_string(rank) + " ended for good: " + **why);
  }
  if (group_.rank != 0) return {};
  // Also check rank 0's earlier call file, because ranks that have just ended may have written their reason
  // to that file.
  for (const std::string& own : {own_request_name_, calls.empty() ? own_request_name_ : calls.front()}) {
    const auto why = rendezvous_.find_end_before_call(own, ranks);
    if (!why) return why.error();
    if (*why) return Error(ErrorKind::kInvalid, **why);
  }
  return {};
}

Result<Assignment> GroupLink::form_world(const JoinRequest& own) {
  const Logger logger(clock_, {.format = LogFormat::kText});
  const Timestamp began = clock_.now();
  Timestamp next_line = began + kMissingRanksLogInterval;
  LocalCheckFailures looks(timeouts_.local_check_timeout);
  for (;;) {
    auto found = rendezvous_.find_calls();
    if (!found) return found.error();
    if (auto why = looks.note_check_result(found->check_error, clock_))
      return Error(ErrorKind::kIo, *std::move(why));
    found->calls.front() = own;
    const auto missing = find_missing_ranks(found->calls);
    if (missing.empty()) {
      std::vector<JoinRequest> all;
      for (auto& call : found->calls) all.push_back(*std::move(call));
      return assign(all);
    }
    if (const auto all_may_come = check_none_has_ended(missing); !all_may_come) return all_may_come.error();
    if (const auto why = find_give_up_reason()) return Error(ErrorKind::kCancelled, *why);
    const Timestamp now = clock_.now();
    if (now - began > timeouts_.join_timeout) {
      // The kind kIo causes a restart of this process. By the time of the restart, the launcher may have
      // started the other ranks.
      return Error(ErrorKind::kIo,
                   "ranks " + describe_ranks(missing) + " have not joined for " +
                       std::to_string(timeouts_.join_timeout / std::chrono::seconds(1)) +
                       " s: give all ranks the same --save-folder, on a volume that all of them see");
    }
    if (now >= next_line) {
      logger.info("waiting for other ranks of this launch", {{"missing", describe_ranks(missing)}});
      call_waiting_callback();
      next_line = now + kMissingRanksLogInterval;
    }
    std::this_thread::sleep_for(timeouts_.check_interval);
  }
}

Result<Assignment> GroupLink::assign(const std::vector<JoinRequest>& calls) {
  if (auto dispute = find_rollback_dispute(calls); !dispute.empty())
    return Error(ErrorKind::kInvalid, std::move(dispute));
  const auto was_in_a_world = [](const JoinRequest& call) {
    return call.process.incarnation == kRejoinIncarnation;
  };
  if (no_world_reason_ && std::ranges::none_of(calls, was_in_a_world))
    return Error(ErrorKind::kInvalid, *no_world_reason_);
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
  auto secret = random_hex_secret(kSecretBytes);
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
    const auto answered = answer(starts.back(), {.assignment = assignment, .first_call = own_request_name_});
    if (!answered) return answered.error();
  }
  // Remove the older call files, because all ranks have written new call files. If a file cannot be removed,
  // the next launch removes it.
  std::vector<std::string> former;
  {
    const MutexLock lock(mutex_);
    former = rank_request_names_;
  }
  const auto forgotten = rendezvous_.forget(former);
  if (!forgotten && !forgotten.error().is_retryable()) return forgotten.error();
  enter_attempt(own.attempt, std::move(starts));
  return own;
}

// Writes rank 0's answer to a join request, and repeats the write after a temporary error. If rank 0 joined
// again instead of repeating the write, it would end the attempt of ranks that already have answers.
Result<void> GroupLink::answer(const std::string& call, const GroupRendezvous::Answer& answer) {
  const Timestamp give_up = clock_.now() + timeouts_.local_check_timeout;
  for (;;) {
    auto written = rendezvous_.answer(call, answer);
    if (written || !written.error().is_retryable() || clock_.now() >= give_up) return written;
    if (const auto why = find_give_up_reason()) return Error(ErrorKind::kCancelled, *why);
    std::this_thread::sleep_for(timeouts_.check_interval);
  }
}

Result<Assignment> GroupLink::wait_for_answer(const std::string& call) {
  const Logger logger(clock_, {.format = LogFormat::kText});
  const Timestamp began = clock_.now();
  Timestamp next_line = began + kMissingRanksLogInterval;
  LocalCheckFailures looks(timeouts_.local_check_timeout);
  for (;;) {
    const auto found = rendezvous_.find_answer(call);
    if (!found) return found.error();
    if (auto why = looks.note_check_result(found->check_error, clock_))
      return Error(ErrorKind::kIo, *std::move(why));
    if (const auto& answer = found->answer) {
      // Begin the attempt even if rank 0 has ended since it wrote this answer. During the attempt, this rank
      // notices that rank 0 has ended.
      enter_attempt(answer->assignment.attempt, {answer->first_call});
      return answer->assignment;
    }
    const auto refusal = rendezvous_.find_refusal(call);
    if (!refusal) return refusal.error();
    if (*refusal) return Error(ErrorKind::kInvalid, "rank 0 forms no world: " + **refusal);
    if (const auto may_come = check_none_has_ended({0}); !may_come) return may_come.error();
    if (const auto why = find_give_up_reason()) return Error(ErrorKind::kCancelled, *why);
    if (clock_.now() - began > timeouts_.join_timeout) {
      return Error(ErrorKind::kIo,
                   "rank 0 formed no world for " +
                       std::to_string(timeouts_.join_timeout / std::chrono::seconds(1)) +
                       " s: see the output of rank 0, and check whether it has the same --save-folder");
    }
    if (clock_.now() >= next_line) {
      logger.info("waiting for rank 0, which begins the attempt when all ranks have started",
                  {{"rank", std::to_string(group_.rank)}});
      call_waiting_callback();
      next_line = clock_.now() + kMissingRanksLogInterval;
    }
    std::this_thread::sleep_for(timeouts_.check_interval);
  }
}

void GroupLink::enter_attempt(Attempt attempt, std::vector<std::string> calls) {
  const MutexLock lock(mutex_);
  attempt_ = attempt;
  rank_request_names_ = std::move(calls);
}

Result<void> GroupLink::complete(const ProcessReport&, const std::stop_token&) {
  {
    const MutexLock lock(mutex_);
    attempt_ = Attempt(0);  // this process has done its part: losses no longer matter to it
  }
  return rendezvous_.note_done(own_request_name_);
}

std::string GroupLink::find_end_of_attempt(Attempt attempt, const std::vector<std::string>& calls) {
  const auto looked = rendezvous_.find_fault(attempt, calls);
  if (looked && !looked->why.empty()) return looked->why;
  // If the check hangs, end the attempt. After an error of this machine, repeat the check (below).
  if (!looked && !looked.error().is_retryable()) return looked.error().message();
  const std::optional<Error> unknown = looked ? looked->check_error : looked.error();
  {
    const MutexLock lock(mutex_);
    check_error_ =
        unknown ? "this rank cannot check whether the other ranks are alive: " + unknown->message() : "";
  }
  return local_failures_.note_check_result(unknown, clock_).value_or("");
}

void GroupLink::watch_until_stopped(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    watch_wakeup_.wait_for(lock, stop, timeouts_.check_interval, [] { return false; });
    if (stop.stop_requested() || attempt_.value() == 0 || world_status() != WorldStatus::kGoOn) continue;
    const Attempt attempt = attempt_;
    const std::vector<std::string> calls = rank_request_names_;
    lock.unlock();
    const std::string fault = find_end_of_attempt(attempt, calls);
    lock.lock();
    if (fault.empty() || attempt_ != attempt) continue;
    status_reason_ = fault;
    world_status_ = WorldStatus::kWorldChanged;
  }
}

}  // namespace ratoon::session
