// GroupRendezvous makes a rank's calls to the folder where the ranks of a launch meet. Each call has a
// timeout, because the folder and its lock may hang with the disk. If a call hangs, it returns kIo, and the
// rank ends, because it could not save either.
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
  // The calls by rank. nullopt: the rank has made no call, or its call has an answer.
  using Calls = std::vector<std::optional<JoinRequest>>;
  // `unknown` says why this machine could not check all ranks just now. A check that failed on this machine
  // says nothing about the ranks.
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

  // The files that rank 0 removes: none, unless it holds the run's folder for itself alone.
  enum class Sweep { kNothing, kFormerLaunches };

  // The run's folder must exist. Returns kAlreadyExists or kConflict if another process has this rank; see
  // rendezvous_folder.h.
  [[nodiscard]] static Result<GroupRendezvous> open(const Options& options,
                                                    std::shared_ptr<checkpoint::CallsWithTimeout> calls,
                                                    Sweep sweep = Sweep::kFormerLaunches);

  // Opens the folder without the rank's lock, which another process may hold; only for end_before_call().
  [[nodiscard]] static GroupRendezvous beside_holder(const Options& options,
                                                     std::shared_ptr<checkpoint::CallsWithTimeout> calls);

  // Returns whether the holder of this rank's lock is of another launch; nullopt if not known yet.
  [[nodiscard]] std::optional<bool> is_rank_of_another_launch() const;

  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  [[nodiscard]] Result<FoundCalls> find_calls() const;  // for rank 0, whose own is not among them
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;
  // Reports that the process that made `call` ends for good. find_refusal() of that call returns the reason.
  [[nodiscard]] Result<void> note_end(const std::string& call, const std::string& why) const;
  // Reports that this rank ends for good before it has called. end_before_call() writes the reason for rank
  // 0, which writes it for each other rank as soon as that rank has called. Returns true once all waiting
  // ranks have the reason. If another process of the same launch has this rank, end_before_call() reports
  // nothing. A rank that is known to have ended needs no reason. `own_call` is rank 0's call, and `former`
  // has the calls of the previous attempt, by rank.
  [[nodiscard]] Result<bool> end_before_call(const std::string& why, const std::string& own_call = {},
                                             const std::vector<std::string>& former = {}) const;
  // For rank 0 and its own call: if a rank has ended before it called, returns why.
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(
      const std::string& own_call, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<FoundAnswer> find_answer(const std::string& call) const;
  [[nodiscard]] Result<void> forget(const std::vector<std::string>& calls) const;
  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  // Returns why the attempt of `calls` is over. Rank 0 passes the calls of all ranks, and gives the reason to
  // all ranks. Each other rank passes only the call of rank 0.
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
