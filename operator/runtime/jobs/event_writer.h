// EventWriter: writes Kubernetes events about jobs for people, in a separate thread, so that no caller waits.
// EventFilter decides which messages get an event of their own. Failures to write an event are only logged.
// Without start(), the caller must call step() to write the events.
//
// Namespaces take turns. If writing an event takes long, for example because a webhook hangs, the next event
// of its namespace waits for nine times as long, so a namespace uses at most a tenth of the thread's time. If
// the API server asks for a pause, the event is written after the pause, and other namespaces do not wait.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <thread>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/threads/condition_variable.h"
#include "operator/api/training_job.h"
#include "operator/kube/objects/event.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/jobs/event_filter.h"
#include "operator/runtime/scheduling/round_robin_queue.h"

namespace ratoon::runtime {

class EventWriter {
 public:
  static constexpr std::size_t kWaitingMax = 1024;  // beyond that, the longest line loses its oldest event

  // All arguments must outlive this object.
  EventWriter(const ApiClient& client, const Clock& clock, std::string reporter, Logger log);
  ~EventWriter();  // unwritten events are lost

  // Starts the thread that writes the events.
  void start();
  // Writes all events that wait in the queue.
  void step(const std::stop_token& stop);

  void emit(const api::ObjectMeta& job, kube::EventText text);

 private:
  struct QueuedEvent {
    api::ObjectMeta job;
    kube::EventText text;
    WallTime time;
    std::optional<EventWrite> order{};  // absent: the filter has not decided yet
    bool is_repeated = false;
  };
  void run(const std::stop_token& stop);
  // Returns whether an event was taken from the queue; the lock is not held while the event is written. Clang
  // does not check the body, because it cannot follow `lock`, a lock of mutex_ that belongs to the caller.
  // The body uses guarded members only before it unlocks `lock` and after it has locked it again.
  bool write_next(MutexLock& lock, const std::stop_token& stop)
      RATOON_REQUIRES(mutex_) RATOON_NOT_CHECKED_FOR_THREADS;
  // Sets `asked` if the API server asks for a pause.
  [[nodiscard]] Result<void> write(QueuedEvent& news, const std::stop_token& stop,
                                   std::optional<Duration>& asked);
  [[nodiscard]] Result<void> call(const Result<kube::ApiRequest>& request, const std::stop_token& stop,
                                  std::optional<Duration>& asked) const;

  const ApiClient& client_;
  const Clock& clock_;
  const std::string reporter_;
  const Logger log_;
  EventFilter filter_;                  // used only by the thread that writes
  std::uint64_t next_name_number_ = 0;  // used only by the thread that writes

  Mutex mutex_;
  StoppableConditionVariable event_added_;
  RoundRobinQueue<QueuedEvent> queue_ RATOON_GUARDED_BY(mutex_){kWaitingMax};  // by namespace
  // Until when the events of a namespace wait.
  std::map<std::string, Timestamp> backoff_ends_ RATOON_GUARDED_BY(mutex_);
  std::uint64_t emitted_count_ RATOON_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;
};

}  // namespace ratoon::runtime
