// Meeting: the ranks of an attempt find each other. It runs on a thread of its own, since every call of it
// may block for as long as another rank is gone, and the training thread must hear of a changed world
// meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <ratoon/session.h>

namespace ratoon {

class Meeting {
 public:
  struct Plan {
    Rendezvous rendezvous;
    std::uint64_t attempt = 0;
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::string mark;  // what this rank starts from
    // Of one call of the group's store: waiting for a rank that has met the others and connects, too.
    std::chrono::milliseconds store_timeout = std::chrono::seconds(30);
    // Of the connections of ranks that have met; a collective has no limit.
    std::chrono::milliseconds connect_timeout = std::chrono::minutes(2);
  };

  explicit Meeting(Plan plan);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  [[nodiscard]] bool is_over() const { return is_over_; }
  // From now on it ends when it can, and has no result.
  void give_up() { *is_given_up_ = true; }

  // Once it is over.
  [[nodiscard]] const std::exception_ptr& error() const { return error_; }
  [[nodiscard]] const std::vector<std::string>& marks() const { return marks_; }  // of all ranks
  [[nodiscard]] c10::intrusive_ptr<c10d::Backend> take_group() { return std::move(group_); }

 private:
  void meet();

  const Plan plan_;
  std::vector<std::string> marks_;
  c10::intrusive_ptr<c10d::Backend> group_;
  std::exception_ptr error_;
  std::atomic<bool> is_over_ = false;
  // Shared with the group's store, which outlives the meeting.
  const std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
};

}  // namespace ratoon
