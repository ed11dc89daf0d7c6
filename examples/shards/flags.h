// The command line flags.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/result.h>

struct Flags {
  std::string data = "shards-data";  // a folder or a URL
  bool makes_data = true;            // false if the program was given a data set; true: it creates one if it
                                     // does not exist
  std::uint64_t samples = 20'000;    // of the created data set
  std::string cache;
  std::uint64_t cache_bytes = 0;
  std::uint64_t epochs = 3;
  std::uint64_t batch = 64;  // samples per step, over all processes
  std::uint64_t window = 16;
  std::uint64_t seed = 17;
  std::uint64_t threads = 2;
  std::uint64_t pause_ms = 5;
  bool lists_samples = false;
  bool wants_help = false;
};

[[nodiscard]] ratoon::Result<Flags> read_flags(int argc, const char* const* argv);

extern const char* const kHelp;
