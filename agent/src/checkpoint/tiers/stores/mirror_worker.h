// MirrorWorker: a thread that copies committed checkpoints to a store, so that training does not wait for the
// network. If the network is slower than the saves, the worker sends the newest checkpoint and skips older
// checkpoints.
//
//   MirrorWorker worker(local_disk, store, {.on_result = [](const auto& id, const auto& result,
//                                                   const std::stop_token& stop) { ... }});
//   worker.note_committed(id);                      // at once
//   bool is_there = worker.wait_for(id, 60s);       // optional
//
// If a copy fails and a retry may succeed, the worker retries it, with pauses, until there is a newer
// checkpoint.
//
// Thread contract: any thread may call any function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "agent/src/checkpoint/tiers/stores/mirror.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

namespace ratoon::checkpoint {

struct MirrorWorkerOptions {
  MirrorOptions mirror{};  // the worker sets its `stop`
  Duration pause_first{std::chrono::seconds(1)};
  Duration pause_max{std::chrono::seconds(60)};
  // The worker's thread calls `before_first_copy` before the first copy.
  std::function<void(const std::stop_token& stop)> before_first_copy{};
  // The worker's thread calls `on_result` with the result of each try. `on_result` can report this result,
  // remove old checkpoints and update `latest`. It should return soon after a request to `stop`.
  std::function<void(const CheckpointId& id, const Result<MirrorResult>& result, const std::stop_token& stop)>
      on_result{};
};

// Returns true if the worker tries again to copy a checkpoint after `error`. It does not if the checkpoint is
// damaged, or if the store holds other data under its name.
[[nodiscard]] bool may_copy_succeed_later(const Error& error);

class MirrorWorker {
 public:
  MirrorWorker(std::shared_ptr<const Disk> from, std::shared_ptr<objects::ObjectStore> to,
               MirrorWorkerOptions options);
  // Stops the current copy; the next process finishes this copy.
  ~MirrorWorker();
  MirrorWorker(const MirrorWorker&) = delete;
  MirrorWorker& operator=(const MirrorWorker&) = delete;

  void note_committed(const CheckpointId& id);
  // Call go_back_to() if the checkpoint that was passed to note_committed() last turned out to be damaged.
  // If `id` is given, the worker sends the older checkpoint `id` in place of the damaged one.
  void go_back_to(const std::optional<CheckpointId>& id);

  // The newest checkpoint that this worker knows to be committed in the store.
  [[nodiscard]] std::optional<CheckpointId> durable() const;
  // Returns the checkpoints that the worker is copying or will copy next. Do not remove these checkpoints
  // from the folder or store from which the worker copies.
  [[nodiscard]] std::set<CheckpointId> being_copied() const;
  // Waits until checkpoint `id` or a newer checkpoint is in the store. Returns false if the checkpoint is not
  // in the store after the time `at_most`.
  [[nodiscard]] bool wait_for(const CheckpointId& id, Duration at_most) const;
  // Waits until `on_result` has returned for each finished copy. Returns false if `on_result` still runs
  // after the time `at_most`.
  [[nodiscard]] bool wait_for_report(Duration at_most) const;

 private:
  void work(const std::stop_token& stop);
  void begin(const std::stop_token& stop) const;
  [[nodiscard]] Result<MirrorResult> copy(const CheckpointId& id, ObjectStoreDisk& to,
                                          const MirrorOptions& mirror) const;
  void report_result(const CheckpointId& id, const Result<MirrorResult>& result, const std::stop_token& stop);
  void report_failure(const CheckpointId& id, const std::string& why, const std::stop_token& stop) const;
  void record_result(const CheckpointId& id, const Result<MirrorResult>& result);

  const std::shared_ptr<const Disk> source_disk_;
  const std::shared_ptr<objects::ObjectStore> store_;
  MirrorWorkerOptions options_;
  mutable Mutex mutex_;
  mutable StoppableConditionVariable changed_;
  std::optional<CheckpointId> next_copy_ RATOON_GUARDED_BY(mutex_);     // the newest still to be copied
  std::optional<CheckpointId> current_copy_ RATOON_GUARDED_BY(mutex_);  // the one being copied
  std::optional<CheckpointId> newest_in_store_ RATOON_GUARDED_BY(mutex_);
  bool is_reporting_ RATOON_GUARDED_BY(mutex_) = false;  // a copy has ended, and on_result not yet
  std::jthread thread_;                                  // the last member: it uses the others
};

}  // namespace ratoon::checkpoint
