// session/link/: how a process learns of its world: from a coordinator, from the ranks of a launcher, or
// alone.
//
// A Link tells a process in which world it trains. A Link uses HTTP with a coordinator, and the run's folder
// without a coordinator.
//
// Thread contract: the training thread uses a Link; implementations have their own threads.
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

// The order that this process received last about its world.
enum class WorldStatus {
  kGoOn,
  kWorldChanged,  // leave this attempt and join again
  kStop,          // leave the process, for a while or for good
  kFenced,        // another incarnation has the place of this process
};

// Milestone: the last stage that this process has reached in an attempt. The operator measures recoveries by
// milestones, so each milestone is reported at once.
enum class Milestone { kNone, kJoined, kLoaded, kStepped };

struct Position {
  Attempt attempt{0};
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  std::optional<Duration> allowed{};  // the longest stay in `phase`; nullopt: there is no limit
  bool is_winding_up = false;         // no step is being made: remaining work may take any time
  Milestone milestone = Milestone::kNone;
  std::optional<InventoryEntry> committed;  // newest checkpoint known to be complete
  std::vector<InventoryEntry> damaged{};    // of this attempt: reported before, and they did not read back
  std::string weights{};                    // at the end: the file with the weights, if there is one
  std::string finish_reason{};       // of finish(), if this process knows it: the program ended the run early
  std::optional<Outlook> outlook{};  // of rank 0
  std::optional<double> save_seconds{};     // the longest recent one; absent: nothing was saved yet
  std::optional<Timestamp> saving_since{};  // of the oldest save in progress

  // The position includes the save in progress. While training waits for a save, no newer position is
  // reported.
  [[nodiscard]] std::optional<double> save_seconds_at(Timestamp now) const {
    return saving_since ? std::max(save_seconds.value_or(0), seconds(now - *saving_since)) : save_seconds;
  }
};

// Requests from outside of the process that take effect at the end of a step on which all ranks agree. No
// request from outside forces a process to leave.
struct OutsideRequests {
  std::uint64_t save_request = 0;  // a count: save together once it is greater than the one already served
  Attempt hand_over{0};            // leave this attempt for a replacement that is ready; 0: none
  std::optional<Timestamp> drain_deadline{};  // when the node of this process goes away
};

// Signs that the world will change, although no order has come yet.
struct ChangeSigns {
  std::string why_near{};  // a change is under way, or a peer does not answer; empty: nothing points to one
  std::optional<Timestamp> coordinator_answered{};  // the last time; nullopt: there is no coordinator
};

class Link {
 public:
  virtual ~Link() = default;

  // Call begin_listing() before listing checkpoints for the next join(): the list may lack later
  // commits.
  virtual void begin_listing() {}
  // Blocks until there is a world, or returns an error that says why there will be no world. kCancelled:
  // this process was ordered to stop, or was fenced. kUnavailable: the coordinator does not answer. After
  // kUnavailable, the next coordinator may know no state of the job: list the checkpoints, and call again.
  // The attempt will be newer than `newest_attempt`, which is the newest attempt that left any file in the
  // run's folder.
  [[nodiscard]] virtual Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                                Attempt newest_attempt) = 0;
  // Returns the socket on which rank 0 listens, which the link owns, or -1 if no other process can
  // connect.
  [[nodiscard]] virtual int listening_fd() const = 0;
  [[nodiscard]] virtual std::string own_host() const = 0;
  // Reports the current position, which is also a sign of life. note() is cheap, and is called at each change
  // of phase.
  virtual void note(const Position& position) = 0;
  [[nodiscard]] virtual WorldStatus world_status() const = 0;
  [[nodiscard]] virtual std::string reason() const = 0;
  // Returns whether the world changes because one of its ranks hung.
  [[nodiscard]] virtual bool is_hung() const { return false; }
  // Returns signs that the world will change. All times in ChangeSigns are those of a SystemClock.
  [[nodiscard]] virtual ChangeSigns change_signs() const { return {}; }
  [[nodiscard]] virtual OutsideRequests wanted() const = 0;
  // Reports that this process reached the run's end. Returns once the report has arrived, or soon after a
  // stop request; after a stop request it is unknown whether the report arrived.
  [[nodiscard]] virtual Result<void> complete(const Position& position, const std::stop_token& leaves) = 0;
  // Ends a wait of join() for a world, from any thread: join() returns kCancelled with `reason`. A link that
  // never waits does nothing.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  // Rank 0 calls this before join(). If no process of the launch was in a world before, no world is
  // formed, and all ranks get the reason. A world is formed if one of its processes was in a world
  // before.
  virtual void form_no_new_world(const std::string& why) { static_cast<void>(why); }

  // Returns whether the coordinator ends the whole job, at least for a while. If the job does not end, other
  // processes go on with it when this process leaves.
  [[nodiscard]] virtual bool is_job_over() const { return false; }

  // Call end_for_good() if this process ends, and would end again after a restart. Processes that wait for
  // this process get the reason `why`.
  virtual void end_for_good(const std::string& why) { static_cast<void>(why); }

  // Call note_history() before join(), with the newest attempt in the run's history and that attempt's newest
  // step. When all processes of an attempt are gone, only the history knows the attempt's newest step.
  virtual void note_history(Attempt attempt, Step step) {
    static_cast<void>(attempt);
    static_cast<void>(step);
  }

  // Sets, before join(), how many threads share one operation in this process. Used only in runs in which all
  // ranks take over the number of rank 0.
  void pin_threads(std::uint32_t count) { threads_ = count; }

  // join() calls `told` each time that it learns that members of the world are missing.
  void tell_of_waiting(std::function<void()> told) { told_of_waiting_ = std::move(told); }

 protected:
  void note_waiting() const {
    if (told_of_waiting_) told_of_waiting_();
  }
  [[nodiscard]] std::uint32_t threads() const { return threads_; }

 private:
  std::function<void()> told_of_waiting_;
  std::uint32_t threads_ = 0;
};

// If the disk of a lock hangs, the result is kTimeout after the timeout of `calls`. If another process holds
// a lock, the function waits while `goes_on` returns true (held_lock.h), and returns kCancelled if it returns
// false.
[[nodiscard]] Result<std::unique_ptr<Link>> make_link(
    const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
    const std::function<bool()>& goes_on);

}  // namespace ratoon::session
