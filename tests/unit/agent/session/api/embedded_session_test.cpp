// A session in place in a process of another language, which ends the process by its own means.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include <ratoon/session.h>
#include <ratoon/stream.h>

#include "agent/src/session/shutdown/process_exit.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::embedded_session_test {
namespace {

struct EndOfProgram {
  int code;
};

// Each test ends its process.
class EmbeddedSession : public testing::Test {
 protected:
  EmbeddedSession() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void end_by_exceptions() {
    session::set_end_handler([](int code, bool must_skip_teardown) {
      if (!must_skip_teardown) throw EndOfProgram{code};
      std::fputs("at once\n", stderr);
    });
  }
  // The exit code of a program that steps until it is ended, and then ends with `otherwise`, or with the code
  // that it was given.
  [[noreturn]] void run(std::optional<int> otherwise = {}) const {
    int code = 0;
    try {
      end_by_exceptions();
      Session session(options_);
      std::uint64_t sum = 0;
      session.track("sum", sum);
      session.resume();
      for (;;) {
        if (++sum == 3) raise(SIGINT);
        session.step_done();
      }
    } catch (const EndOfProgram& end) {
      std::fputs("unwound\n", stderr);
      code = otherwise.value_or(end.code);
    }
    std::exit(code);
  }

  test::TemporaryFolder folder_;
  Options options_{.save_folder = folder_.path().string(), .run_name = "run", .member = {}};
};

TEST_F(EmbeddedSession, IsEndedByTheMeansOfItsLanguage) {
  EXPECT_EXIT(run(), testing::ExitedWithCode(130), "stopped by Ctrl-C[^\n]*\n(.*\n)*unwound");
}

TEST_F(EmbeddedSession, ThatIsEndedDoesNotEndAsDone) {
  EXPECT_EXIT(run(0), testing::ExitedWithCode(130), "unwound");
  EXPECT_EXIT(run(7), testing::ExitedWithCode(7), "unwound");
}

TEST_F(EmbeddedSession, EndsAtOnceWhereTeardownIsInTheWay) {
  const auto runs = [&] {
    session::skip_teardown_if([] { return true; });
    run();
  };
  EXPECT_EXIT(runs(), testing::ExitedWithCode(130), "at once");
}

// A call of the disk was given up hours ago: the program still does what stands behind its training.
TEST_F(EmbeddedSession, ThatIsCompleteGoesOnToItsOwnEnd) {
  const auto runs = [&] {
    session::skip_teardown_if([] { return true; });
    session::set_skip_teardown_at_exit([] { std::fputs("will end without destructors\n", stderr); });
    Session session(options_);
    session.resume(Until::steps(1));
    session.step_done();
    const int code = session.complete();
    std::fputs("behind the training\n", stderr);
    std::exit(code);
  };
  EXPECT_EXIT(runs(), testing::ExitedWithCode(0), "will end without destructors\nbehind the training");
}

TEST_F(EmbeddedSession, WithWrongOptionsIsEndedByTheSameMeans) {
  options_.save_folder = "";
  EXPECT_EXIT(run(), testing::ExitedWithCode(82), "unwound");
}

// The call within the function ends the process first, and the outer call passes its exception on.
TEST_F(EmbeddedSession, IsEndedWithTheCodeOfACallWithinAFunctionForEpochs) {
  const auto runs = [&] {
    int code = 0;
    try {
      end_by_exceptions();
      Session session(options_);
      Stream stream({.samples = 8, .global_batch = 4});
      session.track("stream", stream);
      session.follow(stream);
      session.on_epoch_end([&](std::uint64_t) { session.save_best("", 1); });
      session.resume();
      for (;;) {
        stream.advance();
        session.step_done();
      }
    } catch (const EndOfProgram& end) {
      code = end.code;
    }
    std::exit(code);
  };
  EXPECT_EXIT(runs(), testing::ExitedWithCode(82), "a name has 1 to 64 bytes");
}

TEST_F(EmbeddedSession, LeavesAnExceptionOfTheProgramToTheProgram) {
  const auto runs = [&](bool may_be_loss) {
    end_by_exceptions();
    {
      Session session(options_);
      session.resume();
      session.explain("the program threw an exception", may_be_loss);
      std::fputs("explained\n", stderr);
    }
    std::exit(1);
  };
  EXPECT_EXIT(runs(false), testing::ExitedWithCode(1), "explained");
  EXPECT_EXIT(runs(true), testing::ExitedWithCode(1), "explained");
}

TEST_F(EmbeddedSession, ExplainsAnExceptionByANotice) {
  const auto runs = [&] {
    end_by_exceptions();
    int code = 0;
    try {
      Session session(options_);
      session.resume();
      raise(SIGTERM);
      session.explain("the program threw an exception", true);
    } catch (const EndOfProgram& end) {
      code = end.code;
    }
    std::exit(code);
  };
  EXPECT_EXIT(runs(), testing::ExitedWithCode(80),
              "the program threw an exception because it was told to leave");
}

}  // namespace
}  // namespace ratoon::embedded_session_test
