// GroupLink: the world of processes that torchrun or srun started. Their number is fixed and nobody stands
// above them: rank 0 forms the world from calls that the ranks leave in the run's folder, looks after the
// others, and they look after rank 0. Who is lost is started again by the launcher, with the others or alone.
//
// A folder that hangs with its disk ends the attempt, and nobody waits for it longer than the patience that
// the calls have: kIo then. A look that fails on this machine (no descriptors are left) says nothing of the
// others: it is made again, for as long as `blind`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/src/session/blind_looks.h"
#include "agent/src/session/folder_lock.h"
#include "agent/src/session/group_meeting.h"
#include "agent/src/session/held_lock.h"
#include "agent/src/session/link.h"
#include "agent/src/session/meeting_socket.h"
#include "base/core/clock.h"

namespace ratoon::session {

struct GroupPatience {
  Duration look{std::chrono::milliseconds(250)};            // from one look into the folder to the next
  Duration meeting{std::chrono::minutes(10)};               // for ranks that do not come
  LockPatience locks{.leaving = std::chrono::seconds(10)};  // of the folder, and of a rank
  Duration blind{std::chrono::minutes(1)};                  // where this machine cannot look after the others
  Duration telling{std::chrono::seconds(10)};  // until others have called, who are told of our end
};

class GroupLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(
      const Options& options, const std::shared_ptr<checkpoint::PatientCalls>& calls,
      const GroupPatience& patience = {}, const std::function<bool()>& goes_on = [] { return true; });
  ~GroupLink() override;

  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return meeting_.fd.get(); }
  [[nodiscard]] std::string own_host() const override { return meeting_.at.host; }
  void note(const Position& position) override { static_cast<void>(position); }
  [[nodiscard]] Standing standing() const override { return standing_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string reason() const override;
  [[nodiscard]] Wanted wanted() const override { return {}; }
  [[nodiscard]] Result<void> complete(const Position& position, const std::stop_token& leaves) override;
  void give_up(const std::string& reason) override;
  void end_for_good(const std::string& why) override;
  void form_no_new_world(const std::string& why) override { refusal_ = why; }

 private:
  [[nodiscard]] static Result<std::unique_ptr<Link>> try_open(
      const Options& options, const std::shared_ptr<checkpoint::PatientCalls>& calls,
      const GroupPatience& patience, const LockWaiting& waiting);
  GroupLink(const Options& options, GroupMeeting folder, FolderLocks folder_locks, MeetingSocket meeting,
            const GroupPatience& patience);

  void leave_attempt();
  [[nodiscard]] std::optional<std::string> find_given_up() const;
  [[nodiscard]] Result<Assignment> form_world(const JoinRequest& own);
  void tell_why_none(const std::string& why);
  [[nodiscard]] Result<void> check_that_none_has_ended(const std::vector<std::uint32_t>& ranks) const;
  [[nodiscard]] Result<Assignment> wait_for_answer(const std::string& call);
  [[nodiscard]] Result<Assignment> assign(const std::vector<JoinRequest>& calls);
  void stand_in(Attempt attempt, std::vector<std::string> calls);

  void watch_until_stopped(const std::stop_token& stop);
  // Why the attempt is over, as far as a look tells: empty where it stands, or where nothing is known for
  // now.
  [[nodiscard]] std::string look_after(Attempt attempt, const std::vector<std::string>& calls);

  const GroupOptions group_;
  const std::optional<RollbackWish> rollback_;
  const GroupMeeting folder_;
  const FolderLocks folder_locks_;  // rank 0's
  const MeetingSocket meeting_;
  const GroupPatience patience_;
  const SystemClock clock_;

  mutable std::mutex mutex_;
  std::condition_variable_any is_ending_;
  Attempt attempt_{0};              // that this process is in; 0: none; guarded by mutex_
  std::vector<std::string> calls_;  // of its ranks; but for rank 0's those of rank 0 alone; guarded by mutex_
  std::string reason_;              // guarded by mutex_
  std::optional<std::string> given_up_{};  // why no world is waited for any more; guarded by mutex_
  std::atomic<Standing> standing_{Standing::kGoOn};
  Attempt left_attempt_{0};               // of the training thread
  std::string own_call_;                  // of the training thread
  std::optional<std::string> refusal_{};  // of worlds that are new; of the training thread
  BlindLooks looks_{patience_.blind};     // of the watching thread
  std::jthread watching_;
};

// Of a rank that ends for good before it has a link: ranks that wait for it are told, for up to
// `patience.telling`. Nothing where other processes of a launch do not meet in a folder.
void tell_group_of_end(const Options& options, const std::shared_ptr<checkpoint::PatientCalls>& calls,
                       const std::string& why, const GroupPatience& patience = {});

}  // namespace ratoon::session
