// ExitWatch: handles a process that ends with exit code 0 before its training is complete, by return from
// main() or by exit(). Another exit code is the program's own choice, and is not changed. _exit() and
// quick_exit() are not noticed.
//
//   const ExitWatch watch([&] { return report_exception("the program"); });  // on the training thread
#pragma once

#include <functional>
#include <utility>

namespace ratoon::session {

// `find_code` prints the reason, and returns the exit code that replaces 0. `find_code` is called at exit, on
// the thread that called refuse_exit_as_done(). If another thread calls exit(), a message says so and the
// exit code is 82. If the function is called several times, the last `find_code` counts. A child that was
// forked is not watched.
void refuse_exit_as_done(std::function<int()> find_code);
void allow_exit_as_done();

// A child that the program forked has none of the session's threads: it would wait for them forever, and its
// saves would overwrite those of its parent. The child's first use of the session ends the child, with a
// message.
void leave_if_forked();

// Watches for as long as the object lives.
class ExitWatch {
 public:
  explicit ExitWatch(std::function<int()> find_code) { refuse_exit_as_done(std::move(find_code)); }
  ~ExitWatch() { allow_exit_as_done(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

}  // namespace ratoon::session
