// Random numbers of a run that begins with another one in a larger world: ranks that have a state go on with
// it, and new ranks are seeded as if the other run itself had grown.
#include <optional>

#include <gtest/gtest.h>

#include <ratoon/random_engine.h>
#include <ratoon/train.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/session/engine/engine.h"
#include "agent/src/session/state/seed_of.h"
#include "base/core/random_name.h"
#include "tests/support/borrowed.h"
#include "tests/support/quiet_link.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::load_seed_test {
namespace {

constexpr std::uint64_t kSeed = 17;
constexpr std::uint32_t kRanks = 3;

class LoadSeed : public testing::Test {
 protected:
  // One rank of 20 steps, each of which draws a number.
  void train_other() {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = "other",
                          .save_every = Every::steps(10),
                          .seed = kSeed,
                          .member = {}};
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      std::mt19937_64 noise;
      session.track("noise", noise);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(20)) noise();
      goes_on_with_ = noise();
    });
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, 0) << said;
    const auto inventory = checkpoint::RunStore::open(folder_.path() / "other").value().inventory().value();
    other_ = inventory.complete.front();
  }

  // The first number that a rank of three draws, in a run that resumes, or begins with those parts of the
  // other one.
  std::uint64_t first_of(std::uint32_t rank, const std::string& parts) {
    const bool is_resumed = parts.empty();
    const auto run = folder_.path() / (is_resumed ? "other" : "run-" + parts + std::to_string(rank));
    std::filesystem::create_directory(run);
    const Options options{
        .save_folder = run.string(),
        .run_name = "",
        .save_every = Every::steps(10),
        .load_from =
            is_resumed
                ? ""
                : (folder_.path() / "other" / checkpoint::manifest_path(checkpoint::id_of(other_))).string(),
        .load_parts = is_resumed ? "weights" : parts,
        .seed = kSeed,
        .member = {}};
    test::QuietLink link;
    const ManualClock clock;
    metrics::Meters meters;
    session::CheckpointLocations places{options, test::borrowed(meters)};
    checkpoint::Saver saver =
        checkpoint::Saver::open(places.home(), random_hex_name(), std::make_shared<SystemClock>(),
                                {.pause = {}, .has_writer_thread = false})
            .value();
    Assignment assignment{.attempt = Attempt(2), .rank = Rank(rank), .world_size = kRanks};
    if (is_resumed)
      assignment.resume =
          ResumePoint{.attempt = other_.attempt, .step = other_.step, .digest = other_.digest};
    Session session(std::make_unique<Session::Engine>(Session::Engine::Dependencies{.options = options,
                                                                                    .places = places,
                                                                                    .saver = saver,
                                                                                    .link = link,
                                                                                    .clock = clock,
                                                                                    .meters = meters},
                                                      assignment));
    std::mt19937_64 noise;
    session.track("noise", noise);
    testing::internal::CaptureStderr();
    static_cast<void>(session.steps(40));
    testing::internal::GetCapturedStderr();
    return noise();
  }

  // The first number of a rank that begins without a state.
  static std::uint64_t fresh(std::uint32_t rank, Step begins) {
    std::mt19937_64 noise;
    TrackAdapter<std::mt19937_64>::seed(noise, session::seed_of(kSeed, begins, Rank(rank), "noise"));
    return noise();
  }

  const test::TemporaryFolder folder_;
  InventoryEntry other_;
  std::uint64_t goes_on_with_ = 0;
};

TEST_F(LoadSeed, AllOfItIsGoneOnWithAsIfThatRunHadGrown) {
  train_other();
  EXPECT_EQ(first_of(0, "all"), goes_on_with_);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(first_of(rank, "all"), first_of(rank, "")) << "rank " << rank;
  for (const std::uint32_t rank : {1U, 2U}) {
    EXPECT_EQ(first_of(rank, "all"), fresh(rank, Step(20)));
    EXPECT_NE(first_of(rank, "all"), fresh(rank, Step(0))) << "another rank of that number drew these before";
  }
}

TEST_F(LoadSeed, ItsStateIsABeginning) {
  train_other();
  EXPECT_EQ(first_of(0, "state"), goes_on_with_);
  for (const std::uint32_t rank : {1U, 2U}) EXPECT_EQ(first_of(rank, "state"), fresh(rank, Step(0)));
}

}  // namespace
}  // namespace ratoon::load_seed_test
