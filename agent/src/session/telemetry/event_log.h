// EventLog collects messages of threads other than the training thread. The training thread prints the
// messages when the progress bar is not on the line.
//
// Thread contract: any thread.
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
  // Moves all messages to `events`.
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
