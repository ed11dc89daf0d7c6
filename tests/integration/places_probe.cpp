// A trainer whose state has weights and more: w is a model of eight numbers, sum is an optimizer's.
//
//   TEST_STEP_GATE=file places_probe STEPS PAUSE_MS ATTEMPTS [--save-folder ... --stores ...]
//
// Each step says which sample it took; ATTEMPTS is how often one request to a store is tried.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <ratoon/train.h>

#include "tests/integration/gate.h"

namespace {

struct Model {
  std::array<double, 8> w{};
};

}  // namespace

template <>
struct ratoon::TrackAdapter<Model> {
  static constexpr bool kIsWeights = true;
  static void check(Model&, const std::string&) {}
  static void save(Model& model, StateWriter& out) {
    for (std::size_t i = 0; i < model.w.size(); ++i) out.number("w" + std::to_string(i), model.w.at(i));
  }
  static void load(Model& model, StateReader& in) {
    for (std::size_t i = 0; i < model.w.size(); ++i) in.number("w" + std::to_string(i), model.w.at(i));
  }
};

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::uint64_t steps = std::strtoull(argv[1], nullptr, 10);
  const std::chrono::milliseconds pause(std::strtoul(argv[2], nullptr, 10));
  ratoon::Options defaults{.save_every = ratoon::Every::steps(10)};
  defaults.store_options.attempts_max = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  const auto options = ratoon::Options::from_environment(argc, argv, defaults);
  return ratoon::train(options, [&](ratoon::Session& session) {
    Model model;
    std::uint64_t sum = 0;
    session.track("model", model);
    session.track("sum", sum);
    ratoon::test::Gate gate;
    bool is_first = true;
    for (const std::uint64_t step : session.steps(steps)) {
      if (is_first) {
        std::printf("attempt %llu begins at sample %llu sum %llu w %.17g\n",
                    static_cast<unsigned long long>(session.attempt()), static_cast<unsigned long long>(step),
                    static_cast<unsigned long long>(sum), model.w[1]);
        std::fflush(stdout);
      }
      is_first = false;
      gate.wait_for(step, session);
      std::this_thread::sleep_for(pause);
      sum += step;
      for (std::size_t i = 0; i < model.w.size(); ++i) model.w.at(i) += static_cast<double>(step * i) / 3;
    }
    std::printf("done sum %llu w %.17g\n", static_cast<unsigned long long>(sum), model.w[1]);
  });
}
