#include "agent/src/session/link/peer_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/src/session/rendezvous/peer_probe.h"

namespace ratoon::session {

PeerWatch::PeerWatch(const ProbeTimes& pace, WaitStartFunction waits_since, OnUnreachableChanged on_news)
    : probe_times_(pace),
      waits_since_(std::move(waits_since)),
      on_unreachable_changed_(std::move(on_news)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PeerWatch::set_peers(std::vector<PeerAddress> peers) {
  const MutexLock lock(mutex_);
  peers_ = std::move(peers);
  ++attempt_count_;
  wait_began_at_.reset();
  failed_last_round_.clear();
  unreachable_peers_.clear();
  peers_changed_.notify_all();
}

std::vector<std::string> PeerWatch::unreachable(Timestamp waits_since) const {
  const MutexLock lock(mutex_);
  return wait_began_at_ == waits_since ? unreachable_peers_ : std::vector<std::string>();
}

void PeerWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Duration pause = probe(stop);
    MutexLock lock(mutex_);
    const std::uint64_t world = attempt_count_;
    if (peers_.empty())
      peers_changed_.wait(lock, stop, [&]() RATOON_REQUIRES(mutex_) { return attempt_count_ != world; });
    else
      peers_changed_.wait_for(lock, stop, pause,
                              [&]() RATOON_REQUIRES(mutex_) { return attempt_count_ != world; });
  }
}

Duration PeerWatch::probe(const std::stop_token& stop) {
  const auto waits_since = waits_since_();
  if (!waits_since || clock_.now() - *waits_since < probe_times_.usual_wait_max)
    return probe_times_.check_interval;
  std::vector<PeerAddress> peers;
  std::uint64_t world = 0;
  {
    const MutexLock lock(mutex_);
    peers = peers_;
    world = attempt_count_;
  }
  std::vector<std::string> failed = probe_peers(peers, probe_times_.connect_timeout, stop);
  const Duration pause =
      failed.empty() ? probe_times_.pause_if_all_reachable : probe_times_.pause_if_unreachable;
  MutexLock lock(mutex_);
  if (stop.stop_requested() || world != attempt_count_) return probe_times_.check_interval;
  if (wait_began_at_ != waits_since) failed_last_round_.clear();
  std::vector<std::string> twice;
  std::ranges::copy_if(failed, std::back_inserter(twice),
                       [&](const std::string& uid) RATOON_REQUIRES(mutex_) {
                         return std::ranges::find(failed_last_round_, uid) != failed_last_round_.end();
                       });
  const bool is_news = wait_began_at_ != waits_since ? !twice.empty() : twice != unreachable_peers_;
  wait_began_at_ = waits_since;
  failed_last_round_ = std::move(failed);
  unreachable_peers_ = std::move(twice);
  const bool is_any = !unreachable_peers_.empty();
  lock.unlock();
  if (is_news) on_unreachable_changed_(is_any);
  return pause;
}

}  // namespace ratoon::session
