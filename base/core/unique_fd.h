// UniqueFd owns a file descriptor and closes it. If close() may report lost writes that matter, call close()
// and check its result.
#pragma once

#include <utility>

#include <ratoon/result.h>

namespace ratoon {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  // Closes the held descriptor and ignores an error of close().
  void reset(int fd = -1);

  // Closes the descriptor and returns an error if close(2) fails. The descriptor is closed even after an
  // error, so never call close() again.
  [[nodiscard]] Result<void> close();

 private:
  int fd_ = -1;
};

}  // namespace ratoon
