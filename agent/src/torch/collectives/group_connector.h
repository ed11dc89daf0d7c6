// GroupConnector: connects the ranks of an attempt to a Gloo process group. GroupConnector connects on its
// own thread, because each call may block until another rank arrives. Meanwhile the training thread can
// notice that another attempt begins.
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
    std::string fingerprint;  // a fingerprint of this rank's weights
    // The timeout of one call of the process group's store. Such a call waits until another rank has stored
    // its address.
    std::chrono::milliseconds store_timeout = std::chrono::seconds(30);
    // The timeout for connecting to ranks that have published their address on the board. Collectives have no
    // timeout.
    std::chrono::milliseconds connect_timeout = std::chrono::minutes(2);
  };

  explicit GroupConnector(Plan plan);
  ~GroupConnector();
  GroupConnector(const GroupConnector&) = delete;
  GroupConnector& operator=(const GroupConnector&) = delete;

  [[nodiscard]] bool is_over() const { return is_done_; }
  // Ends the thread of the connector as soon as possible, without a result.
  void give_up() { *is_given_up_ = true; }

  // Returns the exception with which the connecting failed, or null if it succeeded. Call error(),
  // fingerprints() and take_group() only after is_over() has returned true.
  [[nodiscard]] const std::exception_ptr& error() const { return error_; }
  [[nodiscard]] const std::vector<std::string>& fingerprints() const {
    return fingerprints_;
  }  // of all ranks
  [[nodiscard]] c10::intrusive_ptr<c10d::Backend> take_group() { return std::move(group_); }

 private:
  void connect_ranks();

  const Plan plan_;
  std::vector<std::string> fingerprints_;
  c10::intrusive_ptr<c10d::Backend> group_;
  std::exception_ptr error_;
  std::atomic<bool> is_done_ = false;
  // The store of the process group shares is_given_up_, because the store may outlive the GroupConnector.
  const std::shared_ptr<std::atomic<bool>> is_given_up_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
};

}  // namespace ratoon
