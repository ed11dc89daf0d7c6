// GroupLink: forms a group of ranks from processes that torchrun or srun started. The number of processes is
// fixed, and no coordinator manages them. Each rank writes a call file to the run's folder, and rank 0 forms
// the group from these files. During an attempt, rank 0 checks that the other ranks are alive, and the other
// ranks check rank 0. If a rank is lost, the launcher restarts the rank, or all ranks.
//
// If the disk of the folder hangs, the attempt ends with kIo after the timeout of the calls. A check that
// fails because of this machine, for example for lack of descriptors, tells nothing about other ranks. After
// such a failure, the process repeats the check for at most the time `local_check_timeout`.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/src/session/link/link.h"
#include "agent/src/session/locations/folder_lock.h"
#include "agent/src/session/rendezvous/group_rendezvous.h"
#include "agent/src/session/rendezvous/local_check_failures.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::session {

class GroupLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(
      const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
      const GroupTimeouts& patience = {}, const std::function<bool()>& goes_on = [] { return true; });
  ~GroupLink() override;

  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return rendezvous_socket_.fd.get(); }
  [[nodiscard]] std::string own_host() const override { return rendezvous_socket_.at.host; }
  void note_position(const ProcessReport& position) override { static_cast<void>(position); }
  [[nodiscard]] WorldStatus world_status() const override {
    return world_status_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::string reason() const override;
  [[nodiscard]] ChangeSigns change_signs() const override;
  [[nodiscard]] CoordinatorRequests outside_requests() const override { return {}; }
  [[nodiscard]] Result<void> complete(const ProcessReport& position, const std::stop_token& leaves) override;
  void give_up(const std::string& reason) override;
  void publish_final_failure(const std::string& why) override;
  void form_no_new_world(const std::string& why) override { no_world_reason_ = why; }

 private:
  [[nodiscard]] static Result<std::unique_ptr<Link>> try_open(
      const Options& options, const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
      const GroupTimeouts& patience, const LockWaitOptions& waiting);
  GroupLink(const Options& options, GroupRendezvous folder, FolderLocks folder_locks,
            RendezvousSocket meeting, const GroupTimeouts& patience);

  void leave_attempt();
  [[nodiscard]] std::optional<std::string> find_give_up_reason() const;
  [[nodiscard]] Result<Assignment> form_world(const JoinRequest& own);
  void publish_refusal(const std::string& why);
  [[nodiscard]] Result<void> check_none_has_ended(const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<Assignment> wait_for_answer(const std::string& call);
  [[nodiscard]] Result<Assignment> assign(const std::vector<JoinRequest>& calls);
  [[nodiscard]] Result<void> answer(const std::string& call, const GroupRendezvous::Answer& answer);
  void enter_attempt(Attempt attempt, std::vector<std::string> calls);

  void watch_until_stopped(const std::stop_token& stop);
  // Checks once whether the attempt is over, and returns the reason. Returns an empty text if the attempt is
  // not over, or after a temporary error of the check.
  [[nodiscard]] std::string find_end_of_attempt(Attempt attempt, const std::vector<std::string>& calls);

  const GroupOptions group_;
  const std::optional<RollbackRequest> rollback_;
  const GroupRendezvous rendezvous_;
  const FolderLocks folder_locks_;  // held by rank 0 alone
  const RendezvousSocket rendezvous_socket_;
  const GroupTimeouts timeouts_;
  const SystemClock clock_;

  mutable Mutex mutex_;
  StoppableConditionVariable watch_wakeup_;
  Attempt attempt_ RATOON_GUARDED_BY(mutex_){0};  // of this process; 0: none
  // Of its ranks; on ranks above 0 rank 0's alone.
  std::vector<std::string> rank_request_names_ RATOON_GUARDED_BY(mutex_);
  std::string status_reason_ RATOON_GUARDED_BY(mutex_);
  std::string check_error_ RATOON_GUARDED_BY(mutex_);  // why the newest look at the ranks failed
  // Why this process stops waiting for a world.
  std::optional<std::string> give_up_reason_ RATOON_GUARDED_BY(mutex_){};
  std::atomic<WorldStatus> world_status_{WorldStatus::kGoOn};
  Attempt left_attempt_{0};                       // of the training thread
  std::string own_request_name_;                  // of the training thread
  std::optional<std::string> no_world_reason_{};  // why no new world is formed; of the training thread
  LocalCheckFailures local_failures_{timeouts_.local_check_timeout};  // of the watching thread
  std::jthread watch_thread_;
};

}  // namespace ratoon::session
