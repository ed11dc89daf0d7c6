#include "agent/src/session/engine/numerics_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"

namespace ratoon::session::numerics_watch_test {
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
  std::vector<std::uint64_t> seeds{};
  NumericsHook hook() {
    return {.pin = [this] { ++pins; },
            .set_threads = [this](std::uint32_t count) { now.threads = count; },
            .seed = [this](std::uint64_t seed) { seeds.push_back(seed); },
            .now = [this] { return now; }};
  }
};

constexpr std::uint64_t kSeed = 7;

// The message of a process with these numerics when it resumes.
std::string said(const std::optional<Numerics>& before, const Numerics& now,
                 std::optional<std::uint64_t> seed = kSeed) {
  FakeLibrary library{.now = now};
  return NumericsWatch(false, kSeed, library.hook())
      .resume(checkpoint::RunRecord{.numerics = before, .seed = seed});
}

checkpoint::RunRecord record(const Numerics& before) {
  return {.numerics = before};
}

TEST(NumericsWatch, NamesEachThatMayChangeBits) {
  Numerics now{
      .library = "L 2", .device = "cuda", .cpu_capability = "AVX512", .threads = 4, .is_deterministic = true};
  EXPECT_EQ(
      said(numerics(), now, 17),
      "bits may differ from those of an uninterrupted run: seed 17, now 7; library L 1, now L 2; device cpu, "
      "now cuda; CPU capability AVX2, now AVX512; threads 2, now 4; deterministic algorithms off, now on");
  EXPECT_EQ(said(numerics(), numerics()), "");
}

TEST(NumericsWatch, WhatIsNotKnownIsNoDifference) {
  EXPECT_EQ(said(Numerics{}, numerics()), "");
  EXPECT_EQ(said(numerics(), Numerics{}), "");
  EXPECT_EQ(said(std::nullopt, numerics(), std::nullopt), "") << "of a checkpoint that has neither";
}

TEST(NumericsWatch, SeedsWhatDrawsNumbers) {
  FakeLibrary library;
  const NumericsWatch watch(false, kSeed, library.hook());
  EXPECT_TRUE(library.seeds.empty()) << "not before an attempt begins";
  watch.begin_attempt(0);
  EXPECT_EQ(library.seeds, std::vector<std::uint64_t>{kSeed});
  auto draws_none = library.hook();
  draws_none.seed = nullptr;
  NumericsWatch(false, kSeed, draws_none).begin_attempt(0);
  NumericsWatch(false, kSeed, std::nullopt).begin_attempt(0);
}

TEST(NumericsWatch, PinsWhatComputesAndRefusesWhereNothingDoes) {
  FakeLibrary library;
  const NumericsWatch unpinned(false, kSeed, library.hook());
  EXPECT_EQ(library.pins, 0);
  const NumericsWatch pinned(true, kSeed, library.hook());
  EXPECT_EQ(library.pins, 1);
  try {
    const NumericsWatch none(true, kSeed, std::nullopt);
    FAIL() << "nothing was pinned, and nobody was told";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, static_cast<int>(ExitCode::kConfiguration));
    EXPECT_THAT(why.what(), HasSubstr("include <ratoon/torch.h>"));
  }
}

TEST(NumericsWatch, SaysOnceThatBitsMayDiffer) {
  FakeLibrary library;
  NumericsWatch watch(false, kSeed, library.hook());
  EXPECT_EQ(watch.resume(record(numerics())), "");
  EXPECT_EQ(watch.resume(std::nullopt), "") << "of a checkpoint that does not say";
  auto before = numerics();
  before.threads = 8;
  EXPECT_EQ(watch.resume(record(before)),
            "bits may differ from those of an uninterrupted run: threads 8, now 2");
  EXPECT_EQ(library.now.threads, 2u) << "they are the user's, unless they are pinned";
  EXPECT_EQ(watch.resume(record(before)), "") << "it was said";
}

TEST(NumericsWatch, PinnedItTakesOverTheThreadsOfTheRun) {
  FakeLibrary library;
  NumericsWatch watch(true, kSeed, library.hook());
  auto before = numerics();
  before.threads = 8;
  EXPECT_EQ(watch.resume(record(before)), "");
  EXPECT_EQ(watch.current_numerics()->threads, 8u);
  before.threads = 0;
  EXPECT_EQ(watch.resume(record(before)), "");
  EXPECT_EQ(watch.current_numerics()->threads, 8u) << "none are known";
}

TEST(NumericsWatch, PinnedItBeginsWithTheThreadsOfRank0) {
  FakeLibrary library;
  const NumericsWatch watch(true, kSeed, library.hook());
  EXPECT_EQ(watch.thread_count_to_set(), 2u);
  watch.begin_attempt(8);
  EXPECT_EQ(library.now.threads, 8u);
  watch.begin_attempt(0);
  EXPECT_EQ(library.now.threads, 8u) << "none are known";
  const NumericsWatch unpinned(false, kSeed, library.hook());
  EXPECT_EQ(unpinned.thread_count_to_set(), 0u);
  unpinned.begin_attempt(4);
  EXPECT_EQ(library.now.threads, 8u) << "they are the user's, unless they are pinned";
}

TEST(NumericsWatch, KnowsNothingWhereNothingComputes) {
  NumericsWatch watch(false, kSeed, std::nullopt);
  EXPECT_EQ(watch.current_numerics(), std::nullopt);
  EXPECT_EQ(watch.resume(record(numerics())), "");
  EXPECT_THAT(watch.resume(checkpoint::RunRecord{.seed = 8}), HasSubstr("seed 8, now 7"));
}

TEST(NumericsWatch, CutsWhatALibraryCallsItself) {
  FakeLibrary library;
  library.now.library = std::string(200, 'x');
  EXPECT_EQ(NumericsWatch(false, kSeed, library.hook()).current_numerics()->library, std::string(64, 'x'));
}

}  // namespace
}  // namespace ratoon::session::numerics_watch_test
