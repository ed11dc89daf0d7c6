// Coordinator: the agents' endpoint over HTTP. The calls "join" and "orders" are long polls; a waiting poll
// holds a connection but no thread. The coordinator is only a cache: durable state is in the TrainingJob's
// status and in checkpoint manifests.
//
// Each job has its own lock, so that work for one job delays no other job.
//
// Thread contract: every method may be called from any thread. `on_change` is called without a lock held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/random_name.h"
#include "base/core/threads/condition_variable.h"
#include "base/http/server.h"
#include "operator/coordinator/job_registry.h"
#include "operator/coordinator/job_session.h"
#include "operator/coordinator/message_rate_limiter.h"
#include "operator/coordinator/parked_polls.h"

namespace ratoon::coordinator {

// Checks that the bearer token belongs to the process. Returns kPermissionDenied if the token belongs to
// another process. Any error except kPermissionDenied means that the operator cannot check the token now.
using Authenticate = std::function<Result<void>(std::string_view token, const ProcessIdentity& process)>;

struct CoordinatorOptions {
  Authenticate authenticate;
  std::function<void(const JobKey&)> on_change;          // called after a message that may change a decision
  Duration long_poll_timeout{std::chrono::seconds(20)};  // a long poll is answered by then at the latest
  MessageRateLimits limits{};
  std::function<Result<std::string>()> draw = [] { return random_hex_secret(kSecretBytes); };
};

// Returns the bearer token of the HTTP request, or an empty text if it has none.
[[nodiscard]] std::string_view bearer_token(const http::ServerRequest& request);

class Coordinator final : public JobRegistry {
 public:
  Coordinator(const Clock& clock, CoordinatorOptions options);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Handles one request of an agent; pass this function to an HttpServer.
  void handle(const http::ServerRequest& request, http::Responder responder);

  // At the first announcement of a world, the coordinator draws a random secret for this world. Only this
  // operator process has the secret, so a later leader cannot send assignments of this attempt. A process
  // that still waits for its assignment then causes a new attempt.
  void announce(const JobKey& job, const api::Announcement& announcement) override;
  void close(const JobKey& job) override;
  void forget_processes(const JobKey& job) override;

  // Call note_discarded_messages() when the operator discarded messages of unknown senders unread: a member
  // that seems silent may have sent one of them.
  void note_discarded_messages();

  [[nodiscard]] std::vector<api::ProcessFacts> processes(const JobKey& job) const override;
  [[nodiscard]] std::vector<api::AssignedProcess> world(const JobKey& job) const override;
  [[nodiscard]] Timestamp listening_since(const JobKey& job) const override;

  // The coordinator's current load from all jobs together.
  struct Load {
    std::uint64_t messages = 0;  // decoded messages since the start
    std::size_t parked = 0;      // polls that wait for an answer
  };
  [[nodiscard]] Load load() const;

 private:
  // The delayed reply to a call of a member that calls too often.
  struct DelayedAnswer {
    Timestamp due;
    http::Responder responder;
  };
  struct JobEntry {
    JobEntry(Timestamp now, JobSession its_session, MessageRateLimits limits)
        : tracked_since(now), session(std::move(its_session)), rate_limiter(limits), last_full_scan_at(now) {}

    const Timestamp tracked_since;
    Mutex mutex;
    JobSession session RATOON_GUARDED_BY(mutex);
    ParkedPolls parked RATOON_GUARDED_BY(mutex);
    MessageRateLimiter rate_limiter RATOON_GUARDED_BY(mutex);
    std::deque<DelayedAnswer> delayed_answers RATOON_GUARDED_BY(mutex);  // the first is due first
    Timestamp last_full_scan_at RATOON_GUARDED_BY(mutex);                // the last scan of all parked polls
    bool needs_full_scan RATOON_GUARDED_BY(mutex) = false;               // a scan of all parked polls is due
    // When a call from an unknown process last failed authentication.
    Timestamp authentication_failed_at RATOON_GUARDED_BY(mutex){};
  };
  using JobEntryPtr = std::shared_ptr<JobEntry>;

  void run_timer(const std::stop_token& stop);
  [[nodiscard]] bool has_stalled(Timestamp now, WallTime wall_now) const RATOON_REQUIRES(mutex_);
  [[nodiscard]] JobEntryPtr find_job(const JobKey& job) const;
  [[nodiscard]] std::vector<JobEntryPtr> all_jobs() const;
  void note_failed_authentication(const ProcessIdentity& process);
  template <class Message>
  void serve(const http::ServerRequest& request, http::Responder responder);
  // Each overload of answer_or_park() replies at once, or stores the responder until a reply is possible.
  // Returns whether the message may change the operator's next decision.
  bool answer_or_park(JobEntry& entry, const JoinRequest& message, http::Responder& responder)
      RATOON_REQUIRES(entry.mutex);
  bool answer_or_park(JobEntry& entry, const Heartbeat& message, http::Responder& responder)
      RATOON_REQUIRES(entry.mutex);
  bool answer_or_park(JobEntry& entry, const OrdersRequest& message, http::Responder& responder)
      RATOON_REQUIRES(entry.mutex);
  bool answer_or_park(JobEntry& entry, const Completed& message, http::Responder& responder)
      RATOON_REQUIRES(entry.mutex);
  // Returns whether the member may send one more message now. Delays the answer if the member calls too
  // often.
  [[nodiscard]] bool is_within_rate(JobEntry& entry, const ProcessIdentity& process,
                                    http::Responder& responder) RATOON_REQUIRES(entry.mutex);
  void park_poll(JobEntry& entry, const ProcessIdentity& process, AwaitedAnswer awaited,
                 std::uint64_t seen_revision, http::Responder& responder) RATOON_REQUIRES(entry.mutex);
  void answer_parked_polls(JobEntry& entry, Timestamp now) RATOON_REQUIRES(entry.mutex);
  [[nodiscard]] bool answer(JobEntry& entry, ParkedPoll& poll, Timestamp now) RATOON_REQUIRES(entry.mutex);

  const Clock& clock_;
  const CoordinatorOptions options_;
  mutable Mutex mutex_;
  StoppableConditionVariable wake_;
  std::map<JobKey, JobEntryPtr> jobs_ RATOON_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> message_count_ = 0;
  Timestamp last_tick_ RATOON_GUARDED_BY(mutex_);
  WallTime last_tick_wall_time_ RATOON_GUARDED_BY(mutex_);
  Timestamp listening_since_ RATOON_GUARDED_BY(mutex_);
  // When messages of unknown processes were last left unread.
  Timestamp messages_discarded_at_ RATOON_GUARDED_BY(mutex_){};
  std::jthread timer_thread_;  // last: it uses everything above
};

}  // namespace ratoon::coordinator
