// States of one line of JSON with a digest of themselves: damage of any kind, none of which may load.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ratoon/failure.h>

namespace ratoon::test {

// A state whose digest is lost as a whole.
inline std::string without_digest(std::string state) {
  constexpr std::string_view kField = R"(,"state_digest":")";
  constexpr std::size_t kFieldBytes = kField.size() + 17;  // 16 digits and a quote
  return state.erase(state.find(kField), kFieldBytes);
}

// A state as an early Ratoon without digests wrote it: only its fields describe it.
inline std::string of_format_1(const std::string& state) {
  constexpr std::string_view kField = R"("format":2)";
  std::string old = without_digest(state);
  return old.replace(old.find(kField), kField.size(), R"("format":1)");
}

// Each byte changed in every way of a flipped bit, each byte removed, each byte doubled, and the whole digest
// removed. `stride`: of large states only every stride-th byte.
inline void expect_that_no_damage_loads(const std::string& state,
                                        const std::function<void(const std::string&)>& load,
                                        std::size_t stride = 1) {
  std::size_t loaded = 0;
  const auto try_one = [&](const std::string& damaged) {
    if (damaged == state) return;
    try {
      load(damaged);
      ++loaded;
      ADD_FAILURE() << "loaded: " << damaged;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code, 82);
    }
  };
  try_one(without_digest(state));
  for (std::size_t at = 0; at < state.size() && loaded < 3; at += stride) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = state;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      try_one(flipped);
    }
    for (const char c : {'0', '1', '9', 'a', 'f', '"', ',', ' ', '}'}) {
      std::string other = state;
      other[at] = c;
      try_one(other);
    }
    try_one(std::string(state).erase(at, 1));
    try_one(std::string(state).insert(at, 1, state[at]));
    try_one(state.substr(0, at));
  }
}

}  // namespace ratoon::test
