#include "tests/support/accelerator/lag.h"

#include <cstdlib>
#include <memory>
#include <mutex>

namespace ratoon::test::accelerator {
namespace {

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Lag lag_of_environment() {
  const Lag usual;
  const auto longest = static_cast<std::uint64_t>(usual.longest.count());
  return {
      .seed = number_of("RATOON_TEST_ACCELERATOR_SEED", usual.seed),
      .longest = std::chrono::microseconds(number_of("RATOON_TEST_ACCELERATOR_LAG_MICROSECONDS", longest)),
      .version = 1};
}

struct Current {
  std::mutex mutex;
  Lag lag = lag_of_environment();
};

// The object is never destroyed: threads of streams read it until the process ends.
Current& current() {
  static auto* const kept = std::make_unique<Current>().release();
  return *kept;
}

}  // namespace

Lag lag() {
  const std::lock_guard lock(current().mutex);
  return current().lag;
}

void set_lag(std::uint64_t seed, std::chrono::microseconds longest) {
  const std::lock_guard lock(current().mutex);
  current().lag = {.seed = seed, .longest = longest, .version = current().lag.version + 1};
}

std::chrono::microseconds lag_of(double draw, std::chrono::microseconds longest) {
  const double part = draw * draw * draw * draw;
  return std::chrono::microseconds(static_cast<std::int64_t>(part * static_cast<double>(longest.count())));
}

}  // namespace ratoon::test::accelerator
