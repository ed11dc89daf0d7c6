// UnforkedFd owns a file descriptor that belongs to this process alone: a child that is forked and does not
// exec closes it at once. If a child inherited the descriptor of a locked file, the lock would outlive the
// parent, and no other process could lock the file after the parent's end.
//
// Thread contract: only one thread at a time uses an object; any thread may fork.
#pragma once

#include "base/core/unique_fd.h"

namespace ratoon {

class UnforkedFd {
 public:
  UnforkedFd() = default;
  explicit UnforkedFd(UniqueFd fd);
  UnforkedFd(UnforkedFd&& other) noexcept;
  UnforkedFd& operator=(UnforkedFd&& other) noexcept;
  ~UnforkedFd();

  [[nodiscard]] int get() const { return fd_.get(); }
  [[nodiscard]] bool is_open() const { return fd_.is_open(); }

 private:
  friend struct UnforkedFds;
  void enter();
  void leave();

  UniqueFd fd_;
  UnforkedFd* before_ = nullptr;  // links of the list of all open ones
  UnforkedFd* after_ = nullptr;
};

}  // namespace ratoon
