// GroupConnector connects the ranks of an attempt. GroupConnector runs on its own thread, because each of
// its calls may block while another rank is missing, and the training thread must still notice a changed
// world.
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
    // reached the board and is still connecting.
    std::chrono::milliseconds store_timeout = std::chrono::seconds(30);
    // The timeout for connecting to ranks that have reached the board; collectives have no timeout.
    std::chrono::milliseconds connect_timeout = std::chrono::minutes(2);
  };

  explicit GroupConnector(Plan plan);
  ~GroupConnector();
  GroupConnector(const GroupConnector&) = delete;
  GroupConnector& operator=(const GroupConnector&) = delete;

  [[nodiscard]] bool is_over() const { return is_over_; }
  // Makes the connector's thread end as soon as possible, without a result.
  void give_up() { *is_given_up_ = true; }

  // Returns why connecting failed, or null. The result is valid when is_over() is true.
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
  // Shared with the store of the process group, which may exist longer than this object.
  const std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
};

}  // namespace ratoon
