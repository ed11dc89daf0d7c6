// Reduction: the all-reduces of one step, begun one by one and waited for together.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ratoon {

class Reduction {
 public:
  explicit Reduction(c10::intrusive_ptr<c10d::Backend> group);

  // In the same order on all ranks. Where it cannot be begun, that is its error().
  void begin(const at::Tensor& piece);
  // Until all are over, or one has failed. Meanwhile calls `look` each millisecond, which may throw.
  void wait(const std::function<void()>& look);
  // Of the first that failed; none: nothing has, so far.
  [[nodiscard]] std::exception_ptr error() const;
  // Nothing writes into the pieces any more.
  [[nodiscard]] bool is_over() const;

 private:
  struct Count;
  c10::intrusive_ptr<c10d::Backend> group_;
  std::vector<at::Tensor> pieces_;  // which the group may write to for as long as its works run
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
  // Shared with the threads of the group, which may end a work when this is gone.
  std::shared_ptr<Count> count_;
};

}  // namespace ratoon
