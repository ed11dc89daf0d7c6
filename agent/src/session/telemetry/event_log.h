// EventLog: collects log messages of threads other than the training thread. The training thread prints the
// messages later, because only this thread can remove the progress bar from the terminal first.
//
// Thread contract: any thread may call any function.
#pragma once

#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ratoon::session {

class EventLog {
 public:
  void add(std::string sentence) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(sentence));
  }
  // Appends all collected messages to `events` and removes them from this log.
  void move_to(std::vector<std::string>& events) {
    const std::lock_guard lock(mutex_);
    events.insert(events.end(), std::make_move_iterator(events_.begin()),
                  std::make_move_iterator(events_.end()));
    events_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> events_;  // guarded by mutex_
};

}  // namespace ratoon::session
