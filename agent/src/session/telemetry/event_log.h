// EventLog: collects log messages of threads other than the training thread. The training thread prints the
// messages later, because only this thread can remove the progress bar from the terminal first.
//
// Thread contract: any thread may call any function.
#pragma once

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/core/threads/mutex.h"

namespace ratoon::session {

class EventLog {
 public:
  void add(std::string sentence) {
    const MutexLock lock(mutex_);
    events_.push_back(std::move(sentence));
  }
  // Appends all collected messages to `events` and removes them from this log.
  void move_to(std::vector<std::string>& events) {
    const MutexLock lock(mutex_);
    events.insert(events.end(), std::make_move_iterator(events_.begin()),
                  std::make_move_iterator(events_.end()));
    events_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<std::string> events_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::session
