// Small files of a run's places beside packs and manifests: heads of staged slots, records of rollbacks,
// claims.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "agent/src/checkpoint/format/rollback.h"
#include "agent/src/checkpoint/staging/slot_info.h"
#include "agent/src/checkpoint/staging/slot_rules.h"
#include "agent/src/checkpoint/tiers/claim_rules.h"
#include "base/core/crc32c.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using namespace checkpoint;  // NOLINT

constexpr std::size_t kHomeAt = 8;  // in a slot info
constexpr std::size_t kReceiptBytesAt = 72;
constexpr std::size_t kReceiptAt = 80;

void check_slot_info(std::span<const std::byte> bytes, std::uint64_t home) {
  const auto known = decode_slot_info(bytes, home);
  if (!known) return;
  const std::string again = encode_slot_info(*known, home);
  const auto known_again = decode_slot_info(std::as_bytes(std::span(again)), home);
  require(known_again && encode_slot_info(*known_again, home) == again);
  require(decode_slot_info(std::as_bytes(std::span(again)), home + 1) == std::nullopt);
  const LeftoverAction legacy = choose_leftover_action(*known, known->pack.image_bytes, {});
  require(legacy != LeftoverAction::kFinish || known->is_complete());
  require(choose_leftover_action(*known, known->pack.image_bytes, known->pack.id) ==
          LeftoverAction::kDiscard);
}

void check_rollback(std::string_view bytes) {
  const auto known = decode_rollback(bytes);
  if (!known) return require(!known.error().message().empty() && known.error().message().size() < 1024);
  require(decode_rollback(encode_rollback(*known)).value() == *known);
  check_seal(std::string(bytes), *known, decode_rollback);
  const Rollback later{.attempt = known->attempt.next(), .to = known->to, .skip = 1, .skip_to = known->skip};
  const auto now = rollbacks_in_force({later, *known});
  require(!now.empty() && now.back() == later);
  require(!is_given_up(known->to, std::span(now)));
  require(slot_after_rollbacks(known->to, known->skip, std::span(now)) >= known->skip);
}

}  // namespace

void slot_info(std::string_view bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  check_slot_info(raw, 0);
  // With the length and the checksum, and for the home, that the file would have.
  if (bytes.size() < kReceiptAt) return;
  std::string head(bytes.substr(0, kSlotInfoBytesMax));
  std::uint64_t home = 0;
  std::memcpy(&home, head.data() + kHomeAt, sizeof home);
  const std::uint64_t receipt_bytes = head.size() - kReceiptAt;
  std::memcpy(head.data() + kReceiptBytesAt, &receipt_bytes, sizeof receipt_bytes);
  const std::uint32_t sum = crc32c(std::as_bytes(std::span(head)));
  head.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  check_slot_info(std::as_bytes(std::span(head)), home);
}

void rollback(std::string_view bytes) {
  check_rollback(bytes);
  std::array<char, 24> line{};
  std::snprintf(line.data(), line.size(), "crc32c:%08x\n", crc32c(std::as_bytes(std::span(bytes))));
  check_rollback(std::string(bytes) + line.data());
}

void claim(std::string_view bytes) {
  constexpr std::uint64_t kNumber = 7;  // that of its file's name
  const auto known = decode_claim(kNumber, bytes);
  if (!known) return require(known.error().kind() == ErrorKind::kCorrupted);
  const std::string again = encode_claim(known->owner, known->term, known->is_released);
  require(again == bytes && decode_claim(kNumber, again).value() == *known);
  const std::string& job = known->owner.job;
  require(compare_jobs(job, job) == JobRelation::kSame);
  require(compare_jobs(job, known->owner.start) == compare_jobs(known->owner.start, job));
  // An owner whose sign of life was never seen is watched; an owner that released the place, or has been
  // silent for a lease, loses it.
  const ClaimTimes times;
  const Owner newcomer{.job = known->owner.start, .start = "new"};
  require(judge_claim(newcomer, {.first = *known, .now = *known, .unchanged_duration = times.lease}, times) ==
          ClaimVerdict::kTake);
  const auto at_first = judge_claim(newcomer, {.first = *known, .now = *known}, times);
  const bool is_free = known->is_released || compare_jobs(newcomer.job, job) == JobRelation::kSame;
  require(at_first == (is_free ? ClaimVerdict::kTake : ClaimVerdict::kWatch));
}

}  // namespace ratoon::fuzz
