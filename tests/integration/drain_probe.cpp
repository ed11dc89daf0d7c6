// A trainer without tensors whose ranks agree once a step by files in a folder, as other trainers do by
// gradients; without --agree they agree on nothing.
//
//   TEST_STEP_GATE=file
//   drain_probe --agree FOLDER [--steps N] [--pause-ms N] [--finish-at STEP]
//               [--hang data|compute|collective --hang-at STEP --hang-rank RANK]
//               [--hold FILE --hold-at STEP --hold-rank RANK]
//               [--fail-with CODE --fail-at STEP --fail-rank RANK]
//               [--fork FILE --fork-at STEP --fork-rank RANK]
//               --save-folder ... --run-name ...
//
// The trainer hangs once in a folder, also if it is started again; it is held until the file exists. The
// child that the trainer forks does not exec, lives until a signal ends it, and has its number in the file.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/integration/gate.h"
#include "tests/integration/words.h"
#include "tests/support/numbers_dataset.h"

namespace {

std::string read_flag(int argc, char** argv, std::string_view flag, const std::string& otherwise) {
  std::string value = otherwise;
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) value = argv[i + 1];
  return value;
}

// The fault of one rank within one step: "--hang data --hang-at 20 --hang-rank 1".
struct Asked {
  std::string what;  // empty: nothing
  std::uint64_t step = 0;
  std::uint32_t rank = 0;

  static Asked read(int argc, char** argv, const std::string& flag) {
    return {.what = read_flag(argc, argv, flag, ""),
            .step = std::stoull(read_flag(argc, argv, flag.substr(0, flag.find('-', 2)) + "-at", "0")),
            .rank = static_cast<std::uint32_t>(
                std::stoul(read_flag(argc, argv, flag.substr(0, flag.find('-', 2)) + "-rank", "0")))};
  }
  [[nodiscard]] bool is_here(const ratoon::Session& session) const {
    return !what.empty() && step == session.steps_done() && rank == session.rank();
  }
};

// Hangs for ever, if the fault was requested for this place and time and no process has hung before.
void hang_if_asked(const Asked& asked, std::string_view phase, const ratoon::Session& session,
                   const std::filesystem::path& folder) {
  if (asked.what != phase || !asked.is_here(session)) return;
  const auto mark = folder / "hung";
  if (std::filesystem::exists(mark)) return;
  std::ofstream(mark) << phase;
  for (;;) ::pause();
}

void hold_if_asked(const Asked& asked, const ratoon::Session& session) {
  if (!asked.is_here(session)) return;
  std::printf("held\n");
  while (!std::filesystem::exists(asked.what)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void fail_if_asked(const Asked& asked, const ratoon::Session& session) {
  if (asked.is_here(session)) throw ratoon::Failure(std::stoi(asked.what), "the probe was asked to fail");
}

void fork_if_asked(const Asked& asked, const ratoon::Session& session) {
  if (!asked.is_here(session)) return;
  const std::string unfinished = asked.what + ".new";
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  std::ofstream(unfinished) << child;
  std::filesystem::rename(unfinished, asked.what);
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = read_flag(argc, argv, "--agree", "");
  const std::uint64_t steps = std::stoull(read_flag(argc, argv, "--steps", "300"));
  const std::chrono::milliseconds pause(std::stoul(read_flag(argc, argv, "--pause-ms", "5")));
  const std::uint64_t finish_at = std::stoull(read_flag(argc, argv, "--finish-at", "0"));
  const Asked hang = Asked::read(argc, argv, "--hang");
  const Asked hold = Asked::read(argc, argv, "--hold");
  const Asked fail = Asked::read(argc, argv, "--fail-with");
  const Asked forks = Asked::read(argc, argv, "--fork");
  const ratoon::test::Words words(folder);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    ratoon::Stream stream({.samples = 10'000, .global_batch = 6, .seed = 5});
    session.track("stream", stream);
    session.follow(stream);
    // The hang may be a read that does not return, as from a disk that hangs.
    const auto numbers = std::make_shared<ratoon::test::NumbersDataset>(
        10, [&](std::uint64_t, ratoon::Sample&) { hang_if_asked(hang, "data", session, folder); });
    ratoon::Stream fed({.global_batch = 1, .sources = {ratoon::source_of(*numbers)}});
    ratoon::DataLoader loader(numbers, fed, {.threads = 0});
    ratoon::test::Gate gate;
    for (const std::uint64_t step : session.steps(steps)) {
      gate.wait_for(step, session);
      loader.advance(loader.next());
      hang_if_asked(hang, "compute", session, folder);
      hold_if_asked(hold, session);
      fail_if_asked(fail, session);
      fork_if_asked(forks, session);
      std::printf("rank %" PRIu32 " step %" PRIu64 " samples", session.rank(), step);
      for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
        std::printf(" %" PRIu64, slot.sample);
      std::printf("\n");
      std::this_thread::sleep_for(pause);
      if (finish_at != 0 && step + 1 == finish_at && session.rank() == 0)
        session.finish("the loss no longer falls");
      const auto waits = session.in(ratoon::Phase::kCollective);
      hang_if_asked(hang, "collective", session, folder);
      if (!folder.empty()) session.agree(words.reduce({.requests = session.requests()}, session).requests);
    }
    std::printf("done after %" PRIu64 " steps, digest %016" PRIx64 "\n", session.steps_done(),
                stream.digest());
  });
}
