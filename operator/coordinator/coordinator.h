// Coordinator: the agents' endpoint over HTTP. Join and orders are long polls; a parked poll holds a
// connection and no thread. The coordinator is a cache: the durable state is in the TrainingJob's status and
// in checkpoint manifests.
//
// Each job has an entry with its own lock, so that work for one job delays no other job.
//
// Thread contract: every method may be called from any thread. `on_news` is called without locks held.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ratoon/result.h>

#include "base/contract/messages.h"
#include "base/core/clock.h"
#include "base/core/random_name.h"
#include "base/http/server.h"
#include "operator/coordinator/job_registry.h"
#include "operator/coordinator/job_session.h"
#include "operator/coordinator/message_rate_limiter.h"
#include "operator/coordinator/parked_polls.h"

namespace ratoon::coordinator {

// Checks that the bearer of this token is that process. kPermissionDenied: it is another process. Any other
// error means that the check is not possible now.
using Authenticate = std::function<Result<void>(std::string_view token, const ProcessIdentity& process)>;

struct CoordinatorOptions {
  Authenticate authenticate;
  std::function<void(const JobKey&)> on_news;    // called after a message that may change a decision
  Duration poll_hold{std::chrono::seconds(20)};  // a long poll is answered by then at the latest
  MessageRateLimits limits{};
  std::function<Result<std::string>()> draw = [] { return draw_secret(kSecretBytes); };
};

// The bearer token of the call; empty: the call has no token.
[[nodiscard]] std::string_view bearer_token(const http::ServerRequest& request);

class Coordinator final : public JobRegistry {
 public:
  Coordinator(const Clock& clock, CoordinatorOptions options);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // The handler for an HttpServer.
  void handle(const http::ServerRequest& request, http::Responder responder);

  // The first announcement of an attempt's world draws the secret of that world. Only this process has the
  // secret: the next leader cannot send this attempt's assignments, so a process that still waits for one
  // causes the next attempt.
  void announce(const JobKey& job, const api::Announcement& announcement) override;
  void close(const JobKey& job) override;
  void forget_processes(const JobKey& job) override;

  // Call this when messages of unknown processes were left unread. One of these messages may come from a
  // member that seems silent.
  void note_unread();

  [[nodiscard]] std::vector<api::ProcessFacts> processes(const JobKey& job) const override;
  [[nodiscard]] std::vector<api::Seat> world(const JobKey& job) const override;
  [[nodiscard]] Timestamp listening_since(const JobKey& job) const override;

  // Of all jobs.
  struct Load {
    std::uint64_t messages = 0;  // decoded messages since the start
    std::size_t parked = 0;      // polls that wait for an answer
  };
  [[nodiscard]] Load load() const;

 private:
  // The answer to a member that calls too often.
  struct DelayedAnswer {
    Timestamp due;
    http::Responder responder;
  };
  struct JobEntry {
    JobEntry(Timestamp now, JobSession its_session, MessageRateLimits limits)
        : opened(now), session(std::move(its_session)), budget(limits), scanned_at(now) {}

    const Timestamp opened;
    std::mutex mutex;
    JobSession session;                 // guarded by mutex
    ParkedPolls parked;                 // guarded by mutex
    MessageRateLimiter budget;          // guarded by mutex
    std::deque<DelayedAnswer> delayed;  // guarded by mutex; the first is due first
    Timestamp scanned_at;               // the last scan of all parked polls; guarded by mutex
    bool needs_full_scan = false;       // a scan of all parked polls is due; guarded by mutex
    // The last call of an unknown process that could not be authenticated; guarded by mutex.
    Timestamp unproved{};
  };
  using JobEntryPtr = std::shared_ptr<JobEntry>;

  void keep_time(const std::stop_token& stop);
  [[nodiscard]] bool has_stalled(Timestamp now, WallTime wall_now) const;  // mutex_ is held
  [[nodiscard]] JobEntryPtr find_job(const JobKey& job) const;
  [[nodiscard]] std::vector<JobEntryPtr> all_jobs() const;
  void note_unproved(const ProcessIdentity& process);
  template <class Message>
  void serve(const http::ServerRequest& request, http::Responder responder);
  // Each function answers at once or parks the responder. The entry's mutex is held during calls of these
  // functions. Returns whether the next decision may differ.
  bool answer_or_park(JobEntry& entry, const JoinRequest& message, http::Responder& responder);
  bool answer_or_park(JobEntry& entry, const Beat& message, http::Responder& responder);
  bool answer_or_park(JobEntry& entry, const OrdersRequest& message, http::Responder& responder);
  bool answer_or_park(JobEntry& entry, const Completed& message, http::Responder& responder);
  // Returns whether the member may send one more message. If not, its answer is delayed.
  [[nodiscard]] bool is_within_rate(JobEntry& entry, const ProcessIdentity& process,
                                    http::Responder& responder);
  void park(JobEntry& entry, const ProcessIdentity& process, AwaitedAnswer awaited,
            std::uint64_t seen_revision, http::Responder& responder);
  void answer_parked(JobEntry& entry, Timestamp now);
  [[nodiscard]] bool answer(JobEntry& entry, ParkedPoll& poll, Timestamp now);

  const Clock& clock_;
  const CoordinatorOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<JobKey, JobEntryPtr> jobs_;  // guarded by mutex_
  std::atomic<std::uint64_t> messages_ = 0;
  Timestamp ticked_;           // guarded by mutex_
  WallTime wall_ticked_;       // guarded by mutex_
  Timestamp listening_since_;  // guarded by mutex_
  Timestamp unread_{};         // when messages of unknown processes were last left unread; guarded by mutex_
  std::jthread timekeeper_;    // last: it uses everything above
};

}  // namespace ratoon::coordinator
