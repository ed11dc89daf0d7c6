#include "agent/src/session/numerics_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

using testing::HasSubstr;

Numerics numerics() {
  return {
      .library = "L 1", .device = "cpu", .cpu_capability = "AVX2", .threads = 2, .is_deterministic = false};
}

// A library that computes.
struct FakeLibrary {
  Numerics now = numerics();
  int pins = 0;
  NumericsHook hook() {
    return {.pin = [this] { ++pins; },
            .set_threads = [this](std::uint32_t count) { now.threads = count; },
            .now = [this] { return now; }};
  }
};

TEST(NumericsDifferences, NameEachThatMayChangeBits) {
  Numerics now{
      .library = "L 2", .device = "cuda", .cpu_capability = "AVX512", .threads = 4, .is_deterministic = true};
  EXPECT_EQ(differences(numerics(), now),
            "library L 1, now L 2; device cpu, now cuda; CPU capability AVX2, now AVX512; threads 2, now 4; "
            "deterministic algorithms off, now on");
  EXPECT_EQ(differences(numerics(), numerics()), "");
}

TEST(NumericsDifferences, WhatIsNotKnownIsNone) {
  EXPECT_EQ(differences(Numerics{}, numerics()), "");
  EXPECT_EQ(differences(numerics(), Numerics{}), "");
}

TEST(NumericsWatch, PinsWhatComputesAndRefusesWhereNothingDoes) {
  FakeLibrary library;
  const NumericsWatch unpinned(false, library.hook());
  EXPECT_EQ(library.pins, 0);
  const NumericsWatch pinned(true, library.hook());
  EXPECT_EQ(library.pins, 1);
  try {
    const NumericsWatch none(true, std::nullopt);
    FAIL() << "nothing was pinned, and nobody was told";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kConfiguration));
    EXPECT_THAT(why.what(), HasSubstr("include <ratoon/torch.h>"));
  }
}

TEST(NumericsWatch, SaysOnceThatBitsMayDiffer) {
  FakeLibrary library;
  NumericsWatch watch(false, library.hook());
  EXPECT_EQ(watch.resume(numerics()), "");
  EXPECT_EQ(watch.resume(std::nullopt), "") << "of a checkpoint that does not say";
  auto before = numerics();
  before.threads = 8;
  EXPECT_EQ(watch.resume(before), "bits may differ from those of an unbroken run: threads 8, now 2");
  EXPECT_EQ(library.now.threads, 2u) << "they are the user's, unless they are pinned";
  EXPECT_EQ(watch.resume(before), "") << "it was said";
}

TEST(NumericsWatch, PinnedItTakesOverTheThreadsOfTheRun) {
  FakeLibrary library;
  NumericsWatch watch(true, library.hook());
  auto before = numerics();
  before.threads = 8;
  EXPECT_EQ(watch.resume(before), "");
  EXPECT_EQ(watch.now()->threads, 8u);
  before.threads = 0;
  EXPECT_EQ(watch.resume(before), "");
  EXPECT_EQ(watch.now()->threads, 8u) << "none are known";
}

TEST(NumericsWatch, KnowsNothingWhereNothingComputes) {
  NumericsWatch watch(false, std::nullopt);
  EXPECT_EQ(watch.now(), std::nullopt);
  EXPECT_EQ(watch.resume(numerics()), "");
}

TEST(NumericsWatch, CutsWhatALibraryCallsItself) {
  FakeLibrary library;
  library.now.library = std::string(200, 'x');
  EXPECT_EQ(NumericsWatch(false, library.hook()).now()->library, std::string(64, 'x'));
}

}  // namespace
}  // namespace ratoon::session
