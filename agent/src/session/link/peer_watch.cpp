#include "agent/src/session/link/peer_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/src/session/rendezvous/peer_probe.h"

namespace ratoon::session {

PeerWatch::PeerWatch(const ProbeTimes& pace, WaitsSince waits_since, OnUnreachableChanged on_news)
    : pace_(pace),
      waits_since_(std::move(waits_since)),
      on_unreachable_changed_(std::move(on_news)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PeerWatch::set_peers(std::vector<PeerAddress> peers) {
  const std::lock_guard lock(mutex_);
  peers_ = std::move(peers);
  ++attempt_count_;
  wait_began_at_.reset();
  failed_last_round_.clear();
  unreachable_.clear();
  peers_changed_.notify_all();
}

std::vector<std::string> PeerWatch::unreachable(Timestamp waits_since) const {
  const std::lock_guard lock(mutex_);
  return wait_began_at_ == waits_since ? unreachable_ : std::vector<std::string>();
}

void PeerWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Duration pause = probe(stop);
    std::unique_lock lock(mutex_);
    const std::uint64_t world = attempt_count_;
    if (peers_.empty())
      peers_changed_.wait(lock, stop, [&] { return attempt_count_ != world; });
    else
      peers_changed_.wait_for(lock, stop, pause, [&] { return attempt_count_ != world; });
  }
}

Duration PeerWatch::probe(const std::stop_token& stop) {
  const auto waits_since = waits_since_();
  if (!waits_since || clock_.now() - *waits_since < pace_.usual_wait_max) return pace_.check_interval;
  std::vector<PeerAddress> peers;
  std::uint64_t world = 0;
  {
    const std::lock_guard lock(mutex_);
    peers = peers_;
    world = attempt_count_;
  }
  std::vector<std::string> failed = probe_peers(peers, pace_.connect_timeout, stop);
  const Duration pause = failed.empty() ? pace_.pause_if_all_reachable : pace_.pause_if_unreachable;
  std::unique_lock lock(mutex_);
  if (stop.stop_requested() || world != attempt_count_) return pace_.check_interval;
  if (wait_began_at_ != waits_since) failed_last_round_.clear();
  std::vector<std::string> twice;
  std::ranges::copy_if(failed, std::back_inserter(twice), [&](const std::string& uid) {
    return std::ranges::find(failed_last_round_, uid) != failed_last_round_.end();
  });
  const bool is_news = wait_began_at_ != waits_since ? !twice.empty() : twice != unreachable_;
  wait_began_at_ = waits_since;
  failed_last_round_ = std::move(failed);
  unreachable_ = std::move(twice);
  const bool is_any = !unreachable_.empty();
  lock.unlock();
  if (is_news) on_unreachable_changed_(is_any);
  return pause;
}

}  // namespace ratoon::session
