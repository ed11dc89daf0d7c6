// A small network in plain memory learns to write, on any number of processes, without LibTorch. Kill any
// process at any time: the run ends at the same step, with the same weights, as an uninterrupted run.
#include <cstdio>
#include <string>

#include <ratoon/session/append_file.h>
#include <ratoon/train.h>

#include "flags.h"
#include "letters.h"
#include "network.h"

namespace {

double validate(ratoon::Session& session, const Network& network, const Letters& letters) {
  double loss = 0;
  std::uint64_t samples = 0;
  for (std::size_t place = letters.first_of_validation(); place < letters.places(); ++place) {
    if (place % session.world_size() != session.rank()) continue;
    loss += network.loss(letters.at(place));
    ++samples;
  }
  return session.mean("validation loss", loss / static_cast<double>(samples), samples);
}

void train(ratoon::Session& session, const Flags& flags) {
  const Letters letters;
  Network network(flags.seed);
  Loader loader(letters.first_of_validation(), flags.seed);
  std::uint64_t no_better = 0;
  ratoon::AppendFile table(session, "losses.csv");
  session.track("weights", network.weights, {.is_weight = true});
  session.track("moments", network.moments);
  session.track("rest", loader.rest);
  session.track("random", loader.random);
  session.track("no better", no_better);
  session.track("table", table);

  for (const std::uint64_t step : session.steps(flags.steps)) {
    double loss = 0;
    std::uint64_t samples = 0;
    for (std::uint64_t i = 0; i < flags.batch; ++i) {
      const std::size_t place = loader.next();
      if (i % session.world_size() != session.rank()) continue;
      loss += network.add_gradient(letters.at(place));
      ++samples;
    }
    session.report("loss", loss / static_cast<double>(samples), samples);
    session.sum(network.gradients);
    session.agree();
    network.update(step, flags.batch);
    say_step(flags, step, loss / static_cast<double>(samples), session.rank(), session.attempt());
    if ((step + 1) % flags.validate_every != 0) continue;
    const double validated = validate(session, network, letters);
    table.write(std::to_string(step) + "," + std::to_string(validated) + "\n");
    if (session.save_best("validation loss", validated)) {
      no_better = 0;
    } else if (++no_better == flags.patience) {
      session.finish("the loss no longer falls");
    }
  }
  report_weights(network);
}

}  // namespace

int main(int argc, char** argv) {
  auto options = ratoon::take_options(argc, argv, {}, {.of_program = {"--seed"}});
  const Flags flags = read_flags(argc, argv);
  return ratoon::train(options, [&](ratoon::Session& session) { train(session, flags); });
}
