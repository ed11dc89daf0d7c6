#include "flags.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>

namespace {

[[noreturn]] void refuse(std::string_view flag, const char* why) {
  std::fprintf(stderr, "%.*s %s\n", static_cast<int>(flag.size()), flag.data(), why);
  std::exit(82);
}

}  // namespace

Flags read_flags(int argc, char** argv) {
  Flags flags;
  const std::map<std::string_view, std::uint64_t*> known = {
      {"--steps", &flags.steps},       {"--batch", &flags.batch},
      {"--seed", &flags.seed},         {"--validate-every", &flags.validate_every},
      {"--patience", &flags.patience}, {"--pause-ms", &flags.pause_ms},
  };
  for (int i = 1; i < argc; i += 2) {
    const auto found = known.find(argv[i]);
    if (found == known.end()) refuse(argv[i], "is no flag of this program: see examples/raw_buffers/flags.h");
    if (i + 1 == argc) refuse(argv[i], "needs a number after it");
    const std::string_view text = argv[i + 1];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *found->second);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size())
      refuse(argv[i], "needs a whole number after it");
  }
  return flags;
}

void say_step(const Flags& flags, std::uint64_t step, double loss, std::uint32_t rank,
              std::uint64_t attempt) {
  std::printf("attempt %llu rank %u step %llu loss %.6f\n", static_cast<unsigned long long>(attempt), rank,
              static_cast<unsigned long long>(step), loss);
  std::fflush(stdout);
  if (flags.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(flags.pause_ms));
}
