#include "cli/checkpoint/verdict.h"

#include <algorithm>

#include "base/contract/exit_code.h"

namespace ratoon::cli {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kBad:
      return "bad";
    case Verdict::kUnreadable:
      return "unreadable";
    case Verdict::kSetAside:
      return "set aside";
    case Verdict::kRetired:
      break;
  }
  return "retired";
}

int exit_code_of(std::span<const Verified> verified) {
  const auto has = [&](Verdict verdict) {
    return std::ranges::find(verified, verdict, &Verified::verdict) != verified.end();
  };
  if (has(Verdict::kGood)) return has(Verdict::kBad) || has(Verdict::kUnreadable) ? 1 : 0;
  if (has(Verdict::kUnreadable)) return static_cast<int>(ExitCode::kStorage);
  if (has(Verdict::kBad) || has(Verdict::kSetAside)) return static_cast<int>(ExitCode::kCheckpointsBad);
  return static_cast<int>(ExitCode::kConfiguration);
}

}  // namespace ratoon::cli
