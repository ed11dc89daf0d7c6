// The replay buffer of dqn and plain_dqn: it grows to its capacity, and then replaces its oldest rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <torch/types.h>

struct Replay {
  static constexpr std::size_t kCapacity = 500;
  static constexpr std::size_t kRow = 11;  // state, action, whether the pole stands, reward, next state

  void add(const std::array<double, 4>& state, bool is_to_the_right, bool stands,
           const std::array<double, 4>& next_state) {
    std::vector<float> row(state.begin(), state.end());
    for (const bool one : {is_to_the_right, stands, stands}) row.push_back(one ? 1 : 0);
    row.insert(row.end(), next_state.begin(), next_state.end());
    if (rows.size() < kCapacity * kRow)
      rows.insert(rows.end(), row.begin(), row.end());
    else
      std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(oldest * kRow));
    if (rows.size() == kCapacity * kRow) oldest = (oldest + 1) % kCapacity;
  }
  // F32 [count, kRow]
  [[nodiscard]] torch::Tensor draw(std::int64_t count, std::mt19937_64& random) const {
    std::vector<float> drawn;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t row = random() % (rows.size() / kRow);
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * kRow);
      drawn.insert(drawn.end(), begin, begin + kRow);
    }
    return torch::tensor(drawn).view({count, kRow});
  }

  std::vector<float> rows{};
  std::size_t oldest = 0;
};
