#include "tests/support/crash/turns.h"

#include <thread>

namespace ratoon::test {

std::shared_ptr<checkpoint::Disk> Turns::disk_of(std::size_t mover,
                                                 const std::shared_ptr<checkpoint::Disk>& disk) {
  return std::make_shared<ObservedDisk>(disk, [this, mover](DiskCall, const std::string&, Moment moment) {
    if (moment != Moment::kAfter) move(mover);
  });
}

void Turns::choose_next(std::size_t mover, std::uint64_t move) {
  if (waiting_.empty()) return;
  turn_ = rule_(waiting_, mover, move);
  if (turn_ != mover) changed_[turn_].notify_one();
}

void Turns::wait_for(std::size_t mover, std::unique_lock<std::mutex>& lock) {
  changed_[mover].wait(lock, [&] { return turn_ == mover; });
}

void Turns::move(std::size_t mover) {
  std::unique_lock lock(mutex_);
  choose_next(mover, ++moves_[mover]);
  wait_for(mover, lock);
}

void Turns::play(const std::vector<std::function<void()>>& programs) {
  std::vector<std::thread> threads;
  moves_.assign(programs.size(), 0);
  changed_ = std::vector<std::condition_variable>(programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) waiting_.push_back(i);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    threads.emplace_back([this, i, &program = programs[i]] {
      {
        std::unique_lock lock(mutex_);
        wait_for(i, lock);
      }
      program();
      const std::lock_guard lock(mutex_);
      std::erase(waiting_, i);
      choose_next(i, moves_[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ratoon::test
