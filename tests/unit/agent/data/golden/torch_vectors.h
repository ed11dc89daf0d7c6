// The results of PyTorch: torch_vectors.json, which make_torch_vectors.py beside it wrote.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ratoon::test {

using Ids = std::vector<std::uint64_t>;

// The cases of one section; tests run in the repository's root.
inline const nlohmann::json& torch_vectors(const char* section) {
  static const nlohmann::json vectors = [] {
    std::ifstream file("tests/unit/agent/data/golden/torch_vectors.json");
    return nlohmann::json::parse(file);
  }();
  return vectors.at(section);
}

constexpr std::uint64_t kDigestStart = 1469598103934665603U;

template <class Numbers>
std::uint64_t digest_of(const Numbers& numbers, std::uint64_t digest = kDigestStart) {
  for (const std::uint64_t number : numbers) digest = (digest ^ number) * 1099511628211U;
  return digest;
}

}  // namespace ratoon::test
