// What a program that links ratoon::agent alone may do: no LibTorch on its command line or in its memory.
#include <cstdio>

#include <ratoon/options.h>
#include <ratoon/result.h>
#include <ratoon/version.h>

int main(int argc, char** argv) {
  const auto options = ratoon::Options::from_environment(argc, argv);
  std::printf("ratoon %s: %s\n", ratoon::version(),
              options ? "has options" : options.error().message().c_str());
  return 0;
}
