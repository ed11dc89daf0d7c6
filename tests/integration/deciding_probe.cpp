// A trainer without tensors that makes decisions, as many trainers do: it validates, keeps the best state so
// far, saves in between, and ends once validations no longer improve. All decisions follow from its seed and
// its step alone; in each step another rank makes the request, once the ranks have agreed.
//
//   TEST_STEP_GATE=file
//   deciding_probe --agree FOLDER [--steps N] [--best-at STEP] and the options of a session
//
// The gate counts thirds of a step: before the ranks agree, before a rank makes a request, and before the
// step ends. A rank that is held writes its position, the size of its world and its request into FOLDER:
// held/<attempt>-<rank> has these three numbers.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <ratoon/counter_random.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>

#include "tests/integration/gate.h"
#include "tests/integration/words.h"

namespace {

constexpr std::uint64_t kValidateEvery = 3;
constexpr std::uint64_t kPatience = 6;  // validations that are no better

std::string read_flag(int argc, char** argv, std::string_view flag, const std::string& otherwise) {
  std::string value = otherwise;
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) value = argv[i + 1];
  return value;
}

class HeldMark {
 public:
  HeldMark(const std::filesystem::path& folder, const ratoon::Session& session)
      : session_(session),
        path_(folder / "held" / (std::to_string(session.attempt()) + "-" + std::to_string(session.rank()))) {}

  void note(std::uint64_t third) {
    const auto now = std::tuple(third, session_.world_size(), session_.requests());
    if (std::exchange(noted_, now) == now) return;
    const std::filesystem::path unfinished = path_.string() + ".new";
    std::ofstream(unfinished) << third << ' ' << session_.world_size() << ' ' << session_.requests();
    std::filesystem::rename(unfinished, path_);
  }

 private:
  const ratoon::Session& session_;
  std::filesystem::path path_;
  std::tuple<std::uint64_t, std::uint32_t, std::uint32_t> noted_{};
};

// The loss falls until `best_at` and rises from there on, with noise of about three steps.
double loss_of(std::uint64_t seed, std::uint64_t step, std::uint64_t best_at) {
  const std::uint64_t distance = step < best_at ? best_at - step : step - best_at;
  return static_cast<double>(distance) + 3 * ratoon::CounterRandom(seed, "noise", step).unit_double();
}

// The program's knowledge, the same on all ranks.
struct State {
  std::uint64_t weights = 0;
  double lowest = std::numeric_limits<double>::max();
  std::uint64_t no_better = 0;  // so many validations in a row
};

// In each step another rank makes the request.
void decide(ratoon::Session& session, std::uint64_t step, std::uint64_t best_at, State& state) {
  const std::uint64_t seed = session.seed();
  const bool asks = ratoon::CounterRandom(seed, "who", step).below(session.world_size()) == session.rank();
  if (ratoon::CounterRandom(seed, "save", step).below(6) == 0 && asks) static_cast<void>(session.save());
  if (step % kValidateEvery != 0) return;
  const double loss = loss_of(seed, step, best_at);
  if (loss < state.lowest) {
    state.lowest = loss;
    state.no_better = 0;
    if (asks) static_cast<void>(session.save("a loss of " + std::to_string(loss)));
  } else if (++state.no_better == kPatience && asks) {
    session.finish("no better than " + std::to_string(state.lowest));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path folder = read_flag(argc, argv, "--agree", "");
  const std::uint64_t steps = std::stoull(read_flag(argc, argv, "--steps", "1000"));
  const std::uint64_t best_at = std::stoull(read_flag(argc, argv, "--best-at", "50"));
  const ratoon::test::Words words(folder);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

  return ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
    ratoon::Stream stream({.samples = 1'000, .global_batch = 12, .seed = session.seed()});
    State state;
    session.track("stream", stream);
    session.track("weights", state.weights);
    session.track("lowest", state.lowest);
    session.track("no better", state.no_better);
    ratoon::test::Gate gate;
    HeldMark mark(folder, session);
    const auto hold_at = [&](std::uint64_t third) {
      gate.wait_for(third, session, [&] { mark.note(third); });
    };
    for (const std::uint64_t step : session.steps(steps)) {
      hold_at(3 * step);
      std::uint64_t gradient = 0;
      for (const ratoon::Slot& slot : stream.take(session.rank(), session.world_size()))
        gradient += ratoon::mix_into(state.weights, slot.sample);
      session.report("loss", loss_of(session.seed(), step, best_at));
      const auto of_all = words.reduce({.requests = session.requests(), .sum = gradient}, session);
      session.agree(of_all.requests);
      state.weights = ratoon::mix_into(state.weights, of_all.sum);
      hold_at(3 * step + 1);
      decide(session, step, best_at, state);
      hold_at(3 * step + 2);
    }
    std::printf("done after %" PRIu64 " steps, weights %016" PRIx64 "\n", session.steps_done(),
                state.weights);
  });
}
