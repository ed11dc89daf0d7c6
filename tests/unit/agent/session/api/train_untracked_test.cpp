// State that changes during training, and is in no checkpoint: a start is refused, and an object's report of
// its memory counts.
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::train_untracked_test {
namespace {

using testing::HasSubstr;

// A model whose state is bytes of its own making.
class Encoded final : public Stateful {
 public:
  std::string save_state() const override { return std::to_string(weight); }
  void load_state(std::string_view state) override { weight = std::stof(std::string(state)); }
  std::vector<StateWriter::Memory> saved_memory() const override {
    return {{.begin = &weight, .bytes = sizeof weight}};
  }
  float weight = 1;
};

struct Descent {
  float& weight;
  float* added = nullptr;
};

struct EmptyModule {
  std::uint8_t generator = 7;
};

}  // namespace
}  // namespace ratoon::train_untracked_test

template <>
struct ratoon::TrackAdapter<ratoon::train_untracked_test::Descent> {
  static void check(ratoon::train_untracked_test::Descent&, const std::string&) {}
  static void save(ratoon::train_untracked_test::Descent& descent, StateWriter& out) {
    out.changes("parameter 0", {.begin = &descent.weight, .bytes = sizeof descent.weight});
    if (descent.added != nullptr)
      out.changes("parameter 1", {.begin = descent.added, .bytes = sizeof *descent.added});
  }
  static void load(ratoon::train_untracked_test::Descent&, StateReader&) {}
};

template <>
struct ratoon::TrackAdapter<ratoon::train_untracked_test::EmptyModule> {
  static constexpr bool kIsWeights = true;
  static void check(ratoon::train_untracked_test::EmptyModule&, const std::string&) {}
  // A LibTorch module saves the generator from which its layers draw, and this is no weight.
  static void save(ratoon::train_untracked_test::EmptyModule& module, StateWriter& out) {
    out.tensor({.name = "generator:cpu",
                .type = ElementType::kUint8,
                .shape = {1},
                .bytes = std::as_bytes(std::span(&module.generator, 1))},
               nullptr);
  }
  static void load(ratoon::train_untracked_test::EmptyModule&, StateReader& in) {
    in.bytes("generator:cpu", [](const std::string&) {});
  }
};

namespace ratoon::train_untracked_test {
namespace {

TEST(TrainUntracked, AStatefulSaysWhichMemoryItsStateIsOf) {
  const test::TemporaryFolder folder;
  std::string said;
  for (const bool is_tracked : {true, false}) {
    testing::internal::CaptureStderr();
    Options options{.save_folder = folder.path().string(), .run_name = is_tracked ? "with" : "without"};
    const int code = ratoon::train(options, [&](Session& session) {
      Encoded net;
      Descent optimizer{net.weight};
      if (is_tracked) session.track("net", net);
      session.track("optimizer", optimizer);
      for ([[maybe_unused]] const auto step : session.steps(1)) net.weight -= 1;
    });
    said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, is_tracked ? 0 : 82) << said;
  }
  EXPECT_THAT(said, HasSubstr("tracked 'optimizer' changes parameter 0, which is not tracked"));
}

// As a module does that holds submodules which it has not registered.
TEST(TrainUntracked, AModuleWithoutTensorsIsReported) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStderr();
  const Options options{.save_folder = folder.path().string(), .run_name = "run"};
  const int code = ratoon::train(options, [](Session& session) {
    EmptyModule net;
    session.track("net", net);
    for ([[maybe_unused]] const auto step : session.steps(3)) {
    }
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0) << said;
  EXPECT_THAT(said, HasSubstr("'net' is tracked and has no tensors"));
}

// As add_param_group() does if a program unfreezes parameters with which it did not begin.
TEST(TrainUntracked, WhatAnOptimizerIsGivenLaterIsRefusedAtTheNextSave) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStderr();
  const Options options{
      .save_folder = folder.path().string(), .run_name = "run", .save_every = Every::steps(10)};
  const int code = ratoon::train(options, [](Session& session) {
    Encoded net;
    float frozen = 1;
    Descent optimizer{.weight = net.weight};
    session.track("net", net);
    session.track("optimizer", optimizer);
    for (const std::uint64_t step : session.steps(40))
      if (step == 14) optimizer.added = &frozen;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 82) << said;
  EXPECT_THAT(said, HasSubstr("tracked 'optimizer' changes parameter 1, which is not tracked"));
  EXPECT_TRUE(std::filesystem::exists(folder / "run/manifests/s0000000010.a0001.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run/manifests/s0000000020.a0001.json"));
}

TEST(TrainUntracked, AnObjectThatWasDestroyedIsRefusedBeforeItsMemoryIsRead) {
  for (const bool dies_in_loop : {false, true}) {
    const test::TemporaryFolder folder;
    const Options options{.save_folder = folder.path().string(), .run_name = "run"};
    testing::internal::CaptureStderr();
    EXPECT_EQ(ratoon::train(options,
                            [&](Session& session) {
                              auto dead = std::make_unique<Encoded>();
                              session.track("dead", *dead);
                              if (!dies_in_loop) dead.reset();
                              for ([[maybe_unused]] const auto step : session.steps(5)) dead.reset();
                            }),
              82);
    EXPECT_THAT(
        testing::internal::GetCapturedStderr(),
        HasSubstr("tracked 'dead': the object was destroyed before the loop over steps() ended: declare "
                  "it before the loop"));
  }
}

}  // namespace
}  // namespace ratoon::train_untracked_test
