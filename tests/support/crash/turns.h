// Turns: several programs that share a disk, each on a thread of its own, of which one runs at a time. A rule
// decides before each call of the disk which program runs next: the same rule gives the same story.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "tests/support/crash/observed_disk.h"

namespace ratoon::test {

class Turns {
 public:
  // Returns the next program, one of `waiting`, when `mover` is about to make its `move`-th call: 1 is the
  // first. The rule is also asked when `mover` has ended, and is no longer in the list.
  using Rule = std::function<std::size_t(const std::vector<std::size_t>& waiting, std::size_t mover,
                                         std::uint64_t move)>;

  explicit Turns(Rule rule) : rule_(std::move(rule)) {}

  // The disk for the calls of `mover`.
  [[nodiscard]] std::shared_ptr<checkpoint::Disk> disk_of(std::size_t mover,
                                                          const std::shared_ptr<checkpoint::Disk>& disk);

  // The rule decides which program runs next; returns when it is `mover`. A program calls this function where
  // other programs may run, beside its calls of the disk.
  void move(std::size_t mover);

  // Number 0 begins. Returns when all have ended.
  void play(const std::vector<std::function<void()>>& programs);

 private:
  void choose_next(std::size_t mover, std::uint64_t move);
  void wait_for(std::size_t mover, std::unique_lock<std::mutex>& lock);

  const Rule rule_;
  std::mutex mutex_;
  std::vector<std::condition_variable> changed_;  // one for each program: a move wakes no other thread
  std::vector<std::size_t> waiting_;              // who has not ended; who moves is among them
  std::vector<std::uint64_t> moves_;
  std::size_t turn_ = 0;
};

}  // namespace ratoon::test
