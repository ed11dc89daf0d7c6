// Tracked objects other than modules and optimizers come back with the same bits: schedules, the scale of a
// loss, single tensors, and parts of a tensor that ranks share.
#include <functional>
#include <memory>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#include <torch/optim/schedulers/step_lr.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <ratoon/failure.h>
#include <ratoon/torch/loss_scaler.h>
#include <ratoon/torch/track.h>

#include "tests/support/saved_objects.h"

namespace ratoon::track_state_test {
namespace {

namespace optim = ::torch::optim;
using testing::HasSubstr;

struct Trainer {
  at::Tensor weight = ::torch::ones({2}, ::torch::requires_grad());
  optim::SGD optimizer{{weight}, optim::SGDOptions(1.0)};

  double rate() { return optimizer.param_groups()[0].options().get_lr(); }
};

// The rates of a schedule for this number of steps.
using Rates = std::vector<double>;
Rates follow(Trainer& trainer, const std::function<void()>& step, int steps) {
  Rates rates;
  for (int i = 0; i < steps; ++i) {
    trainer.optimizer.step();
    step();
    rates.push_back(trainer.rate());
  }
  return rates;
}

// The state is saved after each number of steps, and a fresh object goes on as the unbroken one did.
template <class Schedule>
void goes_on(const std::function<std::unique_ptr<Schedule>(optim::Optimizer&)>& make,
             const std::function<void(Schedule&, int)>& step) {
  constexpr int kSteps = 24;
  Trainer whole;
  const auto unbroken = make(whole.optimizer);
  int at = 0;
  const Rates expected = follow(whole, [&] { step(*unbroken, at++); }, kSteps);
  for (int saved_at = 0; saved_at < kSteps; ++saved_at) {
    test::SavedObjects saved;
    Trainer first, second;
    const auto before = make(first.optimizer);
    const auto after = make(second.optimizer);
    at = 0;
    follow(first, [&] { step(*before, at++); }, saved_at);
    session::TrackedObjects from, to;
    for (const auto& [objects, trainer, schedule] :
         {std::tuple(&from, &first, before.get()), std::tuple(&to, &second, after.get())}) {
      test::track(*objects, "optimizer", trainer->optimizer);
      test::track(*objects, "schedule", *schedule);
    }
    saved.load(saved.save(from), to);
    EXPECT_EQ(follow(
                  second, [&] { step(*after, at++); }, kSteps - saved_at),
              Rates(expected.begin() + saved_at, expected.end()))
        << "saved after step " << saved_at;
  }
}

TEST(TrackSchedule, StepsGoOnWhereTheyWere) {
  goes_on<optim::StepLR>([](optim::Optimizer& of) { return std::make_unique<optim::StepLR>(of, 5, 0.3); },
                         [](optim::StepLR& schedule, int) { schedule.step(); });
}

// A schedule of the program's own, whose rate follows from the count of steps.
class Inverse : public optim::LRScheduler {
 public:
  using LRScheduler::LRScheduler;

 private:
  std::vector<double> get_lrs() override { return {1.0 / (1 + step_count_)}; }
};

TEST(TrackSchedule, OneOfTheProgramsOwnGoesOn) {
  goes_on<Inverse>([](optim::Optimizer& of) { return std::make_unique<Inverse>(of); },
                   [](Inverse& schedule, int) { schedule.step(); });
}

TEST(TrackSchedule, APlateauRemembersTheBestAndHowLongAgoItWas) {
  using Plateau = optim::ReduceLROnPlateauScheduler;
  const std::vector<float> losses = {9, 5, 6, 5, 7, 3, 4, 4, 4, 4, 4, 2, 3, 3, 3, 3, 3, 3, 1, 2, 2, 2, 2, 2};
  goes_on<Plateau>(
      [](optim::Optimizer& of) {
        return std::make_unique<Plateau>(of, Plateau::min, 0.5F, 2, 1e-4, Plateau::rel, 3);
      },
      [&](Plateau& schedule, int at) { schedule.step(losses[static_cast<std::size_t>(at)]); });
}

// A gradient of infinity in every seventh step, and a scale that grows after each three good steps.
double scaled_step(Trainer& trainer, torch::LossScaler& scaler, int step) {
  trainer.optimizer.zero_grad();
  scaler.scale((trainer.weight * (step % 7 == 6 ? INFINITY : 0.25)).sum()).backward();
  const auto before = trainer.weight[0].item<float>();
  const bool is_taken = scaler.step(trainer.optimizer);
  scaler.update();
  EXPECT_EQ(is_taken, step % 7 != 6);
  EXPECT_EQ(before - trainer.weight[0].item<float>(), is_taken ? 0.25F : 0.0F) << "as without a scale";
  return scaler.current();
}

TEST(LossScaler, LeavesOutWhatIsNotFiniteAndGoesOnAfterAResume) {
  const auto make = [] { return torch::LossScaler({.first = 1024, .growth_interval = 3}); };
  Trainer whole;
  auto unbroken = make();
  std::vector<double> expected;
  for (int step = 0; step < 20; ++step) expected.push_back(scaled_step(whole, unbroken, step));
  EXPECT_EQ(expected[1], 1024);
  EXPECT_EQ(expected[2], 2048);
  EXPECT_EQ(expected[5], 4096);
  EXPECT_EQ(expected[6], 2048) << "not finite";
  for (int saved_at = 0; saved_at < 20; ++saved_at) {
    test::SavedObjects saved;
    Trainer trainer;
    auto before = make();
    auto after = make();
    for (int step = 0; step < saved_at; ++step) scaled_step(trainer, before, step);
    saved.load(saved.save("scaler", before), "scaler", after);
    for (int step = saved_at; step < 20; ++step)
      EXPECT_EQ(scaled_step(trainer, after, step), expected[static_cast<std::size_t>(step)]);
  }
}

TEST(LossScaler, UnscalesOnceAndTheScaleStaysANumber) {
  Trainer trainer;
  torch::LossScaler scaler({.first = 0x1p127, .growth_interval = 1});
  scaler.scale((trainer.weight * 0x1p-10).sum()).backward();
  scaler.unscale(trainer.optimizer);
  EXPECT_EQ(trainer.weight.grad()[0].item<float>(), 0x1p-10F);
  EXPECT_TRUE(scaler.step(trainer.optimizer));
  EXPECT_EQ(trainer.weight.grad()[0].item<float>(), 0x1p-10F);
  scaler.update();
  EXPECT_EQ(scaler.current(), 0x1p127) << "twice that is infinity";
}

TEST(TrackTensor, ComesBackInPlace) {
  test::SavedObjects saved;
  at::Tensor tensor = at::arange(6, at::kFloat).view({2, 3});
  const auto point = saved.save("means", tensor);
  at::Tensor other = at::zeros({2, 3});
  const at::Tensor same = other;
  saved.load(point, "means", other);
  EXPECT_TRUE(same.equal(tensor));
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

TEST(TrackTensor, WhatIsNoneAndPartsBesideTheirWholeAreRefusedAtOnce) {
  at::Tensor none;
  EXPECT_THAT(refusal([&] { TrackAdapter<at::Tensor>::check(none, "means"); }),
              HasSubstr("tracked 'means' is an undefined tensor"));
  TensorPart part{.part = at::zeros({2, 3}), .box = {.begin = {3, 0}, .whole_shape = {4, 3}}};
  EXPECT_THAT(refusal([&] { TrackAdapter<TensorPart>::check(part, "table"); }),
              HasSubstr("tracked 'table' is a part that does not lie in the whole"));
  part.box.begin = {2, 0};
  TrackAdapter<TensorPart>::check(part, "table");
  part.box.begin = {2};
  EXPECT_THAT(refusal([&] { TrackAdapter<TensorPart>::check(part, "table"); }),
              HasSubstr("lie in the whole"));
}

// Two ranks save halves; worlds of one and of three ranks read their parts.
TEST(TrackTensor, PartsAreReadByAnyNumberOfRanks) {
  const test::TemporaryFolder folder;
  auto store = checkpoint::RunStore::open(folder / "run").value();
  const at::Tensor whole = at::arange(24, at::kFloat).view({6, 4});
  const auto rows = [&](std::int64_t begin, std::int64_t count) {
    return TensorPart{.part = whole.narrow(0, begin, count).clone(),
                      .box = {.begin = {static_cast<std::uint64_t>(begin), 0}, .whole_shape = {6, 4}}};
  };
  const checkpoint::CheckpointId id{.attempt = Attempt(1), .step = Step(1)};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto part = rows(3 * rank, 3);
    session::TrackedObjects objects;
    test::track(objects, "table", part);
    ASSERT_TRUE(store.write_pack(id, Rank(rank), objects.collect().tensors).has_value());
  }
  const InventoryEntry entry = store.try_commit(id, 2).value().value();
  const ResumePoint point{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  for (const std::uint32_t world : {1U, 3U}) {
    const std::int64_t count = 6 / world;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      auto part = rows(rank * count, count);
      const at::Tensor expected = part.part.clone();
      part.part.zero_();
      session::TrackedObjects objects;
      test::track(objects, "table", part);
      auto reader = store.read(point, Rank(rank)).value();
      ASSERT_TRUE(
          objects
              .restore(reader, "the checkpoint",
                       [rank](std::string_view name) { return test::SavedObjects::seed_of(rank, name); })
              .has_value());
      EXPECT_TRUE(part.part.equal(expected)) << rank << " of " << world;
    }
  }
}

}  // namespace
}  // namespace ratoon::track_state_test
