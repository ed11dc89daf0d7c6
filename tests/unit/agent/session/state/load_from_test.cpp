// The state that a run takes from another run at its beginning: --load-from, and --load-parts of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon {

struct Net {
  std::uint64_t trained = 0;
};

template <>
struct TrackAdapter<Net> {
  static constexpr bool kIsWeights = true;
  static void check(Net&, const std::string&) {}
  static void save(Net& net, StateWriter& out) { out.number("trained", net.trained); }
  static void load(Net& net, StateReader& in) { in.number("trained", net.trained); }
};

namespace load_from_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBatch = 4;

// How often each was changed, and the position of the run.
struct Stand {
  std::uint64_t step = 0;
  std::uint64_t net = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t cursor = 0;
  std::string digest;
  friend bool operator==(const Stand&, const Stand&) = default;
};

class LoadFromTest : public testing::Test {
 protected:
  // A run of its own name; returns its final state.
  Stand train(const std::string& name, std::uint64_t steps, const std::string& from = "",
              const std::string& parts = "weights", int expected = 0) {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = name,
                          .save_every = Every::steps(10),
                          .load_from = from.empty() ? "" : (folder_ / from).string(),
                          .load_parts = parts,
                          .member = {}};
    Stand end;
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options, [&](Session& session) {
      Net net;
      std::uint64_t optimizer = 0;
      Stream stream({.samples = 50, .global_batch = kBatch, .seed = 3});
      session.track("net", net);
      session.track("optimizer", optimizer);
      session.track("stream", stream);
      session.follow(stream);
      const auto range = session.steps(steps);
      began_ = {session.steps_done(), net.trained, optimizer, stream.cursor(), {}};
      for (auto step = range.begin(); step != range.end(); ++step) {
        static_cast<void>(stream.take(0, 1));
        ++net.trained;
        ++optimizer;
      }
      end = {session.steps_done(), net.trained, optimizer, stream.cursor(), std::to_string(stream.digest())};
    });
    said_ = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, expected) << said_;
    return end;
  }

  test::TemporaryFolder folder_;
  Stand began_;
  std::string said_;
};

TEST_F(LoadFromTest, WeightsAndNothingElseUnlessItIsSaid) {
  train("other", 20);
  const Stand end = train("run", 5, "other");
  EXPECT_EQ(began_, (Stand{0, 20, 0, 0, {}}));
  EXPECT_EQ(end.net, 25u);
  EXPECT_THAT(said_, HasSubstr("the run begins with the weights of "));
}

TEST_F(LoadFromTest, TheStateIsAllButThePosition) {
  train("other", 20);
  train("run", 5, "other", "state");
  EXPECT_EQ(began_, (Stand{0, 20, 20, 0, {}}));
  EXPECT_THAT(said_, HasSubstr("the run begins with the state (not the position) of "));
}

TEST_F(LoadFromTest, AllGoesOnAsThatRunWouldHave) {
  const Stand unbroken = train("unbroken", 30);
  train("other", 20);
  EXPECT_EQ(train("run", 30, "other", "all"), unbroken) << "counted from that run's beginning";
  EXPECT_EQ(began_, (Stand{20, 20, 20, 20 * kBatch, {}}));
  EXPECT_THAT(said_, HasSubstr("the run begins with all of "));

  train("run", 40, "other", "all");
  EXPECT_EQ(began_, (Stand{30, 30, 30, 30 * kBatch, {}})) << "its own checkpoint outweighs it";
  EXPECT_THAT(said_, testing::Not(HasSubstr("the run begins with")));
}

TEST_F(LoadFromTest, OtherPartsAreNone) {
  train("run", 5, "other", "everything", 82);
  EXPECT_THAT(said_, HasSubstr("--load-parts must be weights, state or all, found 'everything'"));
}

}  // namespace
}  // namespace load_from_test
}  // namespace ratoon
