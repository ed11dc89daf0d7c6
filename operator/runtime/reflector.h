// Reflector keeps a copy of one kind of objects: it lists them, watches what changes and lists anew when the
// server no longer remembers where we stood. One thread, its own or, without start(), its caller's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/request.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/api_client.h"

namespace ratoon::runtime {

// The copy. Called by one thread, the reflector's.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // A list comes in pieces and replaces all when it ends; what it does not name is gone by then. A list that
  // begins again forgets the one before.
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
  // Short, since this bounds how long a connection that died without a word goes unnoticed.
  std::uint32_t watch_seconds = 40;
  Duration silence_margin{std::chrono::seconds(5)};  // beyond which a watch that does not end is given up
  Duration pause_min{std::chrono::milliseconds(500)};
  // A server that comes back has lost members to tell of; one or two operators ask it for three lists.
  Duration pause_max{std::chrono::seconds(5)};
  std::function<double()> draw;  // from 0 to below 1, to spread what many operators do at once
};

class Reflector {
 public:
  // All outlive it. It ends its thread when it ends.
  Reflector(const ApiClient& client, ObjectSink& sink, const Clock& clock, ReflectorOptions options,
            Logger log);

  // Steps in a thread of its own from now on.
  void start();
  // One list or one watch to its end; returns for how long to pause before the next.
  [[nodiscard]] Duration step(const std::stop_token& stop);
  // From any thread: ends the watch that goes on and lists anew, for who has to know how things are now. A
  // connection that died without a word would go unnoticed for a while. Until then is_synced() is false.
  void list_again();

  [[nodiscard]] std::string_view resource() const { return options_.selection.resource.plural; }
  [[nodiscard]] bool is_synced() const { return is_synced_; }  // whether one list was complete
  // Since when the copy may lack what happened; nothing while it is kept up.
  [[nodiscard]] std::optional<Timestamp> behind_since() const;
  // What last kept it from being kept up; nothing once the server has answered since.
  [[nodiscard]] std::optional<Error> trouble() const;

 private:
  class WatchSink;

  [[nodiscard]] Result<void> list_or_watch(const std::stop_token& stop);
  [[nodiscard]] Result<void> list_all(const std::stop_token& stop);
  [[nodiscard]] Result<nlohmann::json> list_page(const std::string& continue_token, std::uint32_t& items_max,
                                                 const std::stop_token& stop);
  [[nodiscard]] Result<void> watch_once(const std::stop_token& stop);
  [[nodiscard]] Result<void> take(const kube::WatchEvent& event);
  [[nodiscard]] bool is_old(const std::string& version) const;
  [[nodiscard]] Duration next_pause();
  void note_contact();

  const ApiClient& client_;
  ObjectSink& sink_;
  const Clock& clock_;
  const ReflectorOptions options_;
  const Logger log_;

  // Of the thread alone.
  std::string resource_version_;  // empty: list first
  Duration pause_{0};             // the last one; 0 after progress
  Duration asked_pause_{0};       // that the server wished for as it refused the last watch
  std::uint64_t events_ = 0;

  std::atomic<bool> is_synced_{false};
  std::atomic<bool> is_asked_to_list_{false};
  mutable std::mutex mutex_;
  Timestamp contact_at_;          // guarded by mutex_
  bool is_failing_ = true;        // guarded by mutex_
  std::optional<Error> trouble_;  // guarded by mutex_
  std::stop_source step_stop_;    // guarded by mutex_; of the list or watch that goes on
  std::jthread thread_;
};

}  // namespace ratoon::runtime
