#include "cli/checkpoint/verify_outcome.h"

#include <algorithm>

#include "base/contract/exit_code.h"

namespace ratoon::cli {

std::string_view name_of(VerifyOutcome verdict) {
  switch (verdict) {
    case VerifyOutcome::kGood:
      return "good";
    case VerifyOutcome::kBad:
      return "bad";
    case VerifyOutcome::kUnreadable:
      return "unreadable";
    case VerifyOutcome::kSetAside:
      return "set aside";
    case VerifyOutcome::kRetired:
      break;
  }
  return "retired";
}

int exit_code_of(std::span<const VerifyResult> verified) {
  const auto has = [&](VerifyOutcome verdict) {
    return std::ranges::find(verified, verdict, &VerifyResult::verdict) != verified.end();
  };
  if (has(VerifyOutcome::kGood)) return has(VerifyOutcome::kBad) || has(VerifyOutcome::kUnreadable) ? 1 : 0;
  if (has(VerifyOutcome::kUnreadable)) return static_cast<int>(ExitCode::kStorage);
  if (has(VerifyOutcome::kBad) || has(VerifyOutcome::kSetAside))
    return static_cast<int>(ExitCode::kCheckpointsBad);
  return static_cast<int>(ExitCode::kConfiguration);
}

bool are_all_retired(std::span<const VerifyResult> verified) {
  return !verified.empty() && std::ranges::all_of(verified, [](const VerifyResult& one) {
    return one.verdict == VerifyOutcome::kRetired;
  });
}

}  // namespace ratoon::cli
