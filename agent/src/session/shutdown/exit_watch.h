// ExitWatch changes the exit code of a process that ends with exit code 0 before its training is complete, by
// return from main() or by exit(). Other exit codes are the program's choice and stay. _exit() and
// quick_exit() are not noticed.
//
//   const ExitWatch watch([&] { return report_exception("the program"); });  // on the training thread
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace ratoon::session {

// `find_code` prints the reason, and returns the exit code that replaces 0. `find_code` is called at exit, on
// the thread that called refuse_exit_as_done(). If another thread calls exit(), a message says so and the
// exit code is 82. If refuse_exit_as_done() is called several times, the last `find_code` counts. In a forked
// child nothing is watched.
void refuse_exit_as_done(std::function<int()> find_code);
void allow_exit_as_done();

// Ends a process that the program forked, at its first use of the session, with a message. A forked child has
// none of the session's threads: it would wait for the threads forever, and its saves would overwrite its
// parent's.
void leave_if_forked();

// The watch lasts while the ExitWatch exists.
class ExitWatch {
 public:
  explicit ExitWatch(std::function<int()> find_code) { refuse_exit_as_done(std::move(find_code)); }
  ~ExitWatch() { allow_exit_as_done(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

// TerminateWatch: handles std::terminate() on the training thread while an exception of the session leaves
// the training function. std::terminate() is called by the destructor of a std::thread that was not joined,
// and for an exception that leaves a noexcept function. The end by SIGABRT would count as an error of the
// program, although the world has changed, or this process was told to leave.
//
// `find_code` prepares the process's end, prints the reason, and returns the exit code; or nothing, if no
// exception of the session is on its way: std::terminate() then does what it did before.
class TerminateWatch {
 public:
  explicit TerminateWatch(std::function<std::optional<int>()> find_code);
  ~TerminateWatch();
  TerminateWatch(const TerminateWatch&) = delete;
  TerminateWatch& operator=(const TerminateWatch&) = delete;

  [[nodiscard]] std::optional<int> find_code() const { return find_code_(); }

 private:
  std::function<std::optional<int>()> find_code_;
};

}  // namespace ratoon::session
