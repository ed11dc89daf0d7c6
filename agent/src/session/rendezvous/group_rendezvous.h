// GroupRendezvous: a rank's access, with timeouts, to the folder through which the ranks of a launch find
// each other (RendezvousFolder). The timeouts are needed because the folder and its locks may hang with the
// disk. If the disk hangs, the function returns kIo, and the rank ends, because it could not save either.
//
// Thread contract: any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/session/locations/held_lock.h"
#include "agent/src/session/rendezvous/rendezvous_folder.h"

namespace ratoon::session {

struct GroupTimeouts {
  Duration look{std::chrono::milliseconds(250)};            // from one look into the folder to the next
  Duration meeting{std::chrono::minutes(10)};               // for ranks that do not call
  LockPatience locks{.leaving = std::chrono::seconds(10)};  // of the folder, and of a rank
  Duration local_check{std::chrono::minutes(1)};            // while this machine cannot check the others
  Duration telling{std::chrono::seconds(10)};  // until the others have called, who get the reason of the end
};

class GroupRendezvous {
 public:
  using Answer = RendezvousFolder::Answer;
  // The calls (requests to join), indexed by rank; nullopt if the rank has made no call, or its call already
  // has an answer.
  using Calls = std::vector<std::optional<JoinRequest>>;
  // `unknown` is the error of this machine because of which not all ranks could be checked. Such an error
  // does not show whether the ranks are alive.
  struct FoundCalls {
    Calls calls;
    std::optional<Error> unknown;
  };
  struct FoundAnswer {
    std::optional<Answer> answer;
    std::optional<Error> unknown;
  };
  struct Fault {
    std::string why;  // empty: none was seen
    std::optional<Error> unknown;
  };

  // Which files rank 0 removes: none, or those of former launches if no other launch uses the run's folder.
  enum class Sweep { kNothing, kFormerLaunches };

  // Opens the folder for rendezvous in the run's folder, which must exist. Returns kAlreadyExists or
  // kConflict if another process already has this rank (rendezvous_folder.h).
  [[nodiscard]] static Result<GroupRendezvous> open(const Options& options,
                                                    std::shared_ptr<checkpoint::CallsWithTimeout> calls,
                                                    Sweep sweep = Sweep::kFormerLaunches);

  // Opens the folder without taking the rank's lock, because another process may hold it. The returned object
  // may be used only for end_before_call().
  [[nodiscard]] static GroupRendezvous beside_holder(const Options& options,
                                                     std::shared_ptr<checkpoint::CallsWithTimeout> calls);

  // Returns whether the process that has the lock of this rank is of another launch; nullopt if this is not
  // known yet.
  [[nodiscard]] std::optional<bool> is_rank_of_another_launch() const;

  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  [[nodiscard]] Result<FoundCalls> find_calls() const;  // for rank 0, whose own is not among them
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;
  // Reports that the process of the call file `call` ends and would fail again after a restart.
  // find_refusal() then returns the reason for this call.
  [[nodiscard]] Result<void> note_end(const std::string& call, const std::string& why) const;
  // Reports that this rank ends before it has called, and would fail again after a restart. Writes the reason
  // for rank 0, which forwards it to each other rank when that rank calls. Returns true when all waiting
  // ranks have received the reason. Reports nothing if another process of the same launch has this rank.
  // Ranks that have ended are not informed. On rank 0, `own_call` is its own call, and `former` has the calls
  // of the previous attempt, indexed by rank.
  [[nodiscard]] Result<bool> end_before_call(const std::string& why, const std::string& own_call = {},
                                             const std::vector<std::string>& former = {}) const;
  // Returns the reason of a rank that has ended before it called, if there is one. Rank 0 passes its own
  // call.
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(
      const std::string& own_call, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<FoundAnswer> find_answer(const std::string& call) const;
  [[nodiscard]] Result<void> forget(const std::vector<std::string>& calls) const;
  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  // Returns why the attempt of the ranks with these call files is over; an empty reason if it continues. Rank
  // 0 passes the calls of all ranks, and writes the reason for all ranks. Any other rank passes only the call
  // of rank 0.
  [[nodiscard]] Result<Fault> find_fault(Attempt attempt, const std::vector<std::string>& calls) const;

 private:
  GroupRendezvous(std::shared_ptr<checkpoint::CallsWithTimeout> calls, std::string doing,
                  const GroupOptions& group)
      : calls_(std::move(calls)), doing_(std::move(doing)), rank_(group.rank), size_(group.size) {}

  // Calls `ask` with the RendezvousFolder and a timeout. `ask` may use only objects that it owns, because it
  // may still run after the timeout.
  template <class Ask>
  auto patiently(Ask ask) const;

  std::shared_ptr<checkpoint::CallsWithTimeout> calls_;
  std::string doing_;
  std::uint32_t rank_;
  std::uint32_t size_;
  bool is_beside_holder_ = false;
  std::shared_ptr<const RendezvousFolder> folder_{};  // shared with calls that hang
};

}  // namespace ratoon::session
