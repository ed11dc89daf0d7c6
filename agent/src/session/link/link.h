// session/link/: how a process learns of its world: from a coordinator, from the ranks of a launcher, or
// alone.
//
// Link: how a process learns which world it trains in. A Link uses HTTP with a coordinator, and the run's
// folder without one.
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

// The order of the world to this process, as last received.
enum class WorldStatus {
  kGoOn,
  kWorldChanged,  // leave this attempt and join again
  kStop,          // leave the process, for a while or for good
  kFenced,        // another incarnation has the place of this process
};

// How far an attempt is. The operator measures its recoveries by the phases of processes, so each phase is
// reported at once.
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

// Requests for the end of an agreed step. None of the requests for the end of a step forces a process to
// leave.
struct OutsideRequests {
  std::uint64_t save_request = 0;  // a count: save together once it is greater than the one already served
  Attempt hand_over{0};            // leave this attempt for a replacement that is ready; 0: none
  std::optional<Timestamp> drain_deadline{};  // when the node of this process goes away
};

// Signs of a change of the world that is not ordered yet.
struct ChangeSigns {
  std::string why_near{};  // a change is under way, or a peer does not answer; empty: nothing points to one
  std::optional<Timestamp> coordinator_answered{};  // the last time; nullopt: there is no coordinator
};

class Link {
 public:
  virtual ~Link() = default;

  // Called before the checkpoints are listed that the next join() reports: a commit after this moment may be
  // missing in the list.
  virtual void begin_listing() {}
  // Blocks until there is a world, or an error that says why there will be none. kCancelled: this process was
  // ordered to stop, or was fenced. kUnavailable: there is no answer. After kUnavailable the next coordinator
  // may remember nothing: read the inventory, and call again.
  // The attempt will be newer than `newest_attempt`, which is the newest attempt that left any file in the
  // run's folder.
  [[nodiscard]] virtual Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                                Attempt newest_attempt) = 0;
  // The socket on which this process listens if it is rank 0. The link keeps the descriptor. -1: no other
  // process can connect.
  [[nodiscard]] virtual int listening_fd() const = 0;
  [[nodiscard]] virtual std::string own_host() const = 0;
  // Reports a sign of life with the current position. The call is cheap, and is made with every change of
  // phase.
  virtual void note(const Position& position) = 0;
  [[nodiscard]] virtual WorldStatus world_status() const = 0;
  [[nodiscard]] virtual std::string reason() const = 0;
  // Whether the world changes because one of its ranks hung.
  [[nodiscard]] virtual bool is_hung() const { return false; }
  // Times are those of a SystemClock.
  [[nodiscard]] virtual ChangeSigns change_signs() const { return {}; }
  [[nodiscard]] virtual OutsideRequests wanted() const = 0;
  // Reports that this process reached the end. Returns once the report has arrived, or soon after a stop is
  // requested. In the second case it is unknown whether the report arrived.
  [[nodiscard]] virtual Result<void> complete(const Position& position, const std::stop_token& leaves) = 0;
  // May be called from any thread: join() stops waiting for a world, and returns kCancelled with this reason.
  // Does nothing in a link that never waits.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  // The function is called on rank 0 before the rank joins: no world is formed if it would consist only of
  // processes that are new to the launch, and all of them get the reason. A world is formed if one of its
  // processes was in a world before.
  virtual void form_no_new_world(const std::string& why) { static_cast<void>(why); }

  // Whether the whole job ends, at least for a while, according to the coordinator. A process that leaves for
  // another reason leaves the job to the others.
  [[nodiscard]] virtual bool is_job_over() const { return false; }

  // This process ends, and the same program started again would end in the same way: the processes that wait
  // for it get the reason.
  virtual void end_for_good(const std::string& why) { static_cast<void>(why); }

  // Called before join(): the newest attempt that left a history in the run's folder, and its newest step
  // there. Once all processes of that attempt are gone, nothing else has that step.
  virtual void note_history(Attempt attempt, Step step) {
    static_cast<void>(attempt);
    static_cast<void>(step);
  }

  // Sets, before join(), the number of threads that share one operation in this process, if all ranks are to
  // use the number of rank 0.
  void pin_threads(std::uint32_t count) { threads_ = count; }

  // The function is called within join(), each time that members are known to be missing.
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

// Locks hang with their disks; the result is then kTimeout after the timeout of `calls`. A lock that another
// process holds is waited for while `goes_on` returns true (held_lock.h); kCancelled: `goes_on` returned
// false.
[[nodiscard]] Result<std::unique_ptr<Link>> make_link(
    const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
    const std::function<bool()>& goes_on);

}  // namespace ratoon::session
