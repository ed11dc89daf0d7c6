// The environment of dqn and plain_dqn: a pole on a cart, which is pushed to the left or to the right.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>

// Engines draw the same numbers with every standard library; distributions do not.
inline double draw_unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

struct Pole {
  explicit Pole(std::uint64_t seed) : random(seed) { stand_up(); }

  void stand_up() {
    for (double& one : state) one = 0.1 * (draw_unit(random) - 0.5);
    pushes = 0;
  }
  // Returns whether the pole stands after the push.
  bool push(bool is_to_the_right) {
    constexpr double kTime = 0.02, kLength = 0.5, kMass = 0.1, kTotal = 1.1, kGravity = 9.8;
    auto& [place, speed, angle, turn] = state;
    const double force = is_to_the_right ? 10 : -10;
    const double pull = (force + kMass * kLength * turn * turn * std::sin(angle)) / kTotal;
    const double lever = kLength * (4.0 / 3 - kMass * std::cos(angle) * std::cos(angle) / kTotal);
    const double faster = (kGravity * std::sin(angle) - std::cos(angle) * pull) / lever;
    place += kTime * speed;
    speed += kTime * (pull - kMass * kLength * faster * std::cos(angle) / kTotal);
    angle += kTime * turn;
    turn += kTime * faster;
    ++pushes;
    return std::abs(place) < 2.4 && std::abs(angle) < 0.21;
  }

  std::mt19937_64 random;
  std::array<double, 4> state{};
  std::uint64_t pushes = 0;  // since the pole was stood up
};
