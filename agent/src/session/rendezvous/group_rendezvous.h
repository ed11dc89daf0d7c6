// GroupRendezvous: a rank's access, with timeouts, to the folder through which the ranks of a launch find
// each other (RendezvousFolder). The timeouts are needed because the folder and its locks may hang with the
// disk. If the disk hangs, each function returns kIo, and the rank ends, because it could not save.
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
  Duration check_interval{std::chrono::milliseconds(250)};  // from one look into the folder to the next
  Duration join_timeout{std::chrono::minutes(10)};          // for ranks that do not call
  LockTimeouts locks{.leaving = std::chrono::seconds(10)};  // of the folder, and of a rank
  Duration local_check_timeout{std::chrono::minutes(1)};    // while this machine cannot check the others
  Duration end_report_timeout{
      std::chrono::seconds(10)};  // until the others have called, who get the reason of the end
};

class GroupRendezvous {
 public:
  using Answer = RendezvousFolder::Answer;
  // Calls has each rank's request to join, indexed by rank; nullopt if the rank has made no request, or its
  // request already has an answer.
  using Calls = std::vector<std::optional<JoinRequest>>;
  // `check_error` is an error of this machine, because of which some ranks could not be checked. Unchecked
  // ranks may be alive or lost.
  struct FoundCalls {
    Calls calls;
    std::optional<Error> check_error;
  };
  struct FoundAnswer {
    std::optional<Answer> answer;
    std::optional<Error> check_error;
  };
  struct Fault {
    std::string why;  // empty: none was seen
    std::optional<Error> check_error;
  };

  // Sweep says which files open() removes on rank 0: the files of former launches, or no files. Use kNothing
  // if another launch may use the run's folder.
  enum class Sweep { kNothing, kFormerLaunches };

  // Opens the rendezvous folder in the run's folder. The run's folder must exist. Returns kAlreadyExists or
  // kConflict if another process already has this rank (rendezvous_folder.h).
  [[nodiscard]] static Result<GroupRendezvous> open(const Options& options,
                                                    std::shared_ptr<checkpoint::CallsWithTimeout> calls,
                                                    Sweep sweep = Sweep::kFormerLaunches);

  // Opens the folder without taking the rank's lock, because another process may hold that lock. The returned
  // GroupRendezvous may be used only for end_before_call().
  [[nodiscard]] static GroupRendezvous open_without_lock(const Options& options,
                                                         std::shared_ptr<checkpoint::CallsWithTimeout> calls);

  // Returns whether the process that has the lock of this rank is of another launch; nullopt if this is not
  // known yet.
  [[nodiscard]] std::optional<bool> is_rank_of_another_launch() const;

  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  [[nodiscard]] Result<FoundCalls> find_calls() const;  // for rank 0, whose own is not among them
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;
  // Reports that the process that wrote the call file `call` ends, and would fail again after a restart.
  // find_refusal(call) then returns the reason.
  [[nodiscard]] Result<void> note_end(const std::string& call, const std::string& why) const;
  // Reports that this rank ends before it has written its call file, and would fail again after a restart.
  // Writes the reason of this end for rank 0, which forwards the reason to each other rank when that rank
  // requests to join. Returns true when all waiting ranks know why this rank ended. Reports nothing if
  // another process of the same launch has this rank. end_before_call() does not inform ranks that have
  // ended. On rank 0, `own_call` names rank 0's call file, and `former` names the call files of the previous
  // attempt, by rank.
  [[nodiscard]] Result<bool> end_before_call(const std::string& why, const std::string& own_call = {},
                                             const std::vector<std::string>& former = {}) const;
  // Returns why a rank ended before it wrote its call file; nullopt if no rank did. Rank 0 passes the name of
  // its own call file.
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(
      const std::string& own_call, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<FoundAnswer> find_answer(const std::string& call) const;
  [[nodiscard]] Result<void> forget(const std::vector<std::string>& calls) const;
  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  // `calls` has the names of the ranks' call files. Returns why their attempt is over, or an empty reason if
  // it continues. Rank 0 passes the call files of all ranks, and writes the reason for all ranks. Each other
  // rank passes only rank 0's call file.
  [[nodiscard]] Result<Fault> find_fault(Attempt attempt, const std::vector<std::string>& calls) const;

 private:
  GroupRendezvous(std::shared_ptr<checkpoint::CallsWithTimeout> calls, std::string doing,
                  const GroupOptions& group)
      : calls_with_timeout_(std::move(calls)),
        action_text_(std::move(doing)),
        rank_(group.rank),
        size_(group.size) {}

  // Calls the function `ask` with the RendezvousFolder and a timeout. `ask` may use only objects that it
  // owns, because `ask` may still run after the timeout.
  template <class Ask>
  auto call_with_timeout(Ask ask) const;

  std::shared_ptr<checkpoint::CallsWithTimeout> calls_with_timeout_;
  std::string action_text_;
  std::uint32_t rank_;
  std::uint32_t size_;
  bool is_opened_without_lock_ = false;
  std::shared_ptr<const RendezvousFolder> folder_{};  // shared with calls that hang
};

}  // namespace ratoon::session
