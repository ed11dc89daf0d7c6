// Link: how a process learns which world it trains in. With a coordinator it is HTTP, alone it is the folder.
//
// Thread contract: used by the training thread; implementations bring their own threads behind it.
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

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "base/contract/messages.h"
#include "base/core/clock.h"

namespace ratoon::session {

// What the outside wants of us, as it stood a moment ago.
enum class Standing {
  kGoOn,
  kWorldChanged,  // leave this attempt and join again
  kStop,          // leave the process, for a while or for good
  kFenced,        // another incarnation has our place
};

// How far an attempt has come. The operator times its recoveries by these, so each is told at once.
enum class Milestone { kNone, kJoined, kLoaded, kStepped };

struct Position {
  Attempt attempt{0};
  Step step{0};
  ProcessPhase phase = ProcessPhase::kJoining;
  std::optional<Duration> allowed{};  // to stand in it; nullopt: as long as it takes
  bool is_winding_up = false;         // no step is under way: whatever is left to do may take its time
  Milestone milestone = Milestone::kNone;
  std::optional<InventoryEntry> committed;  // newest checkpoint known to be complete
  std::vector<InventoryEntry> damaged{};    // of this attempt: told of before, and they did not read back
  std::string weights{};                    // at the end: the file that has them, where there is one
  std::optional<Outlook> outlook{};         // of rank 0
  std::optional<double> save_seconds{};     // the longest of late; absent: nothing was saved yet
  std::optional<Timestamp> saving_since{};  // of the oldest save that is under way

  // With that one, as far as it is. While training waits for a save, no newer position is told.
  [[nodiscard]] std::optional<double> save_seconds_at(Timestamp now) const {
    return saving_since ? std::max(save_seconds.value_or(0), seconds(now - *saving_since)) : save_seconds;
  }
};

// What the outside would like to happen after an agreed step; nobody is made to leave by it.
struct Wanted {
  std::uint64_t save_request = 0;  // a count: save together once it is greater than the one already served
  Attempt hand_over{0};            // leave this attempt for a replacement that is ready; 0: none
  std::optional<Timestamp> drain_deadline{};  // when our node will go
};

class Link {
 public:
  virtual ~Link() = default;

  // Blocks until there is a world, or an error that says why there will be none (kCancelled: told to stop or
  // fenced; kUnavailable: nobody answers. Who asks next may remember nothing: look what there is, and ask
  // again).
  // The attempt will be newer than `newest_attempt`, the newest that left anything in the run's folder.
  [[nodiscard]] virtual Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                                Attempt newest_attempt) = 0;
  // Where this process listens, should it be rank 0; the descriptor stays the link's, -1: no one else can
  // come.
  [[nodiscard]] virtual int listening_fd() const = 0;
  [[nodiscard]] virtual std::string own_host() const = 0;
  // A sign of life, and where we are. Cheap; called with every change of phase.
  virtual void note(const Position& position) = 0;
  [[nodiscard]] virtual Standing standing() const = 0;
  [[nodiscard]] virtual std::string reason() const = 0;
  // Whether the world changes because a rank of it hung.
  [[nodiscard]] virtual bool is_hung() const { return false; }
  [[nodiscard]] virtual Wanted wanted() const = 0;
  // Tells that this process reached the end. Returns once that is known where it counts, or soon after a stop
  // is requested: then it may be known or not.
  [[nodiscard]] virtual Result<void> complete(const Position& position, const std::stop_token& leaves) = 0;
  // From any thread: no world is waited for any more, join() returns with kCancelled and this reason.
  // Nothing, where it never waits.
  virtual void give_up(const std::string& reason) { static_cast<void>(reason); }

  // Of rank 0, before it joins: no world is formed of processes that are all new to it, and all of them are
  // told why. Whoever was in a world before goes on.
  virtual void form_no_new_world(const std::string& why) { static_cast<void>(why); }

  // This process ends, and the same program started again would end the same way: who waits for it is told.
  virtual void end_for_good(const std::string& why) { static_cast<void>(why); }

  // Before join(): how many threads share one operation here, where all ranks are to have those of rank 0.
  void pin_threads(std::uint32_t count) { threads_ = count; }

  // Called within join(), each time that members are known to be missing.
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

// Locks hang with their disks: kTimeout after the patience of `calls`. A lock that another process holds is
// waited for while `goes_on` (held_lock.h); kCancelled: it says no.
[[nodiscard]] Result<std::unique_ptr<Link>> make_link(const Options& options,
                                                      const std::shared_ptr<checkpoint::PatientCalls>& calls,
                                                      const std::function<bool()>& goes_on);

}  // namespace ratoon::session
