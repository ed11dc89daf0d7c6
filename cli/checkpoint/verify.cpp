#include "cli/checkpoint/verify.h"

#include "cli/checkpoint/open_packs.h"

namespace ratoon::cli {
namespace {

VerifyOutcome verdict_of(const Error& error) {
  const ErrorKind kind = error.kind();
  if (kind == ErrorKind::kConflict) return VerifyOutcome::kRetired;
  const bool is_bad =
      kind == ErrorKind::kCorrupted || kind == ErrorKind::kInvalid || kind == ErrorKind::kNotFound;
  return is_bad ? VerifyOutcome::kBad : VerifyOutcome::kUnreadable;
}

VerifyOutcome verdict_of(CheckpointState standing) {
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

// The packs of one rank are opened after those of another, so that even a checkpoint of thousands of ranks
// needs only the open files of one rank at a time.
Result<void> verify_packs(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                          const std::function<void(std::uint64_t)>& on_verified) {
  for (const auto& record : found.manifest->packs) {
    const auto packs = open_packs(disk, found.id, *found.manifest, record.rank.value());
    if (!packs) return packs.error();
    for (const OpenPack& pack : *packs) {
      on_verified(pack.record.header_bytes);
      if (auto verified = pack.reader.verify(on_verified); !verified) return verified;
    }
  }
  return {};
}

}  // namespace

VerifyResult verify_checkpoint(const checkpoint::Disk& disk, const FoundCheckpoint& found,
                               const std::function<void(std::uint64_t)>& on_verified) {
  VerifyResult result{.id = found.id,
                      .verdict = verdict_of(found.standing),
                      .why = found.why,
                      .size_bytes = found.size_bytes};
  if (found.standing != CheckpointState::kComplete) return result;
  const auto verified = verify_packs(disk, found, on_verified);
  if (verified) return result;
  const bool is_gone = verified.error().kind() == ErrorKind::kNotFound && is_retired(disk, found.id);
  result.verdict = is_gone ? VerifyOutcome::kRetired : verdict_of(verified.error());
  result.why = verified.error().message();
  return result;
}

}  // namespace ratoon::cli
