// FdClosedOnFork owns a file descriptor that belongs to this process alone: a forked child closes the
// descriptor at once, even without an exec(). If a child inherited the descriptor of a locked file, the lock
// would outlive the parent, and no other process could lock the file after the parent's end.
//
// Thread contract: only one thread at a time uses an object; any thread may fork.
#pragma once

#include "base/core/unique_fd.h"

namespace ratoon {

class FdClosedOnFork {
 public:
  FdClosedOnFork() = default;
  explicit FdClosedOnFork(UniqueFd fd);
  FdClosedOnFork(FdClosedOnFork&& other) noexcept;
  FdClosedOnFork& operator=(FdClosedOnFork&& other) noexcept;
  ~FdClosedOnFork();

  [[nodiscard]] int get() const { return fd_.get(); }
  [[nodiscard]] bool is_open() const { return fd_.is_open(); }

 private:
  friend struct FdsClosedOnFork;
  void register_open_fd();
  void unregister_open_fd();

  UniqueFd fd_;
  FdClosedOnFork* previous_open_fd_ = nullptr;  // links of the list of all open ones
  FdClosedOnFork* next_open_fd_ = nullptr;
};

}  // namespace ratoon
