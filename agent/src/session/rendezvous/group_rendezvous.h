// GroupRendezvous: the calls of a rank of a launch to the folder where ranks meet. Each call has a timeout,
// because the folder may hang with its disk, and its lock with it. A call that hangs returns kIo, and the
// rank ends: it could not save, either.
//
// Thread contract: any thread.
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
  // The calls by rank; nullopt if a rank has made no call, or if its call has an answer.
  using Calls = std::vector<std::optional<JoinRequest>>;
  // `unknown`: why this machine could not check all ranks just now. The reason `unknown` says nothing about
  // the ranks.
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

  // The files that rank 0 removes. Rank 0 removes nothing if it does not hold the run's folder for itself.
  enum class Sweep { kNothing, kFormerLaunches };

  // The run's folder must exist. kAlreadyExists, kConflict: another process has this rank, as described in
  // rendezvous_folder.h.
  [[nodiscard]] static Result<GroupRendezvous> open(const Options& options,
                                                    std::shared_ptr<checkpoint::CallsWithTimeout> calls,
                                                    Sweep sweep = Sweep::kFormerLaunches);

  // For end_before_call() of a rank whose lock another process may hold.
  [[nodiscard]] static GroupRendezvous beside_holder(const Options& options,
                                                     std::shared_ptr<checkpoint::CallsWithTimeout> calls);

  // Whether the process that has this rank belongs to another launch; nullopt: not known yet.
  [[nodiscard]] std::optional<bool> is_rank_of_another_launch() const;

  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  [[nodiscard]] Result<FoundCalls> find_calls() const;  // for rank 0, whose own is not among them
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;
  // Reports that the process that made the call ends for good. find_refusal() of the call returns the reason.
  [[nodiscard]] Result<void> note_end(const std::string& call, const std::string& why) const;
  // Reports that this rank ends for good before it has called. Writes the reason for rank 0; rank 0 writes it
  // for each other rank as soon as that rank has called. Returns true once all ranks that wait have the
  // reason. If another process of the same launch has this rank, there is nothing to report. A rank that is
  // known to have ended itself does not have to receive the reason, either: `own_call` is the call of rank 0,
  // and `former` has the calls of the previous attempt, by rank.
  [[nodiscard]] Result<bool> end_before_call(const std::string& why, const std::string& own_call = {},
                                             const std::vector<std::string>& former = {}) const;
  // For rank 0 and its own call: the ranks that ended in this way, with the reason.
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(
      const std::string& own_call, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<FoundAnswer> find_answer(const std::string& call) const;
  [[nodiscard]] Result<void> forget(const std::vector<std::string>& calls) const;
  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  // The reason why the attempt of the calls is over. Rank 0 passes the calls of all ranks, and reports the
  // reason to them. The other ranks pass only the call of rank 0.
  [[nodiscard]] Result<Fault> find_fault(Attempt attempt, const std::vector<std::string>& calls) const;

 private:
  GroupRendezvous(std::shared_ptr<checkpoint::CallsWithTimeout> calls, std::string doing,
                  const GroupOptions& group)
      : calls_(std::move(calls)), doing_(std::move(doing)), rank_(group.rank), size_(group.size) {}

  // Calls `ask(const RendezvousFolder&)` with a timeout. `ask` may use only objects that it owns.
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
