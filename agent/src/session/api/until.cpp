#include <algorithm>

#include <ratoon/until.h>

namespace ratoon {

Until Until::duration(std::chrono::nanoseconds time) {
  return of(CountedIn::kTime, static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0)));
}

Result<Until> Until::parse(std::string_view text) {
  auto amount = parse_amount(text);
  if (!amount) return amount.error();
  return Until(*amount);
}

std::uint64_t Until::total(const RunPosition& position) const {
  const auto [count, parts] = counts_in(amount_, position);
  return count / parts + (count % parts != 0 ? 1 : 0);
}

bool Until::is_reached(const RunPosition& position) const {
  return count_of(position, amount_.unit) >= total(position);
}

}  // namespace ratoon
