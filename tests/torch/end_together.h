// The first rank that ends with an error ends the run: the others are killed, perhaps before they have said
// why they end. end_together() lets each rank end only when all have come to their ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace ratoon::test {

// Returns `code`. Waits in `folder`, only after an error, and not for ever, since another rank may never come
// to its end.
inline int end_together(int code, const std::filesystem::path& folder, std::uint32_t rank,
                        std::uint32_t world_size) {
  if (code == 0 || folder.empty()) return code;
  const auto file_of = [&](std::uint32_t one) { return folder / ("ended-" + std::to_string(one)); };
  std::ofstream(file_of(rank)).put('\n');
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (std::uint32_t other = 0; other < world_size; ++other)
    while (!std::filesystem::exists(file_of(other)) && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
  return code;
}

}  // namespace ratoon::test
