// CoordinatorLink: the connection of a process to the coordinator, over HTTP. One thread sends heartbeats,
// one thread polls for orders of the coordinator, and the training thread calls join(). If the coordinator
// does not answer, training continues and the threads retry.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "agent/src/session/link/interruptible_sleep.h"
#include "agent/src/session/link/link.h"
#include "agent/src/session/link/peer_watch.h"
#include "agent/src/session/link/unreadable_messages.h"
#include "agent/src/session/locations/folder_lock.h"
#include "agent/src/session/rendezvous/rendezvous_socket.h"
#include "agent/src/session/rendezvous/world_wait.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"
#include "base/core/token_file.h"
#include "base/http/transport.h"

namespace ratoon::session {

// LinkTimeouts: the timeouts of the connection to a coordinator, which tests can shorten.
struct LinkTimeouts {
  // A heartbeat call is aborted after `beat_max`, even if the pause between heartbeats is longer. During a
  // hanging call, the process would not notice that its runner (`ratoon run`) has ended.
  Duration beat_max{std::chrono::seconds(5)};
  // If one side refuses the other's token or certificate, the process retries for the time `auth_retry_time`.
  // The cause of a refusal may be temporary, such as a token that will be replaced.
  Duration auth_retry_time{std::chrono::minutes(1)};
  // The timeout `poll` of one long poll is longer than the time for which the coordinator keeps a poll open.
  Duration poll{std::chrono::seconds(30)};
  // A process waits without a time limit until it is assigned to an attempt. After the time `log_wait_after`,
  // and then every minute, the process logs why it waits.
  Duration log_wait_after{std::chrono::seconds(10)};
  PeerWatch::ProbeTimes peers{};
};

class CoordinatorLink final : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(
      const Options& options, checkpoint::CallsWithTimeout& calls, const LinkTimeouts& patience = {},
      const std::function<bool()>& goes_on = [] { return true; });
  ~CoordinatorLink() override;

  void begin_listing() override;
  [[nodiscard]] Result<Assignment> join(const std::vector<InventoryEntry>& inventory,
                                        Attempt newest_attempt) override;
  [[nodiscard]] int listening_fd() const override { return rendezvous_socket_.fd.get(); }
  [[nodiscard]] std::string own_host() const override { return rendezvous_socket_.at.host; }
  void note_position(const ProcessReport& position) override;
  [[nodiscard]] WorldStatus world_status() const override {
    return world_status_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::string reason() const override;
  [[nodiscard]] bool is_hung() const override { return has_hung_rank_.load(); }
  [[nodiscard]] bool is_job_over() const override { return is_job_stopped_.load() || is_job_unknown_.load(); }
  [[nodiscard]] ChangeSigns change_signs() const override;
  [[nodiscard]] CoordinatorRequests outside_requests() const override;
  [[nodiscard]] Result<void> complete(const ProcessReport& position, const std::stop_token& leaves) override;
  void note_history(Attempt attempt, Step step) override;
  void give_up(const std::string& reason) override { set_world_status(WorldStatus::kStop, reason); }

 private:
  CoordinatorLink(const Options& options, FolderLocks folder_locks, ProcessIdentity process,
                  std::unique_ptr<TokenFile> token, RendezvousSocket meeting, const LinkTimeouts& patience);

  // Records an attempt that is over, and its known number of steps.
  void note_ended_attempt(Attempt attempt, Step step) RATOON_REQUIRES(mutex_);
  void send_beats_until_stopped(const std::stop_token& stop);
  void poll_orders_until_stopped(const std::stop_token& stop);
  // Sends one message. If the coordinator refuses the message, returns an error. After a final refusal,
  // exchange() also sets world_status(), so that the attempt ends.
  template <class Reply, class Message>
  Result<Reply> exchange(std::string_view route, const Message& message, Duration patience,
                         const std::stop_token& stop);
  void handle_answer(const Refusal& refusal);
  void handle_answer(const Orders& orders);
  void note_job_stopped(const std::string& reason);
  // Returns the error of a call in which the client or the server did not accept the other's identity. If all
  // calls for the time `timeouts_.auth_retry_time` fail in this way, this process ends. A later start may
  // succeed if an administrator corrects the cause of the error.
  [[nodiscard]] Error note_auth_failure(const std::string& what, const std::string& why);
  void clear_auth_failure();
  void note_answer();
  void note_no_answer(const Error& why);
  // Returns why the server that answered is not accepted as the coordinator; nullopt if it is accepted.
  [[nodiscard]] std::optional<std::string> find_identity_error(const Result<http::Response>& response) const;
  [[nodiscard]] Duration retry_pause() const;
  // Pauses before join() sends its request again, each time for longer. The pause ends early when a
  // coordinator that could not be reached answers again.
  void pause_before_rejoin();
  void log_wait_reason(const std::string& what);
  void set_world_status(WorldStatus world_status, const std::string& reason);
  [[nodiscard]] Heartbeat next_beat();
  [[nodiscard]] std::optional<Timestamp> waits_for_ranks_since() const;
  void note_peers(bool is_any_unreachable);
  void sleep_until_beat_needed(Duration at_most);
  // Ends this process if it was ordered to end its attempt but makes no progress.
  void exit_if_stuck() const;

  static constexpr Timestamp kNoDeadline{Duration::max()};

  const MemberOptions options_;
  const std::optional<RollbackRequest> rollback_;
  const std::string save_location_;
  const Duration leave_timeout_;
  const FolderLocks folder_locks_;
  const ProcessIdentity process_;
  std::unique_ptr<TokenFile> token_;
  const RendezvousSocket rendezvous_socket_;
  const LinkTimeouts timeouts_;
  const std::unique_ptr<http::HttpTransport> transport_;
  UnreadableMessages unreadable_messages_;

  InterruptibleSleep beat_wakeup_;        // there is something to report before the next beat
  int lifeline_fd_;                       // of the beating thread
  std::optional<Timestamp> orphaned_at_;  // of the beating thread

  mutable Mutex mutex_;
  ProcessReport position_ RATOON_GUARDED_BY(mutex_);
  Timestamp phase_since_ RATOON_GUARDED_BY(mutex_);   // the last sign of life
  Timestamp last_beat_at_ RATOON_GUARDED_BY(mutex_);  // when the last beat was made
  Timestamp ordered_to_leave_at_ RATOON_GUARDED_BY(mutex_);
  std::string status_reason_ RATOON_GUARDED_BY(mutex_);
  Attempt left_attempt_ RATOON_GUARDED_BY(mutex_){0};
  Step left_step_ RATOON_GUARDED_BY(mutex_){0};                  // of left_attempt_
  bool has_been_in_world_ RATOON_GUARDED_BY(mutex_) = false;     // it was assigned to a world
  Attempt newest_ordered_attempt_ RATOON_GUARDED_BY(mutex_){0};  // the newest attempt that orders named
  std::uint64_t heartbeat_sequence_ RATOON_GUARDED_BY(mutex_) = 0;
  // All calls since then ended in doubt.
  std::optional<Timestamp> auth_failed_since_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t answer_count_ RATOON_GUARDED_BY(mutex_) = 0;  // of the coordinator, to all calls
  Timestamp last_answer_at_ RATOON_GUARDED_BY(mutex_);        // the last one
  std::string no_answer_reason_ RATOON_GUARDED_BY(mutex_);    // why the newest call got no answer
  std::optional<std::uint64_t> answer_count_at_failure_ RATOON_GUARDED_BY(mutex_);  // at the last failed join
  StoppableConditionVariable answer_arrived_;
  WorldWait world_wait_;                    // of the training thread, as is the next
  std::optional<Timestamp> listing_began_;  // when the newest listing began
  std::atomic<Duration> beat_pause_{std::chrono::seconds(1)};
  std::stop_source leave_source_;  // stopped once this process must leave for good: ends a parked join
  std::atomic<std::uint64_t> save_request_{0};
  std::atomic<std::uint64_t> hand_over_attempt_{0};  // the attempt to be left for a replacement
  std::atomic<Timestamp> drain_deadline_{kNoDeadline};
  std::atomic<bool> has_hung_rank_{false};
  std::atomic<WorldStatus> world_status_{WorldStatus::kGoOn};
  std::atomic<bool> is_job_stopped_{false};  // the job, and not only this process
  std::atomic<bool> is_job_unknown_{false};  // to the coordinator, by its last answer: the job is deleted
  // `peer_watch_` is destroyed after the threads below, which use it, and before the members that it uses.
  PeerWatch peer_watch_;
  std::jthread beat_thread_;
  std::jthread orders_thread_;
};

}  // namespace ratoon::session
