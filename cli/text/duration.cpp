#include "cli/text/duration.h"

#include <ratoon/amount.h>

namespace ratoon::cli {

Result<Duration> parse_duration(std::string_view text) {
  const auto amount = parse_amount(text);
  if (amount && amount->unit == CountedIn::kTime)
    return Duration(static_cast<Duration::rep>(amount->period.count / amount->period.parts));
  return Error(ErrorKind::kInvalid,
               "expected a time above 0 like 30s, 0.5s or 1m30s, found '" + std::string(text) + "'");
}

}  // namespace ratoon::cli
