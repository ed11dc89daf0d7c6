// The trainer of raw_buffers.cpp without Ratoon: one process, and the run is lost if it is killed.
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "flags.h"
#include "letters.h"
#include "network.h"

namespace {

double validate(const Network& network, const Letters& letters) {
  double loss = 0;
  std::uint64_t samples = 0;
  for (std::size_t place = letters.first_of_validation(); place < letters.places(); ++place) {
    loss += network.loss(letters.at(place));
    ++samples;
  }
  return loss / static_cast<double>(samples);
}

void save_best(const Network& network) {
  const auto bytes = static_cast<std::streamsize>(network.weights.size_bytes());
  std::ofstream("best.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(network.weights.data()), bytes);
}

void train(const Flags& flags) {
  const Letters letters;
  Network network(flags.seed);
  Loader loader(letters.first_of_validation(), flags.seed);
  double lowest = std::numeric_limits<double>::max();
  std::uint64_t no_better = 0;
  std::ofstream table("losses.csv");

  for (std::uint64_t step = 0; step < flags.steps; ++step) {
    double loss = 0;
    std::uint64_t samples = 0;
    for (std::uint64_t i = 0; i < flags.batch; ++i) {
      const std::size_t place = loader.next();
      loss += network.add_gradient(letters.at(place));
      ++samples;
    }
    network.update(step, flags.batch);
    say_step(flags, step, loss / static_cast<double>(samples));
    if ((step + 1) % flags.validate_every != 0) continue;
    const double validated = validate(network, letters);
    table << std::to_string(step) + "," + std::to_string(validated) + "\n" << std::flush;
    if (validated < lowest) {
      lowest = validated;
      no_better = 0;
      save_best(network);
    } else if (++no_better == flags.patience) {
      std::printf("the loss no longer falls\n");
      break;
    }
  }
  report_weights(network);
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  train(flags);
}
