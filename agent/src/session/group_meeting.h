// GroupMeeting: what a rank of a launch asks of the folder where ranks meet, with a deadline for each look:
// the folder may hang with its disk, and its lock with it. What hangs is an error, kIo, and the rank ends: it
// could not save, either.
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

#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/session/meeting_folder.h"

namespace ratoon::session {

class GroupMeeting {
 public:
  using Answer = MeetingFolder::Answer;
  // By rank; nothing where there is no call, or one that has an answer.
  using Calls = std::vector<std::optional<JoinRequest>>;
  // `unknown`: why this machine could not look after all ranks just now. It says nothing of those.
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

  // What rank 0 removes. Nothing, where it does not hold the run's folder for itself.
  enum class Sweep { kNothing, kFormerLaunches };

  // The run's folder exists. kAlreadyExists, kConflict: another process has this rank, as meeting_folder.h
  // says.
  [[nodiscard]] static Result<GroupMeeting> open(const Options& options,
                                                 std::shared_ptr<checkpoint::PatientCalls> calls,
                                                 Sweep sweep = Sweep::kFormerLaunches);

  // For end_before_call() of a rank that may not have its lock.
  [[nodiscard]] static GroupMeeting beside_holder(const Options& options,
                                                  std::shared_ptr<checkpoint::PatientCalls> calls);

  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  [[nodiscard]] Result<FoundCalls> find_calls() const;  // for rank 0, whose own is not among them
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;
  // Who made the call ends for good; find_refusal() of it says why.
  [[nodiscard]] Result<void> note_end(const std::string& call, const std::string& why) const;
  // This rank, which has not called, ends for good. Told to rank 0, or by rank 0 to all others, as soon as
  // they have called; true once all of them are told. Where another process of the same launch has this rank,
  // there is nothing to tell.
  // Nor is a rank waited for that is known to have ended itself: `own_call` is rank 0's, `former` has the
  // calls of the attempt before, by rank.
  [[nodiscard]] Result<bool> end_before_call(const std::string& why, const std::string& own_call = {},
                                             const std::vector<std::string>& former = {}) const;
  // Of rank 0 and its own call: ranks that ended so, with the reason.
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(
      const std::string& own_call, const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<FoundAnswer> find_answer(const std::string& call) const;
  [[nodiscard]] Result<void> forget(const std::vector<std::string>& calls) const;
  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  // Why the attempt of these calls is over. Rank 0 has those of all, and tells the others; they have that of
  // rank 0 alone.
  [[nodiscard]] Result<Fault> find_fault(Attempt attempt, const std::vector<std::string>& calls) const;

 private:
  GroupMeeting(std::shared_ptr<checkpoint::PatientCalls> calls, std::string doing, const GroupOptions& group)
      : calls_(std::move(calls)), doing_(std::move(doing)), rank_(group.rank), size_(group.size) {}

  // `ask(const MeetingFolder&)`, which uses nothing but what it holds.
  template <class Ask>
  auto patiently(Ask ask) const;

  std::shared_ptr<checkpoint::PatientCalls> calls_;
  std::string doing_;
  std::uint32_t rank_;
  std::uint32_t size_;
  bool is_beside_holder_ = false;
  std::shared_ptr<const MeetingFolder> folder_{};  // shared with calls that hang
};

}  // namespace ratoon::session
