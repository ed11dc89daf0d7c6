#include "cli/checkpoint/verify.h"

#include "cli/checkpoint/open_packs.h"

namespace ratoon::cli {
namespace {

VerifyOutcome outcome_of(const Error& error) {
  const ErrorKind kind = error.kind();
  if (kind == ErrorKind::kConflict) return VerifyOutcome::kRetired;
  const bool is_bad =
      kind == ErrorKind::kCorrupted || kind == ErrorKind::kInvalid || kind == ErrorKind::kNotFound;
  return is_bad ? VerifyOutcome::kBad : VerifyOutcome::kUnreadable;
}

VerifyOutcome outcome_of(CheckpointState standing) {
  switch (standing) {
    case CheckpointState::kComplete:
      return VerifyOutcome::kGood;
    case CheckpointState::kDamaged:
      return VerifyOutcome::kBad;
    case CheckpointState::kUnreadable:
      return VerifyOutcome::kUnreadable;
    case CheckpointState::kSetAside:
      break;
  }
  return VerifyOutcome::kSetAside;
}

Result<void> verify_packs(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                          const std::function<void(std::uint64_t)>& on_verified) {
  return visit_packs(disk, found.id, *found.manifest, {}, [&](const OpenPack& pack) {
    on_verified(pack.record.header_bytes);
    return pack.reader.verify(on_verified);
  });
}

}  // namespace

VerifyResult verify_checkpoint(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                               const std::function<void(std::uint64_t)>& on_verified) {
  VerifyResult result{.id = found.id,
                      .verdict = outcome_of(found.standing),
                      .why = found.why,
                      .size_bytes = found.size_bytes};
  if (found.standing != CheckpointState::kComplete) return result;
  const auto verified = verify_packs(disk, found, on_verified);
  if (verified) return result;
  const bool is_gone = verified.error().kind() == ErrorKind::kNotFound && is_retired(disk, found.id);
  result.verdict = is_gone ? VerifyOutcome::kRetired : outcome_of(verified.error());
  result.why = verified.error().message();
  return result;
}

}  // namespace ratoon::cli
