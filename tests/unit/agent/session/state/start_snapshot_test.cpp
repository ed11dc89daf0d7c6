// Objects that outlive the training function are set back if nothing was saved yet.
#include "agent/src/session/state/start_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>

#include "agent/src/session/options/staging_options.h"

namespace ratoon::session::start_snapshot_test {
namespace {

using testing::HasSubstr;

// Its second tensor comes with the first step, as the state of an optimizer does.
struct Moments {
  std::vector<float> weights{1, 2, 3};
  std::vector<float> moments{};

  void step() {
    for (float& weight : weights) weight += 1;
    moments.assign(weights.size(), 0.5F);
  }
  void add_to(TrackedObjects& objects) {
    objects.add(
        "net",
        [this](StateWriter& out) {
          out.tensor({.name = "weights",
                      .type = ElementType::kFloat32,
                      .shape = {weights.size()},
                      .bytes = std::as_bytes(std::span(weights))});
          if (!moments.empty()) out.bytes("moments", "some");
          out.bytes("generator:cpu", std::to_string(drawn++));
        },
        [this](StateReader& in) {
          in.tensor({.name = "weights", .type = ElementType::kFloat32, .shape = {weights.size()}},
                    std::as_writable_bytes(std::span(weights)));
          if (in.find("moments"))
            in.bytes("moments", [this](const std::string&) { moments = {0.5F}; });
          else
            in.at_end([this] { moments.clear(); });
          in.bytes("generator:cpu", [](const std::string&) {});
        });
  }
  int drawn = 0;  // numbers of a generator, which no two attempts have to draw alike
};

Assignment seat(std::uint32_t rank, std::uint32_t world_size) {
  return {.rank = Rank(rank), .world_size = world_size, .rendezvous = "", .resume = {}};
}

TEST(StartSnapshot, SetsBackWhatWasTrainedMeanwhile) {
  Moments net;
  TrackedObjects objects;
  net.add_to(objects);
  StartSnapshot first;
  first.begin(objects, seat(0, 2));
  for (int attempt = 0; attempt < 2; ++attempt) {
    net.step();
    first.begin(objects, seat(0, 2));
    EXPECT_EQ(net.weights, (std::vector<float>{1, 2, 3}));
    EXPECT_TRUE(net.moments.empty()) << "it had none";
  }
}

TEST(StartSnapshot, LeavesWhatTheFunctionMadeAnew) {
  StartSnapshot first;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Moments net;
    TrackedObjects objects;
    net.add_to(objects);
    first.begin(objects, seat(rank, 3));  // of any rank: it is as it was
    EXPECT_EQ(net.weights, (std::vector<float>{1, 2, 3}));
    net.step();
  }
}

// As track() does with an engine of the standard library: another rank draws other numbers.
TEST(StartSnapshot, AGeneratorThatIsSeededByItsRankIsAsItIsToBe) {
  StartSnapshot first;
  for (const std::uint32_t rank : {0, 1}) {
    Moments net;
    TrackedObjects objects;
    net.add_to(objects);
    objects.add(
        "noise", [rank](StateWriter& out) { out.bytes("", "seeded for " + std::to_string(rank)); },
        [](StateReader& in) { in.bytes("", [](const std::string&) {}); }, ObjectKind::kSeeded);
    first.begin(objects, seat(rank, 3 - rank));
    EXPECT_EQ(net.weights, (std::vector<float>{1, 2, 3}));
  }
}

TEST(StartSnapshot, AsksForAFreshStartWhereItCannot) {
  Moments net;
  TrackedObjects objects;
  net.add_to(objects);
  StartSnapshot first;
  first.begin(objects, seat(1, 2));
  net.step();
  for (const auto& other : {seat(0, 2), seat(1, 3)}) {
    try {
      first.begin(objects, other);
      FAIL() << "the state of another rank was taken";
    } catch (const Failure& why) {
      EXPECT_EQ(why.exit_code, 81);
      EXPECT_THAT(why.what(),
                  HasSubstr("no checkpoint is saved yet, and tensor 'net.weights' has changed since"));
      EXPECT_THAT(why.what(), HasSubstr("or depends on the rank, which has changed"));
    }
  }
}

// As with the state of an optimizer that the function makes anew or gives another parameter.
TEST(StartSnapshot, SetsBackWhatIsGoneAndWhatCame) {
  for (const bool had_moments : {false, true}) {
    Moments net;
    if (had_moments) net.moments = {0.5F};
    TrackedObjects objects;
    net.add_to(objects);
    StartSnapshot first;
    first.begin(objects, seat(0, 1));
    net.moments = had_moments ? std::vector<float>() : std::vector<float>{0.5F};
    first.begin(objects, seat(0, 1));
    EXPECT_EQ(net.moments.empty(), !had_moments);
  }
}

// Digests are kept of any state: objects that the function makes anew cost no process a restart.
TEST(StartSnapshot, WithoutItsBytesItStillKnowsWhetherItIsAsItWas) {
  StartSnapshot small(10);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Moments anew;
    TrackedObjects objects;
    anew.add_to(objects);
    small.begin(objects, seat(rank, 3));
    EXPECT_EQ(anew.weights, (std::vector<float>{1, 2, 3}));
  }
  Moments outlives;
  TrackedObjects objects;
  outlives.add_to(objects);
  outlives.step();
  try {
    small.begin(objects, seat(2, 3));
    FAIL() << "what is trained already was taken";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 81);
    EXPECT_THAT(why.what(), HasSubstr("no checkpoint is saved yet, and tensor 'net."));
    EXPECT_THAT(why.what(), HasSubstr("not kept for a reset if it has more than 10 bytes"));
  }
}

TEST(StartSnapshot, ItsBytesAndTheSlotsShareWhatSlotsMayHave) {
  constexpr std::uint64_t kMib = 1ULL << 20;
  EXPECT_EQ(first_state_bytes_max({.staging_slots = 2, .staging_memory_mib = 300}), 100 * kMib);
  EXPECT_EQ(first_state_bytes_max({.staging_slots = 0, .staging_memory_mib = 300}), 300 * kMib);
  EXPECT_EQ(first_state_bytes_max({.staging_slots = 2, .staging_memory_mib = 30000}), 1024 * kMib);
}

TEST(StartSnapshot, IsForgottenOnceThereIsACheckpoint) {
  Moments net;
  TrackedObjects objects;
  net.add_to(objects);
  StartSnapshot first;
  first.begin(objects, seat(0, 1));
  net.step();
  first.forget();
  first.begin(objects, seat(0, 1));
  EXPECT_EQ(net.weights, (std::vector<float>{2, 3, 4})) << "the first of another run";
}

}  // namespace
}  // namespace ratoon::session::start_snapshot_test
