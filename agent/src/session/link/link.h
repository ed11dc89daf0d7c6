// session/link/: how a process learns its rank and the other ranks of an attempt: from a coordinator, through
// files of the other ranks, or as a single process.
//
// Link: gives a process its rank and the number of ranks of each attempt, and reports the process's position.
// With a coordinator, a Link uses HTTP. Without a coordinator, a Link uses files in the run's folder.
//
// Thread contract: only the training thread uses a Link. Implementations of Link have their own threads.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// WorldStatus: the newest order of the coordinator to this process about its attempt.
enum class WorldStatus {
  kGoOn,
  kWorldChanged,  // leave this attempt and join again
  kStop,          // leave the process, for a while or for good
  kFenced,        // another incarnation has the place of this process
};

// Milestone: the latest stage that this process has reached in an attempt. Each milestone is reported at
// once, because the operator measures the duration of recoveries with them.
enum class Milestone { kNone, kJoined, kLoaded, kStepped };

struct ProcessReport {
  Attempt attempt{0};
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  std::optional<Duration> allowed{};  // the longest stay in `phase`; nullopt: there is no limit
  bool is_doing_final_work = false;   // no step is being made: remaining work may take any time
  Milestone milestone = Milestone::kNone;
  std::optional<InventoryEntry> committed;  // newest checkpoint known to be complete
  std::vector<InventoryEntry> damaged{};    // of this attempt: reported before, and they did not read back
  std::string weights{};                    // at the end: the file with the weights, if there is one
  std::string finish_reason{};  // of finish(), if this process knows it: the program ended the run early
  std::optional<ProgressEstimate> outlook{};  // of rank 0
  std::optional<double> save_seconds{};       // the longest recent one; absent: nothing was saved yet
  std::optional<Timestamp> saving_since{};    // of the oldest save in progress

  // save_seconds_at() also counts the save in progress, because no new position is reported while training
  // waits for a save.
  [[nodiscard]] std::optional<double> save_seconds_at(Timestamp now) const {
    return saving_since ? std::max(save_seconds.value_or(0), seconds(now - *saving_since)) : save_seconds;
  }
};

// CoordinatorRequests: requests of the coordinator. They take effect at the end of a step on which all ranks
// agree. No request of the coordinator ends the process within a step.
struct CoordinatorRequests {
  std::uint64_t save_request = 0;  // a count: save together once it is greater than the one already served
  Attempt hand_over{0};            // leave this attempt for a replacement that is ready; 0: none
  std::optional<Timestamp> drain_deadline{};  // when the node of this process goes away
};

// ChangeSigns: signs that the set of processes will change soon, although no order has arrived yet.
struct ChangeSigns {
  std::string expected_change_reason{};  // a change is under way, or a peer does not answer; empty: nothing
                                         // points to one
  std::optional<Timestamp> coordinator_answered_at{};  // the last time; nullopt: there is no coordinator
};

class Link {
 public:
  virtual ~Link() = default;

  // begin_listing() announces that the caller lists the checkpoints for the next join(). The list may lack
  // checkpoints that are committed after this announcement.
  virtual void begin_listing() {}
  // Blocks until the next attempt has all its ranks. Returns kCancelled if this process was ordered to stop
  // or was replaced by another process, and kUnavailable if the coordinator does not answer. If join()
  // returns kUnavailable, list the checkpoints again before the next call, because a new coordinator may have
  // lost the job's state. The new attempt has a greater number than `newest_attempt`, the newest attempt that
  // has a file in the run's folder.
  [[nodiscard]] virtual Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                                Attempt newest_attempt) = 0;
  // Returns the socket on which rank 0 listens for the other ranks, or -1 if no other process can connect.
  // The Link owns this socket.
  [[nodiscard]] virtual int listening_fd() const = 0;
  [[nodiscard]] virtual std::string own_host() const = 0;
  // Stores the current position for the next report, which also shows that this process is alive.
  // note_position() is cheap, and is called at each change of phase.
  virtual void note_position(const ProcessReport& position) = 0;
  [[nodiscard]] virtual WorldStatus world_status() const = 0;
  [[nodiscard]] virtual std::string reason() const = 0;
  // Returns whether the attempt ends because one of its ranks hung.
  [[nodiscard]] virtual bool is_hung() const { return false; }
  // Returns signs that the set of processes will change. The times in ChangeSigns are times of a SystemClock.
  [[nodiscard]] virtual ChangeSigns change_signs() const { return {}; }
  [[nodiscard]] virtual CoordinatorRequests outside_requests() const = 0;
  // Reports that this process has completed the run. complete() returns when the coordinator has the report.
  // After a stop request, complete() returns soon, and the report may or may not have arrived.
  [[nodiscard]] virtual Result<void> complete(const ProcessReport& position,
                                              const std::stop_token& leaves) = 0;
  // Ends the wait in join(), from any thread: join() returns kCancelled with `reason`. If join() of an
  // implementation never waits, its give_up() does nothing.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  // Rank 0 calls form_no_new_world() before join(). If no process of the launch has trained yet, no attempt
  // begins, and all ranks get the reason `why`. If a process of the launch has trained before, join() begins
  // an attempt as usual.
  virtual void form_no_new_world(const std::string& why) { static_cast<void>(why); }

  // Returns whether the coordinator suspends or ends the whole job. If the job does not end, other processes
  // continue it after this process has ended.
  [[nodiscard]] virtual bool is_job_over() const { return false; }

  // Reports that this process ends and would fail again after a restart. Processes that wait for this process
  // receive the reason `why`.
  virtual void publish_final_failure(const std::string& why) { static_cast<void>(why); }

  // Records, before join(), the newest attempt in the run's history and that attempt's newest step. After all
  // processes of an attempt have ended, its newest step is only in the history.
  virtual void note_history(Attempt attempt, Step step) {
    static_cast<void>(attempt);
    static_cast<void>(step);
  }

  // Sets, before join(), how many threads the computing library uses for one operation in this process. Only
  // runs with --deterministic need set_thread_count(), so that all ranks use rank 0's number of threads.
  void set_thread_count(std::uint32_t count) { thread_count_ = count; }

  // Sets a function that join() calls each time that it learns that other ranks are missing.
  void set_waiting_callback(std::function<void()> told) { waiting_callback_ = std::move(told); }

 protected:
  void call_waiting_callback() const {
    if (waiting_callback_) waiting_callback_();
  }
  [[nodiscard]] std::uint32_t threads() const { return thread_count_; }

 private:
  std::function<void()> waiting_callback_;
  std::uint32_t thread_count_ = 0;
};

// Creates the Link that the options require, and locks the run's folder. If the disk of the run's folder
// hangs, the result is kTimeout after the timeout of `calls`. If another process holds the lock of the
// folder, make_link() waits (held_lock.h). During this wait, make_link() calls `goes_on`, and returns
// kCancelled if `goes_on` returns false.
[[nodiscard]] Result<std::unique_ptr<Link>> make_link(
    const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
    const std::function<bool()>& goes_on);

}  // namespace ratoon::session
