// Saver: saves that training does not wait for. A save is copied into a slot, and a thread of its own brings
// it to the disk, commits it and lets old ones go; see save_work.h for what it decides and slab.h for what
// outlives the process.
//
//   auto saver = Saver::open(disk, draw_name(), std::make_shared<SystemClock>(), {});
//   saver->begin_attempt({.attempt = Attempt(3), .rank = Rank(0), .world_size = 1, .rules = {.last = 3}});
//   const auto ticket = saver->save(Step(1200), views);  // the tensors may change again
//   if (ticket) ticket->wait(SaveLevel::kCommitted, std::chrono::minutes(5));
//
// Thread contract: one thread.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>

#include <ratoon/result.h>

#include "agent/src/checkpoint/save_work.h"

namespace ratoon::checkpoint {

class Saver {
 public:
  // What the process before this one left in slots_folder is taken over and written at once.
  [[nodiscard]] static Result<Saver> open(std::shared_ptr<Disk> disk, const std::string& mark,
                                          std::shared_ptr<const Clock> clock, const SaverOptions& options);
  Saver(Saver&&) = default;
  Saver& operator=(Saver&&) = delete;
  // What is staged is written first. A thread that the disk holds is left behind, and was_abandoned().
  ~Saver();

  // What is staged of older attempts and not yet being written is dropped.
  void begin_attempt(const SavingWorld& world) { work_->begin_attempt(world); }
  [[nodiscard]] Result<Ticket> save(Step step, std::span<const TensorView> tensors,
                                    const std::optional<RunRecord>& run = {},
                                    const Ticket& ticket = Ticket()) {
    return work_->save(step, tensors, run, ticket);
  }
  void prepare(std::uint64_t image_bytes) { work_->prepare(image_bytes); }
  // How it stands; without a thread it does what there is to do.
  [[nodiscard]] SaveProgress poll();
  // See SaveProgress::votes.
  void ask_for_votes() { work_->ask_for_votes(); }
  // Until all that is staged was written, or given up; false after that time.
  bool settle(Duration at_most);

  // Becomes true in the destructor: the process must not be torn down around the thread.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> was_abandoned() const { return was_abandoned_; }

 private:
  Saver(std::shared_ptr<SaveWork> work, const SaverOptions& options);

  std::shared_ptr<SaveWork> work_;  // a thread that is left behind keeps it alive
  SaverOptions options_;
  std::shared_ptr<std::atomic<bool>> was_abandoned_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
  std::future<void> has_ended_;
};

}  // namespace ratoon::checkpoint
