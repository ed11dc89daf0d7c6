// All events of a real API server's watch of one kind, in their order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "operator/kube/lenient_json.h"
#include "operator/kube/watch_decoder.h"
#include "operator/runtime/api_server/api_client.h"

namespace ratoon::sim {

inline constexpr Duration kAnswersWithin = std::chrono::seconds(60);

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error("the API server behind the world: " + result.error().message());
  return std::move(*result);
}

inline const kube::Resource& resource_of(const std::string& kind) {
  if (kind == "pods") return kube::kPods;
  return kind == "nodes" ? kube::kNodes : kube::kTrainingJobs;
}

class WatchedKind final : public http::BodySink {
 public:
  WatchedKind(const runtime::ApiClient& client, std::string kind, std::string version)
      : client_(client), kind_(std::move(kind)), version_(std::move(version)) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) watch(stop);
    });
  }

  [[nodiscard]] const std::string& kind() const { return kind_; }

  // Waits for something.
  std::deque<kube::WatchEvent> take() {
    std::unique_lock lock(mutex_);
    const auto has_come = [this] { return !events_.empty() || !trouble_.empty(); };
    if (!come_.wait_for(lock, kAnswersWithin, has_come))
      throw std::runtime_error("the watch of " + kind_ + " does not tell what was written");
    if (!trouble_.empty()) throw std::runtime_error("the watch of " + kind_ + ": " + trouble_);
    return std::exchange(events_, {});
  }

  Result<void> on_head(const http::ResponseHead& head) override {
    decoder_ = kube::WatchDecoder();
    if (head.status != 200) note_trouble("status " + std::to_string(head.status));
    return {};
  }

  Result<void> on_bytes(std::string_view bytes) override {
    decoder_.feed(bytes, [&](kube::WatchEvent event) {
      using Kind = kube::WatchEventKind;
      if (event.kind == Kind::kError || event.kind == Kind::kBroken)
        return note_trouble(event.object.dump() + event.complaint);
      version_ = kube::string_field(kube::child(event.object, "metadata"), "resourceVersion");
      if (event.kind == Kind::kBookmark) return;
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      come_.notify_all();
    });
    return {};
  }

 private:
  void watch(const std::stop_token& stop) {
    const auto request = must(kube::watch({.resource = resource_of(kind_)}, version_, 3600));
    const auto ended = client_.stream(request, {.total = {}, .silence = {}}, *this, stop);
    if (!ended && !stop.stop_requested()) note_trouble(ended.error().message());
  }

  void note_trouble(const std::string& what) {
    const std::lock_guard lock(mutex_);
    trouble_ = what;
    come_.notify_all();
  }

  const runtime::ApiClient& client_;
  const std::string kind_;
  std::string version_;  // of the thread
  kube::WatchDecoder decoder_;
  std::mutex mutex_;
  std::condition_variable come_;
  std::deque<kube::WatchEvent> events_;  // guarded by mutex_
  std::string trouble_;                  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace ratoon::sim
