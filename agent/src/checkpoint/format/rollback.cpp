#include "agent/src/checkpoint/format/rollback.h"

#include <algorithm>
#include <optional>

#include "agent/src/checkpoint/format/sealed_json.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::uint64_t kRollbackFormat = 1;
constexpr std::uint64_t kRollbackCountMax = (1ULL << 53) - 1;
constexpr std::uint64_t kSkippedSlotsMax = 1ULL << 62;

}  // namespace

std::string encode_rollback(const Rollback& rollback) {
  const nlohmann::json to = {{"attempt", rollback.to.attempt.value()}, {"step", rollback.to.step.value()}};
  return encode_with_checksum({{"format", kRollbackFormat},
                               {"attempt", rollback.attempt.value()},
                               {"to", to},
                               {"skip", rollback.skip},
                               {"skip_to", rollback.skip_to}});
}

Result<Rollback> decode_rollback(std::string_view text) {
  const auto body = decode_with_checksum(text, kRollbackBytesMax);
  if (!body) return body.error();
  std::optional<Error> complaint;
  Fields f(*body, "rollback", complaint);
  if (f.whole("format", kRollbackCountMax) != kRollbackFormat)
    f.complain("format", "1, the format of this version; use the Ratoon that wrote it");
  Rollback rollback;
  rollback.attempt = Attempt(f.whole("attempt", kRollbackCountMax));
  Fields to = f.object("to");
  rollback.to = {.attempt = Attempt(to.whole("attempt", kRollbackCountMax)),
                 .step = Step(to.whole("step", kRollbackCountMax))};
  rollback.skip = f.whole("skip", kSkippedSlotsMax);
  rollback.skip_to = f.whole("skip_to", kSkippedSlotsMax);
  if (complaint) return *complaint;
  return rollback;
}

std::vector<Rollback> rollbacks_in_force(std::vector<Rollback> all) {
  std::sort(all.begin(), all.end(),
            [](const Rollback& a, const Rollback& b) { return a.attempt < b.attempt; });
  std::vector<Rollback> standing;
  for (const Rollback& next : all) {
    while (!standing.empty() && next.to.attempt < standing.back().attempt) standing.pop_back();
    standing.push_back(next);
  }
  return standing;
}

bool is_given_up(const CheckpointId& id, std::span<const Rollback> in_force) {
  return std::any_of(in_force.begin(), in_force.end(), [&](const Rollback& one) {
    return id.attempt < one.attempt && (id > one.to || id.step > one.to.step);
  });
}

std::uint64_t slot_after_rollbacks(const CheckpointId& resumed, std::uint64_t cursor,
                                   std::span<const Rollback> in_force) {
  for (const Rollback& one : in_force)
    if (resumed.attempt < one.attempt) cursor = std::max(cursor, one.skip_to);
  return cursor;
}

}  // namespace ratoon::checkpoint
