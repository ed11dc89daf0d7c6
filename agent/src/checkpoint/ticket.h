// Ticket: how far one save has come. Levels come in order and each can be waited for.
//
//   const auto ticket = saver.save(id, views);
//   if (auto there = ticket->wait(SaveLevel::kCommitted, std::chrono::minutes(5)); !there) ...
//
// Thread contract: any thread; copies are of one save.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::checkpoint {

enum class SaveLevel {
  kStaged,     // copied: the tensors may change, and the process may die if its slots outlive it
  kWritten,    // this rank's pack is on the disk
  kCommitted,  // those of all ranks are, and the manifest: a start resumes from it
};

class Ticket {
 public:
  Ticket();

  // kTimeout if it takes longer, another error if it will never come. Zero only looks.
  [[nodiscard]] Result<void> wait(SaveLevel level, Duration at_most) const;

  // For who carries it out. Neither goes back, and what has failed stays so.
  void reach(SaveLevel level) const;
  void fail(const Error& why) const;

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<SaveLevel> level;  // guarded by mutex, as is failure
    std::optional<Error> failure;
  };
  std::shared_ptr<State> state_;
};

}  // namespace ratoon::checkpoint
