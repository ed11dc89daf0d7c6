// A program that links ratoon::agent alone: no LibTorch on its command line or in its memory.
#include <cstdio>

#include <ratoon/every.h>
#include <ratoon/metrics.h>
#include <ratoon/numerics.h>
#include <ratoon/options.h>
#include <ratoon/progress_bar.h>
#include <ratoon/random_engine.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>
#include <ratoon/until.h>
#include <ratoon/version.h>

int main(int argc, char** argv) {
  std::printf("ratoon %s\n", ratoon::version());
  ratoon::Stream stream({.samples = 10, .global_batch = 4});
  if (stream.take(0, 1).front().sample >= 10) return 1;
  ratoon::ProgressBar bar({.title = "consumer", .total = 4, .fd = -1});
  ratoon::Metrics metrics;
  ratoon::RunPosition position{.epoch_samples = 4};
  const auto until = ratoon::Until::parse("2ep").value();
  const auto validate_every = ratoon::Every::parse("0.5ep").value();
  for (; !until.is_reached(position); bar.update(++position.steps)) {
    const ratoon::RunPosition before = position;
    position.samples += 2;
    if (validate_every.is_due(before, position)) metrics.report("loss", 0.5);
  }
  if (metrics.find("loss")->reports != 4) return 1;
  ratoon::attach_numerics({.pin = [] {},
                           .set_threads = [](std::uint32_t) {},
                           .now = [] { return ratoon::Numerics{.library = "none"}; }});
  if (argc == 1) return 0;
  // The test does not run this function, but links it: train() links all of the agent's libraries.
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [](ratoon::Session& session) {
    std::mt19937_64 noise;
    session.track("noise", noise);
  });
}
