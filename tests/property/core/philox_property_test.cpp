#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/counter_random.h>

namespace ratoon::philox_property_test {
namespace {

RC_GTEST_PROP(CounterRandom, StaysBelow, (std::uint64_t seed)) {
  const auto bits = *rc::gen::inRange(0, 64);
  const std::uint64_t n = (*rc::gen::arbitrary<std::uint64_t>() >> bits) | 1;
  CounterRandom random(seed, "below");
  for (int i = 0; i < 20; ++i) RC_ASSERT(random.below(n) < n);
}

RC_GTEST_PROP(CounterRandom, UnitDoubleStaysInTheUnitInterval, (std::uint64_t seed)) {
  CounterRandom random(seed, "unit");
  for (int i = 0; i < 20; ++i) {
    const double x = random.unit_double();
    RC_ASSERT(x >= 0.0);
    RC_ASSERT(x < 1.0);
  }
}

// Seeking must leave no trace of the stream's former position.
RC_GTEST_PROP(CounterRandom, SeekingIsTheSameAsDrawing, (std::uint64_t seed, std::uint64_t stream)) {
  const auto target = *rc::gen::inRange<std::uint64_t>(0, 200);
  const auto drawn_before = *rc::gen::inRange(0, 9);
  CounterRandom drawing(seed, "seek", stream);
  for (std::uint64_t i = 0; i < target; ++i) (void)drawing.next_u32();
  CounterRandom seeking(seed, "seek", stream);
  for (int i = 0; i < drawn_before; ++i) (void)seeking.next_u32();
  seeking.seek(target);
  for (int i = 0; i < 9; ++i) RC_ASSERT(seeking.next_u32() == drawing.next_u32());
  RC_ASSERT(seeking.position() == drawing.position());
}

// The multiplier of each round is odd, so a block is a bijection of its counter: all blocks differ.
RC_GTEST_PROP(Philox, NeighbouringCountersDifferInAboutHalfOfTheirBits,
              (std::uint32_t key, std::uint32_t counter)) {
  const PhiloxBlock a = philox4x32({key, 0}, {counter, 0, 0, 0});
  const PhiloxBlock b = philox4x32({key, 0}, {counter + 1, 0, 0, 0});
  int differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differing += __builtin_popcount(a.at(i) ^ b.at(i));
  RC_ASSERT(differing > 16);  // 64 expected, sigma 5.7
  RC_ASSERT(differing < 112);
}

}  // namespace
}  // namespace ratoon::philox_property_test
