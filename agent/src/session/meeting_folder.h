// MeetingFolder: where processes that a launcher numbered find each other, beside the checkpoints that they
// share. Each rank holds a lock for as long as it lives; what a rank says stands in a file that replaces its
// last one, so that nobody reads half of it or what an earlier launch said.
//
//   meeting/r0003.lock             held by the living rank 3
//   meeting/<group>/r0003.json     its call: where it listens, which checkpoints it can read
//   meeting/<group>/a<call>.yes    rank 0's answer to that call: a line with the call of rank 0 that gives
//   it,
//                                  and the assignment, with the secret of the attempt; its owner alone may
//                                  read it
//   meeting/<group>/a<call>.no     or why rank 0 forms no world with it, or why its rank ended for good
//   meeting/<group>/a<call>.r0003.no   told to the rank 0 that made that call: rank 3, which never called,
//                                  ended for good, and why
//   meeting/<group>/over.json      the oldest attempt that may still stand, and why those before it do not
//   meeting/<group>/a<call>.done   that rank has completed
//
// An error of a look (no descriptors are left, the server does not know the file any more) says something of
// this machine and nothing of another rank: it is never taken for "not there".
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/unforked_fd.h"

namespace ratoon::session {

class MeetingFolder {
 public:
  // `run_folder` exists. kAlreadyExists: another process of this machine has this rank here. kConflict: one
  // of another machine, which may be gone.
  [[nodiscard]] static Result<MeetingFolder> open(const std::filesystem::path& run_folder,
                                                  const GroupOptions& group);
  // For a rank that may not have its lock, and ends: it makes nothing but its last word.
  [[nodiscard]] static MeetingFolder beside_holder(const std::filesystem::path& run_folder,
                                                   const GroupOptions& group);

  // Of rank 0, which holds the run's folder for itself: what earlier launches left is removed.
  void sweep() const;

  // `request.process.start` names the call.
  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  // Of a rank that lives; not the one of a process that had its rank before.
  [[nodiscard]] Result<std::optional<JoinRequest>> find_call(std::uint32_t rank) const;

  // An answer, and the call of the rank 0 that gave it.
  struct Answer {
    Assignment assignment;
    std::string first_call;
  };
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  // kPermissionDenied: it is there, for another user.
  [[nodiscard]] Result<std::optional<Answer>> find_answer(const std::string& call) const;
  [[nodiscard]] Result<bool> is_answered(const std::string& call) const;

  [[nodiscard]] Result<void> refuse(const std::string& call, const std::string& why) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;

  // This rank, which has not called, ends for good: told to the rank 0 that made `first_call`.
  [[nodiscard]] Result<void> end_before_call(const std::string& first_call, const std::string& why) const;
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(const std::string& first_call,
                                                                        std::uint32_t rank) const;

  [[nodiscard]] Result<void> end_attempt(Attempt attempt, const std::string& why) const;
  // Why it has ended.
  [[nodiscard]] Result<std::optional<std::string>> find_end(Attempt attempt) const;

  // Of a call that nobody will ask about again.
  void forget(const std::string& call) const;

  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  [[nodiscard]] Result<bool> is_done(const std::string& call) const;

 private:
  MeetingFolder(std::filesystem::path root, std::filesystem::path folder, const GroupOptions& group,
                UnforkedFd lock)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        rank_(group.rank),
        size_(group.size),
        lock_(std::move(lock)) {}

  [[nodiscard]] Result<bool> holds_call(std::uint32_t rank) const;

  std::filesystem::path root_;    // of all groups
  std::filesystem::path folder_;  // of ours
  std::uint32_t rank_;
  std::uint32_t size_;
  UnforkedFd lock_;
};

}  // namespace ratoon::session
