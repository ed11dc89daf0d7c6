#include <stdexcept>

#include <ratoon/schedule.h>

namespace ratoon {
namespace {

__extension__ using Uint128 = unsigned __int128;

Uint128 periods_elapsed(std::uint64_t position, Period period) {
  if (period.count == 0 || period.parts == 0)
    throw std::invalid_argument("a Period needs a count above 0 and parts above 0");
  return Uint128{position} * period.parts / period.count;
}

}  // namespace

std::uint64_t times_due(std::uint64_t position, Period period) {
  return static_cast<std::uint64_t>(periods_elapsed(position, period));
}

bool crossed(std::uint64_t before, std::uint64_t after, Period period) {
  return periods_elapsed(after, period) > periods_elapsed(before, period);
}

}  // namespace ratoon
