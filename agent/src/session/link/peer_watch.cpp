#include "agent/src/session/link/peer_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/src/session/rendezvous/peer_probe.h"

namespace ratoon::session {

PeerWatch::PeerWatch(const Pace& pace, WaitsSince waits_since, OnNews on_news)
    : pace_(pace),
      waits_since_(std::move(waits_since)),
      on_news_(std::move(on_news)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PeerWatch::watch(std::vector<PeerAddress> peers) {
  const std::lock_guard lock(mutex_);
  peers_ = std::move(peers);
  ++worlds_;
  of_wait_.reset();
  failed_once_.clear();
  unreachable_.clear();
  changed_.notify_all();
}

std::vector<std::string> PeerWatch::unreachable(Timestamp waits_since) const {
  const std::lock_guard lock(mutex_);
  return of_wait_ == waits_since ? unreachable_ : std::vector<std::string>();
}

void PeerWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Duration pause = probe(stop);
    std::unique_lock lock(mutex_);
    const std::uint64_t world = worlds_;
    if (peers_.empty())
      changed_.wait(lock, stop, [&] { return worlds_ != world; });
    else
      changed_.wait_for(lock, stop, pause, [&] { return worlds_ != world; });
  }
}

Duration PeerWatch::probe(const std::stop_token& stop) {
  const auto waits_since = waits_since_();
  if (!waits_since || clock_.now() - *waits_since < pace_.wait) return pace_.look;
  std::vector<PeerAddress> peers;
  std::uint64_t world = 0;
  {
    const std::lock_guard lock(mutex_);
    peers = peers_;
    world = worlds_;
  }
  std::vector<std::string> failed = probe_peers(peers, pace_.connect, stop);
  const Duration pause = failed.empty() ? pace_.calm : pace_.again;
  std::unique_lock lock(mutex_);
  if (stop.stop_requested() || world != worlds_) return pace_.look;
  if (of_wait_ != waits_since) failed_once_.clear();
  std::vector<std::string> twice;
  std::ranges::copy_if(failed, std::back_inserter(twice), [&](const std::string& uid) {
    return std::ranges::find(failed_once_, uid) != failed_once_.end();
  });
  const bool is_news = of_wait_ != waits_since ? !twice.empty() : twice != unreachable_;
  of_wait_ = waits_since;
  failed_once_ = std::move(failed);
  unreachable_ = std::move(twice);
  const bool is_any = !unreachable_.empty();
  lock.unlock();
  if (is_news) on_news_(is_any);
  return pause;
}

}  // namespace ratoon::session
