// What a program that links ratoon::agent alone may do: no LibTorch on its command line or in its memory.
#include <cstdio>

#include <ratoon/options.h>
#include <ratoon/train.h>
#include <ratoon/version.h>

int main(int argc, char** argv) {
  std::printf("ratoon %s\n", ratoon::version());
  if (argc == 1) return 0;
  // Not run by the test, but linked: train() draws in all of the agent's libraries.
  return ratoon::train(ratoon::Options::from_environment(argc, argv), [](ratoon::Session&) {});
}
