// ExitWatch: what becomes of a process that ends with exit code 0 before its training is complete, by return
// from main() or by exit(). Another exit code is the program's own word, and stays; _exit() and quick_exit()
// are not heard of.
//
//   const ExitWatch watch([&] { return say_why("the program"); });  // on the training thread
#pragma once

#include <functional>
#include <utility>

namespace ratoon::session {

// `find_code` says why, and gives the exit code that takes the place of 0. It is called on the thread that
// called this, at exit; where another thread calls exit(), a sentence says so and the code is 82.
// The newest one counts. A child that was forked is not watched.
void refuse_exit_as_done(std::function<int()> find_code);
void allow_exit_as_done();

// A child that the program forked has none of the session's threads: it would wait for them for ever, and
// what it saved would be written over what its parent saves. What it does with the session ends it, with a
// sentence.
void leave_if_forked();

// The same for as long as it lives.
class ExitWatch {
 public:
  explicit ExitWatch(std::function<int()> find_code) { refuse_exit_as_done(std::move(find_code)); }
  ~ExitWatch() { allow_exit_as_done(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

}  // namespace ratoon::session
