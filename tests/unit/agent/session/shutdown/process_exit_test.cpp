// The end of a process that left a thread running which must not be torn down.
#include "agent/src/session/shutdown/process_exit.h"

#include <cstdio>
#include <cstdlib>
#include <future>

#include <gtest/gtest.h>

namespace ratoon::session::process_exit_test {
namespace {

void spoil_the_end() {
  std::atexit([] { std::_Exit(99); });  // stands for the teardown that must not happen
}

// Each case runs in a process of its own, because registered functions stay.
TEST(Leaving, ReturnsTheCodeWhereNothingIsInTheWay) {
  EXPECT_EQ(leave(80), 80);
  EXPECT_EXIT(
      {
        skip_teardown_if([] { return false; });
        spoil_the_end();
        std::exit(leave(0));
      },
      testing::ExitedWithCode(99), "");
}

TEST(Leaving, EndsAtOnceAndLosesNoOutput) {
  EXPECT_EXIT(
      {
        skip_teardown_if([] { return false; });
        skip_teardown_if([] { return true; });
        spoil_the_end();
        std::setvbuf(stderr, nullptr, _IOFBF, 4096);
        std::fputs("the last line", stderr);
        std::exit(leave(80));
      },
      testing::ExitedWithCode(80), "the last line");
}

TEST(Leaving, OfAStuckProcessSaysWhyAndTearsNothingDown) {
  EXPECT_EXIT(
      {
        spoil_the_end();
        exit_after_log_line(ExitCode::kStartAgain, [] { std::fputs("it does not move", stderr); });
      },
      testing::ExitedWithCode(81), "it does not move");
}

TEST(Leaving, OfAStuckProcessWaitsForNoReaderOfItsLastLine) {
  EXPECT_EXIT(exit_after_log_line(ExitCode::kStartAgain,
                                  [] {
                                    std::promise<void> never;
                                    never.get_future().wait();
                                  }),
              testing::ExitedWithCode(81), "");
}

}  // namespace
}  // namespace ratoon::session::process_exit_test
