#include "agent/src/torch/collectives/group_collective.h"

#include <future>
#include <stdexcept>
#include <thread>

#include <ATen/core/ivalue.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace ratoon::group_collective_test {
namespace {

using AbortKind = GroupCollective::AbortKind;

class FakeWork final : public c10d::Work {
 public:
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  void end(const std::exception_ptr& error) {
    finish(error);
    if (error)
      future_->setError(error);
    else
      future_->markCompleted();
  }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_ =
      c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
};

// A group of the program whose abort takes as long as the test wants.
class SlowGroup final : public c10d::Backend {
 public:
  SlowGroup() : Backend(0, 1) {}

  const std::string getBackendName() const override { return "slow"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& /*tensors*/,
                                           const c10d::AllreduceOptions& /*options*/) override {
    return work;
  }
  void abort() override { may_end_abort.get_future().wait(); }

  c10::intrusive_ptr<FakeWork> work = c10::make_intrusive<FakeWork>();
  std::promise<void> may_end_abort;
};

void abort_group(c10d::Backend& group) {
  group.abort();
}

TEST(GroupCollective, AnAbortThatTakesLongDoesNotBlockItsCaller) {
  const auto group = c10::make_intrusive<SlowGroup>();
  GroupCollective collective(group, abort_group, AbortKind::kLong);
  collective.begin_sum(at::zeros({2}));
  collective.abort();
  EXPECT_FALSE(collective.has_stopped());
  group->work->end(nullptr);
  EXPECT_TRUE(collective.has_stopped());
  EXPECT_FALSE(collective.is_over());
  group->may_end_abort.set_value();
  while (!collective.is_over()) std::this_thread::yield();
}

// The kernel of a sum with an error may still write until the abort has ended.
TEST(GroupCollective, ASumWithAnErrorHasStoppedWhenTheAbortHasEnded) {
  const auto group = c10::make_intrusive<SlowGroup>();
  GroupCollective collective(group, abort_group, AbortKind::kLong);
  collective.begin_sum(at::zeros({2}));
  group->work->end(std::make_exception_ptr(std::runtime_error("a rank is lost")));
  ASSERT_NE(collective.error(), nullptr);
  EXPECT_FALSE(collective.has_stopped());
  collective.abort();
  EXPECT_FALSE(collective.has_stopped());
  group->may_end_abort.set_value();
  while (!collective.has_stopped()) std::this_thread::yield();
  while (!collective.is_over()) std::this_thread::yield();
}

TEST(GroupCollective, AShortAbortEndsBeforeItsCallReturns) {
  const auto group = c10::make_intrusive<SlowGroup>();
  GroupCollective collective(group, [](c10d::Backend&) {}, AbortKind::kShort);
  collective.begin_sum(at::zeros({2}));
  group->work->end(std::make_exception_ptr(std::runtime_error("a rank is lost")));
  collective.abort();
  EXPECT_TRUE(collective.is_over());
}

TEST(GroupCollective, AnAbortThatFailsIsNoEndOfASumWithAnError) {
  const auto group = c10::make_intrusive<SlowGroup>();
  GroupCollective collective(
      group, [](c10d::Backend&) { throw std::runtime_error("no abort here"); }, AbortKind::kShort);
  collective.begin_sum(at::zeros({2}));
  group->work->end(std::make_exception_ptr(std::runtime_error("a rank is lost")));
  collective.abort();
  EXPECT_FALSE(collective.has_stopped());
}

}  // namespace
}  // namespace ratoon::group_collective_test
