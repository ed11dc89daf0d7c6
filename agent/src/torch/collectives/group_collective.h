// GroupCollective: sums tensors with a process group of LibTorch, either Ratoon's Gloo group or a group that
// the program created.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "agent/src/torch/collectives/collective.h"

namespace ratoon {

class GroupCollective final : public Collective {
 public:
  // AbortFunction: a function that ends the running collectives of a process group.
  using AbortFunction = std::function<void(c10d::Backend&)>;

  // AbortKind says how long an abort function takes. A function of kind kLong, which may wait as long as the
  // timeout of the group, runs on a thread of its own.
  enum class AbortKind { kShort, kLong };

  GroupCollective(c10::intrusive_ptr<c10d::Backend> group, AbortFunction end, AbortKind kind)
      : group_(std::move(group)), abort_function_(std::move(end)), abort_kind_(kind) {}
  // Waits until the abort function has returned.
  ~GroupCollective() override;

  [[nodiscard]] c10d::Backend& group() { return *group_; }

  void begin_sum(const at::Tensor& piece) override;
  void queue_wait() override;
  void wait(const std::function<void()>& look) override;
  [[nodiscard]] std::exception_ptr error() override;
  void abort() override;
  [[nodiscard]] bool has_stopped() override;
  [[nodiscard]] bool is_over() override;

 private:
  struct RunningSums;
  struct Sum {
    at::Tensor piece;  // the group may write to it while its work runs
    c10::intrusive_ptr<c10d::Work> work;
  };
  [[nodiscard]] bool are_sums_complete() const;
  void run_abort();

  c10::intrusive_ptr<c10d::Backend> group_;
  AbortFunction abort_function_;
  AbortKind abort_kind_;
  std::vector<Sum> sums_;
  // The threads of the process group share running_sums_, because a thread may complete a sum after the
  // destructor of this object.
  std::shared_ptr<RunningSums> running_sums_ = make_running_sums();
  static std::shared_ptr<RunningSums> make_running_sums();
  std::thread abort_thread_;
  std::atomic<bool> has_aborted_ = false;
};

}  // namespace ratoon
