// session/rendezvous/: how processes find each other and form the group of ranks of an attempt: folder,
// socket, addresses and waits.
//
// RendezvousFolder: a folder beside the run's checkpoints, through which the processes that a launcher such
// as torchrun started find each other. Each rank holds a lock in the folder until its process ends. A message
// is a file that atomically replaces the rank's previous message, so a reader never sees half a message. Each
// launch has its own folder.
//
//   meeting/r0003.lock             held by the living rank 3
//   meeting/<group>/r0003.json     its call: where it listens, which checkpoints it can read
//   meeting/<group>/a<call>.yes    rank 0's answer to that call: a line with rank 0's own call, and the
//                                  assignment, with the secret of the attempt; only its owner may read it
//   meeting/<group>/a<call>.no     or why rank 0 forms no world with it, or why its rank ended for good
//   meeting/<group>/a<call>.r0003.no   for the rank 0 that made that call: rank 3, which never called,
//                                  ended for good, and why
//   meeting/<group>/over.json      the oldest attempt that may still run, and why the earlier ones are over
//   meeting/<group>/a<call>.done   that rank has completed
//
// If a check fails because of this machine, for example without free descriptors, the result is an error, and
// no rank counts as missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/fd_closed_on_fork.h"

namespace ratoon::session {

class RendezvousFolder {
 public:
  // Takes this rank's lock; `run_folder` must exist. Returns kAlreadyExists if another process of this
  // machine has the lock, and kConflict if a process of another machine, which may have failed, has the lock.
  [[nodiscard]] static Result<RendezvousFolder> open(const std::filesystem::path& run_folder,
                                                     const GroupOptions& group);
  // Opens the folder for a rank that only writes why it ends. open_without_lock() takes no lock, because
  // another process may hold the lock of this rank.
  [[nodiscard]] static RendezvousFolder open_without_lock(const std::filesystem::path& run_folder,
                                                          const GroupOptions& group);

  // Removes the folders of earlier launches. Only a rank 0 with an exclusive lock on the run's folder calls
  // remove_former_launches(). The folder of a launch is kept if one of its ranks may still run.
  void remove_former_launches() const;

  // Writes this rank's call file, a request to join. The name of the call is `request.process.start`.
  [[nodiscard]] Result<void> call(const JoinRequest& request) const;
  // Returns a rank's join request, or nothing if the process that wrote the request no longer runs.
  [[nodiscard]] Result<std::optional<JoinRequest>> find_call(std::uint32_t rank) const;

  // Answer: rank 0's answer to a call file (a request to join), and the name of rank 0's own call file.
  struct Answer {
    Assignment assignment;
    std::string first_call;
  };
  [[nodiscard]] Result<void> answer(const std::string& call, const Answer& answer) const;
  // Returns kInvalid if the answer exists, but this process's user has no permission to read it.
  [[nodiscard]] Result<std::optional<Answer>> find_answer(const std::string& call) const;
  [[nodiscard]] Result<bool> is_answered(const std::string& call) const;

  [[nodiscard]] Result<void> refuse(const std::string& call, const std::string& why) const;
  [[nodiscard]] Result<std::optional<std::string>> find_refusal(const std::string& call) const;

  // Reports that this rank ends before it has written its own call file, and would fail again after a
  // restart. The report is for the rank 0 whose call file is `first_call`.
  [[nodiscard]] Result<void> end_before_call(const std::string& first_call, const std::string& why) const;
  [[nodiscard]] Result<std::optional<std::string>> find_end_before_call(const std::string& first_call,
                                                                        std::uint32_t rank) const;

  [[nodiscard]] Result<void> end_attempt(Attempt attempt, const std::string& why) const;
  // Returns why the attempt has ended; nullopt if the attempt has not ended.
  [[nodiscard]] Result<std::optional<std::string>> find_end(Attempt attempt) const;

  // Removes the answer and other files about the call `call`, because no rank will read them again.
  void forget(const std::string& call) const;

  // Returns whether the running process that holds this rank's lock has a call file in the folder of another
  // launch; nullopt if the process has no call file yet.
  [[nodiscard]] Result<std::optional<bool>> is_rank_of_another_launch() const;

  [[nodiscard]] Result<void> note_done(const std::string& call) const;
  [[nodiscard]] Result<bool> is_done(const std::string& call) const;

 private:
  RendezvousFolder(std::filesystem::path root, std::filesystem::path folder, const GroupOptions& group,
                   FdClosedOnFork lock)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        rank_(group.rank),
        size_(group.size),
        lock_(std::move(lock)) {}

  // Returns whether a running process holds the byte lock `fact` (the lock for one state) of `rank`.
  [[nodiscard]] Result<bool> is_lock_held(std::uint32_t rank, off_t fact) const;
  [[nodiscard]] bool may_have_call_of_running_process(const std::filesystem::path& group) const;

  std::filesystem::path root_;    // of all groups
  std::filesystem::path folder_;  // of this group
  std::uint32_t rank_;
  std::uint32_t size_;
  FdClosedOnFork lock_;
};

}  // namespace ratoon::session
