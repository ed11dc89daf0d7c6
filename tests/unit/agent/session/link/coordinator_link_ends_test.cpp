// A process at the end of its run whose coordinator does not answer, and which is told to leave while it
// waits.
#include <csignal>
#include <stop_token>

#include <ratoon/train.h>

#include "base/contract/exit_code.h"
#include "tests/unit/agent/session/link/coordinator_link_fixture.h"

namespace ratoon::session::coordinator_link_ends_test {
namespace {

using namespace std::chrono_literals;

TEST_F(CoordinatorLinkTest, AWordOfCompletionThatHangsIsGivenUpWhenAsked) {
  hangs_at_the_end_ = true;
  std::stop_source leaves;
  auto told =
      std::async(std::launch::async, [&] { return link_->complete(done(Attempt(1)), leaves.get_token()); });
  wait_until([this] { return completions_ > 0; });
  leaves.request_stop();
  EXPECT_EQ(told.get().error().kind(), ErrorKind::kCancelled);
}

TEST_F(CoordinatorLinkTest, SoIsOneThatIsRefusedForNow) {
  options_.member.token_file = (folder_ / "token").string();
  replace_token("a wrong one");
  open();
  std::stop_source leaves;
  leaves.request_stop();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(link_->complete(done(Attempt(1)), leaves.get_token()));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 50s) << "it would try for a minute";
}

TEST_F(CoordinatorLinkTest, ToldToLeaveTheProgramDoesNotWaitForTheCoordinatorAtItsEnd) {
  link_.reset();
  hangs_at_the_end_ = true;
  auto code = std::async(std::launch::async, [this] {
    return train(options_, [](Session& session) {
      for (const auto step : session.steps(3)) static_cast<void>(step);
    });
  });
  form(1, kHourly);
  wait_until([this] { return completions_ > 0; });
  std::raise(SIGTERM);
  const auto told = std::chrono::steady_clock::now();
  EXPECT_EQ(code.get(), static_cast<int>(ExitCode::kPreempted));
  EXPECT_LT(std::chrono::steady_clock::now() - told, 40s) << "it would try for a minute";
}

}  // namespace
}  // namespace ratoon::session::coordinator_link_ends_test
