#include "base/process/process_supervisor.h"

#include <algorithm>

namespace ratoon {
namespace {

using std::chrono::seconds;

constexpr Duration kQuickEndTimeMax = seconds(60);
constexpr Duration kRestartPauseMax = seconds(32);
constexpr int kSigtermExitCode = 128 + 15;
constexpr Duration kResourceShortagePause = seconds(1);

// After the first quick end, a process is restarted without a pause, so that the other processes wait only
// for its start. After further quick ends in a row, the pause is 1 s and doubles each time, up to 32 s.
Duration restart_pause(std::uint32_t quick_ends) {
  if (quick_ends <= 1) return Duration(0);
  return std::min<Duration>(seconds(1LL << std::min(quick_ends - 2, 5U)), kRestartPauseMax);
}

bool needs_restart(const ProcessEnd& end) {
  return end.was_killed || end.code == static_cast<int>(ExitCode::kStartAgain);
}

}  // namespace

std::vector<std::uint32_t> ProcessSupervisor::ranks_to_start(Timestamp now) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < slots_.size(); ++rank) {
    const Slot& slot = slots_[rank];
    if (slot.state == State::kToStart && slot.since <= now) ranks.push_back(rank);
  }
  return ranks;
}

std::optional<Timestamp> ProcessSupervisor::next_start_time() const {
  std::optional<Timestamp> next;
  for (const Slot& slot : slots_) {
    if (slot.state == State::kToStart && (!next || slot.since < *next)) next = slot.since;
  }
  return next;
}

void ProcessSupervisor::record_start(std::uint32_t local_rank, Timestamp now) {
  slots_[local_rank].state = State::kRunning;
  slots_[local_rank].since = now;
}

void ProcessSupervisor::record_failed_start(std::uint32_t local_rank, Timestamp now) {
  if (slots_[local_rank].state == State::kToStart) slots_[local_rank].since = now + kResourceShortagePause;
}

bool ProcessSupervisor::record_end(std::uint32_t local_rank, ProcessEnd end, Timestamp now) {
  Slot& slot = slots_[local_rank];
  slot.quick_ends = now - slot.since < kQuickEndTimeMax ? slot.quick_ends + 1 : 1;
  slot.state = State::kEnded;
  if (end.code == static_cast<int>(ExitCode::kDone)) return false;
  if (end.code == static_cast<int>(ExitCode::kPreempted)) {
    was_preempted_ = true;
    record_stop(ExitCode::kPreempted);  // its node ends, so the others leave as well
    return false;
  }
  if (needs_restart(end) && !is_stopping_ && !first_failure_code_ && slot.quick_ends <= restarts_max_) {
    slot.state = State::kToStart;
    slot.since = now + restart_pause(slot.quick_ends);
    return true;
  }
  if (was_preempted_ && end.was_killed && end.code == kSigtermExitCode) return false;
  if (!first_failure_code_) first_failure_code_ = end.code;
  static_cast<void>(cancel_pending_starts());
  return false;
}

void ProcessSupervisor::record_stop(ExitCode code) {
  is_stopping_ = true;
  if (cancel_pending_starts() && !stop_exit_code_) stop_exit_code_ = code;
}

bool ProcessSupervisor::cancel_pending_starts() {
  bool has_any = false;
  for (Slot& slot : slots_) {
    if (slot.state != State::kToStart) continue;
    slot.state = State::kEnded;
    has_any = true;
  }
  return has_any;
}

bool ProcessSupervisor::is_over() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == State::kEnded; });
}

int ProcessSupervisor::exit_code() const {
  if (first_failure_code_) return *first_failure_code_;
  return static_cast<int>(was_preempted_ ? ExitCode::kPreempted : stop_exit_code_.value_or(ExitCode::kDone));
}

}  // namespace ratoon
