#include <stdexcept>

#include <ratoon/every.h>

namespace ratoon {

Every Every::of(CountedIn unit, Period period) {
  if (period.count == 0 || period.parts == 0)
    throw std::invalid_argument(
        "the period of an Every must be above 0: set period.count and period.parts above 0");
  return Every(Amount{.unit = unit, .period = period});
}

Every Every::duration(std::chrono::nanoseconds time) {
  if (time.count() <= 0)
    throw std::invalid_argument("the period of an Every must be above 0: give it a time above 0");
  return of(CountedIn::kTime, {.count = static_cast<std::uint64_t>(time.count())});
}

Result<Every> Every::parse(std::string_view text) {
  if (text == "auto") return automatic();
  auto amount = parse_amount(text);
  if (!amount) return Error(amount.error().kind(), amount.error().message() + ", or auto");
  return Every(*amount);
}

bool Every::is_due(const RunPosition& before, const RunPosition& after) const {
  if (!amount_)
    throw std::invalid_argument(
        "is_due() cannot be called for an automatic interval, which depends on the cost of saves");
  return crossed(count_of(before, amount_->unit), count_of(after, amount_->unit), counts_in(*amount_, after));
}

}  // namespace ratoon
