// 200,000 samples of 72 bytes in 62 shards, as tests/bench/peers/peer_mds.py makes them with Streaming:
// a float32 array of 16 and a number. Made once, under the folder for temporary files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <ratoon/mds_writer.h>

namespace ratoon::bench {

inline constexpr std::uint64_t kSmallSamples = 200'000;

inline std::filesystem::path small_shards() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "ratoon-bench-mds-small";
  if (std::filesystem::exists(folder / "index.json")) return folder;
  std::filesystem::remove_all(folder);
  MdsWriter writer(folder, {{"x", "ndarray:float32:16"}, {"y", "int"}}, {.size_limit_bytes = 248'000});
  std::vector<float> x(16);
  const std::uint64_t shape[] = {16};
  for (std::uint64_t id = 0; id < kSmallSamples; ++id) {
    std::fill(x.begin(), x.end(), static_cast<float>(id % 1000));
    writer.write({{"x", Field{ElementType::kFloat32, shape, std::as_bytes(std::span(x))}}, {"y", id}});
  }
  writer.finish();
  return folder;
}

}  // namespace ratoon::bench
