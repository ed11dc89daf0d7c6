// GroupCollective: sums tensors with a process group of LibTorch, either Ratoon's Gloo group or a group that
// the program created.
#pragma once

#include <memory>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "agent/src/torch/collectives/collective.h"

namespace ratoon {

class GroupCollective final : public Collective {
 public:
  // End: a function that ends the running collectives of a process group.
  using End = std::function<void(c10d::Backend&)>;

  GroupCollective(c10::intrusive_ptr<c10d::Backend> group, End end)
      : group_(std::move(group)), end_(std::move(end)) {}

  [[nodiscard]] c10d::Backend& group() { return *group_; }

  void begin_sum(const at::Tensor& piece) override;
  void queue_wait() override;
  void wait(const std::function<void()>& look) override;
  [[nodiscard]] std::exception_ptr error() override;
  void abort() override { end_(*group_); }
  [[nodiscard]] bool has_stopped() override;

 private:
  struct Count;
  struct Sum {
    at::Tensor piece;  // the group may write to it while its work runs
    c10::intrusive_ptr<c10d::Work> work;
  };
  [[nodiscard]] bool are_complete() const;

  c10::intrusive_ptr<c10d::Backend> group_;
  End end_;
  std::vector<Sum> sums_;
  // The threads of the process group share this counter, because they may complete a sum after this object
  // was destroyed.
  std::shared_ptr<Count> count_ = make_count();
  static std::shared_ptr<Count> make_count();
};

}  // namespace ratoon
