// Choices that follow from a seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>

#include "base/core/clock.h"

namespace ratoon::sim {

inline constexpr Duration kTick = std::chrono::milliseconds(500);

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  bool percent(std::uint64_t chance) { return below(100) < chance; }
  Duration ticks(std::uint64_t from, std::uint64_t end) { return kTick * (from + below(end - from)); }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return *(from.begin() + below(from.size()));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ratoon::sim
