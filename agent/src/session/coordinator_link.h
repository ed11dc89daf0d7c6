// The link over HTTP: one thread beats, one listens for orders, join is called from the training thread. When
// the coordinator is away, training goes on and all three keep trying.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "agent/src/session/alarm.h"
#include "agent/src/session/folder_lock.h"
#include "agent/src/session/link.h"
#include "agent/src/session/meeting_socket.h"
#include "agent/src/session/seat_wait.h"
#include "agent/src/session/unread_messages.h"
#include "base/core/clock.h"
#include "base/core/token_file.h"
#include "base/http/transport.h"

namespace ratoon::session {

// How long the link puts up with a coordinator; tests are in more of a hurry.
struct LinkPatience {
  // One beat, however rare beats are: while it hangs, nobody looks after the runner's lifeline, and what was
  // committed since is not told.
  Duration beat_max{std::chrono::seconds(5)};
  // A token that is refused may be one that is being replaced, or the operator's own rights may be; so may a
  // certificate that we refuse.
  Duration doubt{std::chrono::minutes(1)};
  // One long poll: longer than the coordinator holds it.
  Duration poll{std::chrono::seconds(30)};
  // A wait for a seat has no limit; after so long, and every minute from then on, the process says for what.
  Duration word{std::chrono::seconds(10)};
};

class CoordinatorLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(
      const Options& options, checkpoint::PatientCalls& calls, const LinkPatience& patience = {},
      const std::function<bool()>& goes_on = [] { return true; });
  ~CoordinatorLink() override;

  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return meeting_.fd.get(); }
  [[nodiscard]] std::string own_host() const override { return meeting_.at.host; }
  void note(const Position& position) override;
  [[nodiscard]] Standing standing() const override { return standing_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string reason() const override;
  [[nodiscard]] bool is_hung() const override { return is_hung_.load(); }
  [[nodiscard]] Wanted wanted() const override;
  [[nodiscard]] Result<void> complete(const Position& position, const std::stop_token& leaves) override;
  void give_up(const std::string& reason) override { set_standing(Standing::kStop, reason); }

 private:
  CoordinatorLink(const Options& options, FolderLocks folder_locks, ProcessIdentity process,
                  std::unique_ptr<TokenFile> token, MeetingSocket meeting, const LinkPatience& patience);

  void beat_until_stopped(const std::stop_token& stop);
  void listen_until_stopped(const std::stop_token& stop);
  // Sends one message; a refusal becomes an error and, where it is final, our standing.
  template <class Reply, class Message>
  Result<Reply> exchange(std::string_view route, const Message& message, Duration patience,
                         const std::stop_token& stop);
  void hear(const Refusal& refusal);
  void hear(const Orders& orders);
  // The error of a call after which one side does not take the other for what it says it is. Once that has
  // lasted for long it is final for this process; people mend it meanwhile, and the next start may be
  // believed.
  [[nodiscard]] Error doubt(const std::string& what, const std::string& why);
  void trust();
  void note_answer();
  // Why whoever answered is not taken for the coordinator.
  [[nodiscard]] std::optional<std::string> find_stranger(const Result<http::Response>& response) const;
  [[nodiscard]] Duration retry_pause() const;
  // Before another try to join, ever longer; but a coordinator that was away and speaks again is asked at
  // once.
  void pause_joining();
  void tell_of_wait(const std::string& what);
  void set_standing(Standing standing, const std::string& reason);
  [[nodiscard]] Beat next_beat();
  void sleep_until_news(Duration at_most);
  // Ends the process, where it is told to leave its world and does not.
  void end_if_stuck() const;

  static constexpr Timestamp kNever{Duration::max()};

  const MemberOptions options_;
  const std::optional<RollbackWish> rollback_;
  const Duration leave_within_;
  const FolderLocks folder_locks_;
  const ProcessIdentity process_;
  std::unique_ptr<TokenFile> token_;
  const MeetingSocket meeting_;
  const LinkPatience patience_;
  const std::unique_ptr<http::HttpTransport> transport_;
  UnreadMessages unread_;

  Alarm news_;                            // something to beat about before the next second
  int lifeline_fd_;                       // of the beating thread
  std::optional<Timestamp> orphaned_at_;  // of the beating thread

  mutable std::mutex mutex_;
  Position position_;                                // guarded by mutex_
  Timestamp phase_since_;                            // the last sign of life; guarded by mutex_
  Timestamp beaten_;                                 // when the last beat was made; guarded by mutex_
  Timestamp told_to_leave_;                          // guarded by mutex_
  std::string reason_;                               // guarded by mutex_
  Attempt left_attempt_{0};                          // guarded by mutex_
  bool has_met_ = false;                             // it was given a seat; guarded by mutex_
  Attempt told_attempt_{0};                          // newest attempt that orders spoke of; guarded by mutex_
  std::uint64_t sequence_ = 0;                       // guarded by mutex_
  std::optional<Timestamp> doubted_since_;           // all calls since ended in doubt; guarded by mutex_
  std::uint64_t answers_ = 0;                        // of the coordinator, to all calls; guarded by mutex_
  std::optional<std::uint64_t> answers_at_failure_;  // when a join failed last; guarded by mutex_
  std::condition_variable_any answered_;
  SeatWait seat_wait_;  // of the training thread
  std::atomic<Duration> beat_pause_{std::chrono::seconds(1)};
  std::stop_source leaving_;  // stopped once we are to leave for good: a parked join is given up
  std::atomic<std::uint64_t> save_request_{0};
  std::atomic<std::uint64_t> hand_over_{0};  // the attempt to be left for a replacement
  std::atomic<Timestamp> drain_deadline_{kNever};
  std::atomic<bool> is_hung_{false};
  std::atomic<Standing> standing_{Standing::kGoOn};
  std::jthread beating_;  // last: they use everything above
  std::jthread listening_;
};

}  // namespace ratoon::session
