// Reflector keeps a copy of all Kubernetes objects of one kind. It lists the objects and watches changes. It
// lists the objects again when the server no longer knows the version from which to continue. A reflector
// uses one thread: its own or, without start(), its caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/threads/mutex.h"
#include "operator/kube/request.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::runtime {

// The interface through which a reflector fills a local copy of objects. Only the reflector's thread calls
// these functions.
class KubeObjectSink {
 public:
  virtual ~KubeObjectSink() = default;
  // A list of all objects of the kind arrives object by object. At the list's end, remove all objects that
  // are not in the list, because they no longer exist on the server. If a list begins again before its end,
  // discard the objects of the incomplete list.
  virtual void begin_list() = 0;
  virtual void list_object(const nlohmann::json& object) = 0;
  virtual void end_list(const std::string& resource_version) = 0;
  virtual void put(const nlohmann::json& object) = 0;
  virtual void remove(const nlohmann::json& object) = 0;
  virtual void reach(const std::string& resource_version) = 0;  // a bookmark
};

struct ReflectorOptions {
  kube::Selection selection;
  std::uint32_t page_items = 500;
  // A watch is short, because a connection that died silently may go unnoticed until the watch ends.
  std::uint32_t watch_seconds = 40;
  Duration watch_timeout_margin{
      std::chrono::seconds(5)};  // after this much longer, an endless watch is given up
  Duration pause_min{std::chrono::milliseconds(500)};
  // The longest pause between failed calls is short, because a server that answers again may report lost
  // members. Short pauses cost the server little: only one or two operators repeat calls, three calls each.
  Duration pause_max{std::chrono::seconds(5)};
  std::function<double()> draw;  // from 0 to below 1, to spread the calls of many operators
};

class Reflector {
 public:
  // All arguments must outlive the reflector. The destructor ends the reflector's thread.
  Reflector(const ApiClient& client, KubeObjectSink& sink, const Clock& clock, ReflectorOptions options,
            Logger log);

  // Starts a thread that calls step() again and again.
  void start();
  // Makes one list or watch call and waits for its end; returns how long to wait before the next call.
  [[nodiscard]] Duration step(const std::stop_token& stop);
  // Ends the current watch and lists again. Call relist() if the copy must be current now: a connection that
  // died silently may be unnoticed for a while. Until the list is complete, is_synced() returns false. Any
  // thread may call relist().
  void relist();

  [[nodiscard]] std::string_view resource() const { return options_.selection.resource.plural; }
  [[nodiscard]] bool is_synced() const { return is_synced_; }  // one list was complete
  // Returns since when the copy may lack changes, or nothing while it is up to date.
  [[nodiscard]] std::optional<Timestamp> behind_since() const;
  // Returns the error that keeps the copy from being up to date, or nothing after the server has answered.
  [[nodiscard]] std::optional<Error> trouble() const;

 private:
  class WatchSink;

  [[nodiscard]] Result<void> list_or_watch(const std::stop_token& stop);
  [[nodiscard]] Result<void> list_all(const std::stop_token& stop);
  [[nodiscard]] Result<void> watch_once(const std::stop_token& stop);
  [[nodiscard]] Result<void> apply_event(const kube::WatchEvent& event);
  [[nodiscard]] bool was_received_before(const std::string& version) const;
  [[nodiscard]] Duration next_pause();
  void note_contact();

  const ApiClient& client_;
  KubeObjectSink& sink_;
  const Clock& clock_;
  const ReflectorOptions options_;
  const Logger log_;

  // Only the reflector's thread uses resource_version_, pause_, server_pause_ and events_received_.
  std::string resource_version_;  // empty: list first
  Duration pause_{0};             // the last pause; 0 after progress
  Duration server_pause_{0};      // requested by the server when it refused the last watch
  std::uint64_t events_received_ = 0;

  std::atomic<bool> is_synced_{false};
  std::atomic<bool> is_relist_requested_{false};
  mutable Mutex mutex_;
  Timestamp last_contact_at_ RATOON_GUARDED_BY(mutex_);
  bool is_failing_ RATOON_GUARDED_BY(mutex_) = true;
  std::optional<Error> last_error_ RATOON_GUARDED_BY(mutex_);
  std::stop_source step_stop_ RATOON_GUARDED_BY(mutex_);  // of the current list or watch
  std::jthread thread_;
};

}  // namespace ratoon::runtime
