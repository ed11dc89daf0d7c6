// EventWriter: writes Kubernetes events about jobs for people, in a separate thread, so that no caller waits.
// EventFilter decides which messages get an event of their own. Failures are only logged. Without start(),
// the caller must call step() to write the events.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/api/training_job.h"
#include "operator/kube/objects/event.h"
#include "operator/runtime/api_server/api_client.h"
#include "operator/runtime/jobs/event_filter.h"

namespace ratoon::runtime {

class EventWriter {
 public:
  // All arguments must outlive this object.
  EventWriter(const ApiClient& client, const Clock& clock, std::string reporter, Logger log);
  ~EventWriter();  // unwritten events are lost

  // Starts the thread that writes the events.
  void start();
  // Writes all events that wait in the queue.
  void step(const std::stop_token& stop);

  void emit(const api::ObjectMeta& job, kube::EventText text);

 private:
  struct News {
    api::ObjectMeta job;
    kube::EventText text;
    WallTime time;
  };
  void run(const std::stop_token& stop);
  void write_first(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  [[nodiscard]] Result<void> write(const News& news, const std::stop_token& stop);

  const ApiClient& client_;
  const Clock& clock_;
  const std::string reporter_;
  const Logger log_;
  EventFilter filter_;        // of who writes alone
  std::uint64_t number_ = 0;  // of who writes alone

  std::mutex mutex_;
  std::condition_variable_any has_news_;
  std::deque<News> queue_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace ratoon::runtime
