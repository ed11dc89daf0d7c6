#include <stdexcept>

#include <ratoon/schedule.h>

namespace ratoon {
namespace {

__extension__ using Wide = unsigned __int128;

Wide multiples(std::uint64_t position, Period period) {
  if (period.count == 0 || period.parts == 0)
    throw std::invalid_argument("a Period needs a count above 0 and parts above 0");
  return Wide{position} * period.parts / period.count;
}

}  // namespace

std::uint64_t times_due(std::uint64_t position, Period period) {
  return static_cast<std::uint64_t>(multiples(position, period));
}

bool crossed(std::uint64_t before, std::uint64_t after, Period period) {
  return multiples(after, period) > multiples(before, period);
}

}  // namespace ratoon
