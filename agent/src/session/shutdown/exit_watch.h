// ExitWatch: handles a process that ends with exit code 0 before its training is complete, by return from
// main() or by exit(). Another exit code is the program's own choice, and stays. _exit() and quick_exit() are
// not noticed.
//
//   const ExitWatch watch([&] { return report_exception("the program"); });  // on the training thread
#pragma once

#include <functional>
#include <utility>

namespace ratoon::session {

// `find_code` says why, and returns the exit code that replaces 0. It is called at exit, on the thread that
// called refuse_exit_as_done(). If another thread calls exit(), a sentence says so and the code is 82. The
// newest `find_code` counts. A child that was forked is not watched.
void refuse_exit_as_done(std::function<int()> find_code);
void allow_exit_as_done();

// A child that the program forked has none of the session's threads: it would wait for them for ever, and its
// saves would overwrite those of its parent. Its first use of the session ends it, with a sentence.
void leave_if_forked();

// The same for as long as the object lives.
class ExitWatch {
 public:
  explicit ExitWatch(std::function<int()> find_code) { refuse_exit_as_done(std::move(find_code)); }
  ~ExitWatch() { allow_exit_as_done(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

}  // namespace ratoon::session
