// Wakes a thread that sleeps in poll(), from any other thread.
#pragma once

#include "base/core/unique_fd.h"

namespace ratoon::http {

class Wakeup {
 public:
  Wakeup();

  // Returns false if the process had no file descriptor left for an eventfd; in this case no thread can wait.
  [[nodiscard]] bool is_usable() const { return fd_.is_open(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  void notify() const;
  void clear() const;

 private:
  UniqueFd fd_;
};

}  // namespace ratoon::http
