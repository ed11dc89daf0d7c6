// GroupConnector: connects the ranks of an attempt to a Gloo process group. GroupConnector connects on a
// thread of its own, because each call may block until another rank arrives, and the training thread must
// notice meanwhile that another attempt begins.
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

class GroupConnector {
 public:
  struct Plan {
    Rendezvous rendezvous;
    std::uint64_t attempt = 0;
    std::uint32_t rank = 0;
    std::uint32_t world_size = 0;
    std::string mark;  // a fingerprint of this rank's weights
    // The timeout of one call of the process group's store. A call of the store waits for a rank that has
    // begun to connect.
    std::chrono::milliseconds store_timeout = std::chrono::seconds(30);
    // The timeout for connecting to ranks that have published their address on the board. Collectives have no
    // timeout.
    std::chrono::milliseconds connect_timeout = std::chrono::minutes(2);
  };

  explicit GroupConnector(Plan plan);
  ~GroupConnector();
  GroupConnector(const GroupConnector&) = delete;
  GroupConnector& operator=(const GroupConnector&) = delete;

  [[nodiscard]] bool is_over() const { return is_over_; }
  // Ends the thread of the connector as soon as possible, without a result.
  void give_up() { *is_given_up_ = true; }

  // Returns the exception for which connecting failed, or null. Call error(), marks() and the functions after
  // them only after is_over() has returned true.
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
  // The store of the process group shares this object, because it may exist longer than the GroupConnector.
  const std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
};

}  // namespace ratoon
