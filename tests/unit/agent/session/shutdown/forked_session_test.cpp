// A child that the program forks within its training, and that trains on instead of ending: it has none of
// the session's threads, so that each wait for them would be for ever, and its parent trains on.
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/train.h>

#include "base/contract/exit_code.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::forked_session_test {
namespace {

constexpr const char* kSentence = "ratoon: a process that the program forked continues the session of its";
const auto kIsRefused = testing::ExitedWithCode(static_cast<int>(ExitCode::kConfiguration));

// The process ends with the child's result.
[[noreturn]] void end_as(::pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

class ForkedSessionTest : public testing::Test {
 protected:
  ForkedSessionTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    options_.save_folder = folder_.path().string();
  }

  // `act` is the child's action in step 3.
  void train_and_fork(const std::function<void()>& act) const {
    static_cast<void>(ratoon::train(options_, [&](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(10)) {
        sum += step;
        if (step != 3) continue;
        const ::pid_t child = ::fork();
        if (child != 0) end_as(child);
        act();
        return;
      }
    }));
    ::_exit(2);
  }
  // The same for a session in place.
  void fork_in_place(const std::function<void(Session&)>& act) const {
    {
      Session session(options_);
      std::uint64_t sum = 0;
      session.track("sum", sum);
      session.resume();
      session.step_done();
      const ::pid_t child = ::fork();
      if (child != 0) end_as(child);
      act(session);
    }
    ::_exit(2);
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = "", .run_name = "run", .member = {}};
};

TEST_F(ForkedSessionTest, AChildThatReturnsFromTheFunctionIsEnded) {
  EXPECT_EXIT(train_and_fork([] {}), kIsRefused, kSentence);
}

TEST_F(ForkedSessionTest, SoIsOneThatThrows) {
  EXPECT_EXIT(train_and_fork([] { throw std::runtime_error("a bad sample"); }), kIsRefused, kSentence);
}

TEST_F(ForkedSessionTest, SoIsOneThatTrainsOn) {
  const auto trains_on = [this] {
    static_cast<void>(ratoon::train(options_, [](Session& session) {
      std::uint64_t sum = 0;
      session.track("sum", sum);
      for (const std::uint64_t step : session.steps(10)) {
        sum += step;
        if (step != 3) continue;
        if (const ::pid_t child = ::fork(); child != 0) end_as(child);
      }
      ::_exit(2);
    }));
  };
  EXPECT_EXIT(trains_on(), kIsRefused, kSentence);
}

TEST_F(ForkedSessionTest, SoIsOneOfASessionInPlace) {
  EXPECT_EXIT(fork_in_place([](Session& session) { session.step_done(); }), kIsRefused, kSentence);
  EXPECT_EXIT(fork_in_place([](Session& session) { static_cast<void>(session.complete()); }), kIsRefused,
              kSentence);
  EXPECT_EXIT(fork_in_place([](Session&) {}), kIsRefused, kSentence) << "it leaves the scope of the session";
}

TEST_F(ForkedSessionTest, AChildThatEndsByItselfEndsAsItLikes) {
  EXPECT_EXIT(train_and_fork([] { ::_exit(7); }), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace ratoon::forked_session_test
