// What the command line says.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/result.h>

struct Flags {
  std::string data = "shards-data";  // a folder or a URL
  bool makes_data = true;            // none was named: ours is made if it is not there
  std::uint64_t samples = 20'000;    // of ours
  std::string cache;
  std::uint64_t cache_bytes = 0;
  std::uint64_t epochs = 3;
  std::uint64_t batch = 64;  // of all processes together
  std::uint64_t window = 16;
  std::uint64_t seed = 17;
  std::uint64_t threads = 2;
  std::uint64_t pause_ms = 5;
  bool lists_samples = false;
  bool wants_help = false;
};

[[nodiscard]] ratoon::Result<Flags> read_flags(int argc, const char* const* argv);

extern const char* const kHelp;
