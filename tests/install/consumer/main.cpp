// What a program that links ratoon::agent alone may do: no LibTorch on its command line or in its memory.
#include <cstdio>

#include <ratoon/options.h>
#include <ratoon/stream.h>
#include <ratoon/train.h>
#include <ratoon/version.h>

int main(int argc, char** argv) {
  std::printf("ratoon %s\n", ratoon::version());
  ratoon::Stream stream({.samples = 10, .global_batch = 4});
  if (stream.take(0, 1).front().sample >= 10) return 1;
  if (argc == 1) return 0;
  // Not run by the test, but linked: train() draws in all of the agent's libraries.
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [](ratoon::Session&) {});
}
