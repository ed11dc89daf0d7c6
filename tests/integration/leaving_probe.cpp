// A trainer without tensors that leaves its loop before the run's end, in one of the ways in which programs
// do.
//
//   TEST_STEP_GATE=file
//   leaving_probe --agree FOLDER --leave HOW [--leave-at STEP] [--steps N] and the options of a session
//
//   break, return   the loop ends there
//   throw           an error of the program, which it catches around the loop
//   reset           the same once FOLDER/reset-<attempt> is there, as where a collective of its own failed
//   all             whatever is thrown is caught around the loop, what Ratoon throws too
//   flag            after a SIGTERM, of which a handler of the program's own tells it
//   handler         the same; the handler is installed by the training function
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include <ratoon/train.h>

#include "tests/integration/gate.h"
#include "tests/integration/words.h"

namespace {

std::atomic<bool> was_told_to_stop{false};

std::string read_flag(int argc, char** argv, std::string_view flag, const std::string& otherwise) {
  std::string value = otherwise;
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) value = argv[i + 1];
  return value;
}

struct Program {
  std::filesystem::path folder;
  std::string how;
  std::uint64_t leave_at = 0;
  std::uint64_t steps = 0;

  void train(ratoon::Session& session, std::uint64_t& sum) const {
    const ratoon::test::Words words(folder);
    ratoon::test::Gate gate;
    for (const std::uint64_t step : session.steps(steps)) {
      if (was_told_to_stop) break;
      gate.wait_for(step, session, [&] { fail_if_reset(session); });
      if (step == leave_at && how == "break") break;
      if (step == leave_at && how == "return") return;
      if (step == leave_at && how == "throw") throw std::runtime_error("a bad batch");
      session.agree(words.reduce({.requests = session.requests()}, session).requests);
      sum += step;
    }
    std::printf("the loop is over after %llu steps, sum %llu\n",
                static_cast<unsigned long long>(session.steps_done()), static_cast<unsigned long long>(sum));
  }

  void fail_if_reset(const ratoon::Session& session) const {
    if (how == "reset" && std::filesystem::exists(folder / ("reset-" + std::to_string(session.attempt()))))
      throw std::runtime_error("connection reset by peer");
  }
};

void stop(int) {
  was_told_to_stop = true;
}

}  // namespace

int main(int argc, char** argv) {
  const Program program{.folder = read_flag(argc, argv, "--agree", ""),
                        .how = read_flag(argc, argv, "--leave", ""),
                        .leave_at = std::stoull(read_flag(argc, argv, "--leave-at", "0")),
                        .steps = std::stoull(read_flag(argc, argv, "--steps", "100"))};
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  if (program.how == "flag") std::signal(SIGTERM, stop);

  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    if (program.how == "handler") std::signal(SIGTERM, stop);
    std::uint64_t sum = 0;
    session.track("sum", sum);
    if (program.how == "all") {
      try {
        program.train(session, sum);
      } catch (...) {
        std::printf("caught\n");
      }
      return;
    }
    try {
      program.train(session, sum);
    } catch (const std::exception& why) {
      std::printf("caught: %s\n", why.what());
    }
  });
}
