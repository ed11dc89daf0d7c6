// checkpoint/saver/: Saves checkpoints in the background while training continues. The folder contains the
// saver, its queue of work, and the writer of pack files.
//
// Saver: saves checkpoints in the background. A save copies the tensors into a slot, which is memory for one
// pack file. A separate thread writes the copy to the disk, commits it and removes old checkpoints.
// save_pipeline.h contains the decisions of the saver, and slab.h the memory that outlives the process.
//
//   auto saver = Saver::open(disk, random_hex_name(), std::make_shared<SystemClock>(), {});
//   saver->begin_attempt({.attempt = Attempt(3), .rank = Rank(0), .world_size = 1, .rules = {.last = 3}});
//   const auto ticket = saver->save(Step(1200), views);  // the tensors may change again
//   if (ticket) ticket->wait(SaveLevel::kCommitted, std::chrono::minutes(5));
//
// Thread contract: only one thread at a time may use a Saver.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>

#include <ratoon/result.h>

#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::checkpoint {

class Saver {
 public:
  // Starts a saver. The saver first writes the packs that an earlier process left in slots_folder.
  [[nodiscard]] static Result<Saver> open(std::shared_ptr<Disk> disk, const std::string& mark,
                                          std::shared_ptr<const Clock> clock, const SaverOptions& options);
  Saver(Saver&&) = default;
  Saver& operator=(Saver&&) = delete;
  // ~Saver() first writes to the disk all packs that are in memory. If the disk hangs, the destructor leaves
  // the thread running and sets was_abandoned().
  ~Saver();

  // Drops packs of older attempts that are copied to memory but are not being written yet.
  void begin_attempt(const SaveContext& world) { pipeline_->begin_attempt(world); }
  [[nodiscard]] Result<SavePromise> save(Step step, std::span<const TensorView> tensors,
                                         const std::optional<RunRecord>& run = {},
                                         const SavePromise& ticket = SavePromise()) {
    return pipeline_->save(step, tensors, run, ticket);
  }
  void use_parts_of(const CheckpointId& id, const PackRecord& pack) { pipeline_->use_parts_of(id, pack); }
  void prepare(std::uint64_t image_bytes) { pipeline_->prepare(image_bytes); }
  // Returns the progress of the saves. If SaverOptions::has_writer_thread is false, poll() does all pending
  // work itself before it returns.
  [[nodiscard]] SaveProgress poll();
  // See SaveProgress::votes.
  void ask_for_votes() { pipeline_->ask_for_votes(); }
  // Waits until all packs in memory are written to the disk or given up. Returns false if memory still holds
  // packs after the time `at_most`, or if the disk hangs.
  bool wait_until_written(Duration at_most);

  // The destructor sets the flag was_abandoned() to true if the writer thread still runs. If was_abandoned()
  // is true, the process must not destroy objects that the writer thread uses.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> was_abandoned() const { return was_abandoned_; }

 private:
  Saver(std::shared_ptr<SavePipeline> work, const SaverOptions& options);

  std::shared_ptr<SavePipeline> pipeline_;  // a thread that is left behind keeps it alive
  SaverOptions options_;
  std::shared_ptr<std::atomic<bool>> was_abandoned_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
  std::future<void> thread_finished_;
};

}  // namespace ratoon::checkpoint
