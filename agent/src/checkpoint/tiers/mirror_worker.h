// MirrorWorker: a thread that keeps a store up with what is committed here, so that no trainer waits for a
// network. Where the network is slower than the saves it sends the newest and passes over those in between.
//
//   MirrorWorker worker(local_disk, store, {.told = [](const auto& id, const auto& result) { ... }});
//   worker.note_committed(id);                      // at once
//   bool is_there = worker.wait_for(id, 60s);       // where somebody wants to know
//
// What failed and may pass is tried again, with pauses, for as long as there is nothing newer. Thread
// contract: any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "agent/src/checkpoint/tiers/mirror.h"
#include "base/core/clock.h"

namespace ratoon::checkpoint {

struct MirrorWorkerOptions {
  MirrorOptions mirror{};  // its stop is the worker's
  Duration pause_first{std::chrono::seconds(1)};
  Duration pause_max{std::chrono::seconds(60)};
  // Before the first, in the worker's thread.
  std::function<void(const std::stop_token& stop)> begins{};
  // After each try, in the worker's thread: for events, metrics, retention and pointers.
  std::function<void(const CheckpointId& id, const Result<Mirrored>& result)> told{};
};

class MirrorWorker {
 public:
  MirrorWorker(std::shared_ptr<const Disk> from, std::shared_ptr<objects::ObjectStore> to,
               MirrorWorkerOptions options);
  // What is under way ends; the next process finishes it.
  ~MirrorWorker();
  MirrorWorker(const MirrorWorker&) = delete;
  MirrorWorker& operator=(const MirrorWorker&) = delete;

  void note_committed(const CheckpointId& id);
  // What was noted last turned out damaged: this one, if any, is what the store is to have.
  void go_back_to(const std::optional<CheckpointId>& id);

  // The newest that this worker knows to be committed in the store.
  [[nodiscard]] std::optional<CheckpointId> durable() const;
  // What is being copied, or is next: it must stay where it is copied from.
  [[nodiscard]] std::set<CheckpointId> under_way() const;
  // Whether it, or a newer one, is there within that time.
  [[nodiscard]] bool wait_for(const CheckpointId& id, Duration at_most) const;

 private:
  void work(const std::stop_token& stop);
  void begin(const std::stop_token& stop) const;
  [[nodiscard]] Result<Mirrored> copy(const CheckpointId& id, StoreDisk& to,
                                      const MirrorOptions& mirror) const;
  void tell(const CheckpointId& id, const Result<Mirrored>& result) const;
  void tell_failure(const CheckpointId& id, const std::string& why) const;
  void note_result(const CheckpointId& id, const Result<Mirrored>& result);

  const std::shared_ptr<const Disk> from_;
  const std::shared_ptr<objects::ObjectStore> to_;
  MirrorWorkerOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::optional<CheckpointId> wanted_;   // guarded by mutex_; the newest noted that is not settled
  std::optional<CheckpointId> copied_;   // guarded by mutex_; what the thread is at
  std::optional<CheckpointId> durable_;  // guarded by mutex_
  std::jthread thread_;                  // the last member: it uses the others
};

}  // namespace ratoon::checkpoint
