// ExitWatch: replaces exit code 0 if a process returns from main() or calls exit() before its training is
// complete. Codes above 0 do not change. ExitWatch does not notice calls of _exit() and quick_exit().
//
//   const ExitWatch watch([&] { return report_exception("the program"); });  // on the training thread
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace ratoon::session {

// The function `find_exit_code` prints the reason and returns the exit code that replaces 0. `find_exit_code`
// is called at the exit of the process, on the thread that called replace_exit_code_zero(). If another thread
// calls exit(), a message reports this, and the exit code is 82. If replace_exit_code_zero() is called
// several times, the last `find_exit_code` is used. In a forked child, the exit code is not changed.
void replace_exit_code_zero(std::function<int()> find_exit_code);
void keep_exit_code_zero();

// If this process is a forked child that uses its parent's session, prints a message and ends the process. A
// forked child does not have the session's threads, so it would wait for them without end. The saves of the
// child would overwrite the saves of its parent.
void exit_if_forked();

// Exit code 0 is replaced only while the ExitWatch object exists.
class ExitWatch {
 public:
  explicit ExitWatch(std::function<int()> find_exit_code) {
    replace_exit_code_zero(std::move(find_exit_code));
  }
  ~ExitWatch() { keep_exit_code_zero(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

// TerminateWatch: handles std::terminate() on the training thread while an exception of the session leaves
// the training function. std::terminate() is called by the destructor of a std::thread that was not joined,
// and for an exception that leaves a noexcept function. Without a TerminateWatch, the process would end by
// SIGABRT, which counts as an error of the program, although the cause may be a lost rank.
//
// The function `find_exit_code` prints the reason and returns the exit code. If no exception of the session
// is being thrown, `find_exit_code` returns nothing, and the earlier terminate handler runs.
class TerminateWatch {
 public:
  explicit TerminateWatch(std::function<std::optional<int>()> find_exit_code);
  ~TerminateWatch();
  TerminateWatch(const TerminateWatch&) = delete;
  TerminateWatch& operator=(const TerminateWatch&) = delete;

  [[nodiscard]] std::optional<int> find_exit_code() const { return find_code_(); }

 private:
  std::function<std::optional<int>()> find_code_;
};

}  // namespace ratoon::session
