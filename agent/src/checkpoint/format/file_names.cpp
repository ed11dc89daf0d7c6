#include "agent/src/checkpoint/format/file_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/core/xxh3.h"

namespace ratoon::checkpoint {
namespace {

constexpr std::string_view kHistoryEnding = ".jsonl";
constexpr std::string_view kRollbackEnding = ".json";
constexpr std::string_view kCommitNotePrefix = "committed.";
constexpr std::string_view kPackEnding = ".safetensors";

std::string numbered_name(char prefix, int digits, std::uint64_t value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%c%0*llu", prefix, digits, static_cast<unsigned long long>(value));
  return text.data();
}

std::string attempt_name(Attempt attempt) {
  return numbered_name('a', 4, attempt.value());
}
std::string step_name(Step step) {
  return numbered_name('s', 10, step.value());
}

std::string checkpoint_folder(const std::string& kind, const CheckpointId& id) {
  return kind + "/" + attempt_name(id.attempt) + "/" + step_name(id.step);
}

std::string rank_name(Rank rank) {
  return numbered_name('r', 4, rank.value());
}

std::string manifest_name(const CheckpointId& id) {
  return step_name(id.step) + "." + attempt_name(id.attempt) + ".json";
}

// Returns the number in a name that consists of one letter and a number, such as "x123"; 0 if there is no
// number.
std::uint64_t number_in(std::string_view name) {
  std::uint64_t number = 0;
  if (name.size() > 1) std::from_chars(name.data() + 1, name.data() + name.size(), number);
  return number;
}

}  // namespace

std::string manifest_path(const CheckpointId& id, std::string_view folder) {
  return std::string(folder) + "/" + manifest_name(id);
}

std::string quarantine_reason_path(const CheckpointId& id) {
  return manifest_path(id, kQuarantine) + ".reason.txt";
}

std::string packs_folder(const CheckpointId& id) {
  return checkpoint_folder(kPacks, id);
}

std::string receipts_folder(const CheckpointId& id) {
  return checkpoint_folder(kReceipts, id);
}

std::string parts_folder(const CheckpointId& id) {
  return checkpoint_folder(kParts, id);
}

std::string part_path(const CheckpointId& saved_in, std::string_view header_digest) {
  return parts_folder(saved_in) + "/" + std::string(header_digest) + std::string(kPackEnding);
}

std::string pack_path(const CheckpointId& id, Rank rank) {
  return packs_folder(id) + "/" + rank_name(rank) + std::string(kPackEnding);
}

std::string commit_note_path(Attempt attempt) {
  return std::string(kPacks) + "/" + std::string(kCommitNotePrefix) + attempt_name(attempt);
}

std::string receipt_path(const CheckpointId& id, Rank rank) {
  return receipts_folder(id) + "/" + rank_name(rank) + ".json";
}

std::string rollback_path(Attempt attempt) {
  return std::string(kRollbacks) + "/" + attempt_name(attempt) + std::string(kRollbackEnding);
}

std::string history_path(Attempt attempt) {
  return std::string(kHistory) + "/" + attempt_name(attempt) + std::string(kHistoryEnding);
}

bool is_reserved_in_run_folder(std::string_view name) {
  constexpr std::array<std::string_view, 15> kTaken{
      kFilesFolder, kManifests, kPacks,  kParts, kReceipts,         kQuarantine, kAsideFolder, kRollbacks,
      kHistory,     kLaunches,  kClaims, kPins,  kRendezvousFolder, kLockFile,   kOwnerFile};
  return std::ranges::find(kTaken, name) != kTaken.end();
}

// The parsers accept only names that Ratoon itself creates. The parsers refuse, for example, names with
// signs, spaces, too few leading zeros, other endings, or numbers above the limits.

std::optional<Attempt> parse_attempt_name(std::string_view name) {
  const Attempt attempt(number_in(name));
  if (attempt.value() > kAttemptMax || attempt_name(attempt) != name) return std::nullopt;
  return attempt;
}

namespace {

std::optional<Attempt> parse_attempt_file(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  return parse_attempt_name(name);
}

}  // namespace

std::optional<Attempt> parse_rollback_name(std::string_view name) {
  return parse_attempt_file(name, kRollbackEnding);
}

std::optional<Attempt> parse_commit_note_name(std::string_view name) {
  if (!name.starts_with(kCommitNotePrefix)) return std::nullopt;
  return parse_attempt_name(name.substr(kCommitNotePrefix.size()));
}

std::optional<Attempt> parse_history_name(std::string_view name) {
  return parse_attempt_file(name, kHistoryEnding);
}

std::optional<Step> parse_step_name(std::string_view name) {
  const Step step(number_in(name));
  if (step.value() > kNumberMax || step_name(step) != name) return std::nullopt;
  return step;
}

std::optional<CheckpointId> parse_manifest_name(std::string_view name) {
  constexpr std::string_view kEnding = ".json";
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || !name.substr(dot + 1).ends_with(kEnding)) return std::nullopt;
  const auto step = parse_step_name(name.substr(0, dot));
  name.remove_suffix(kEnding.size());
  const auto attempt = parse_attempt_name(name.substr(dot + 1));
  if (!step || !attempt) return std::nullopt;
  return CheckpointId{.attempt = *attempt, .step = *step};
}

bool has_number_above_limit(std::string_view name) {
  constexpr std::size_t kDigitsMin = 10;  // a number with fewer digits is within the limits
  for (;;) {
    const std::string_view part = name.substr(0, name.find('.'));
    const bool is_whole = part.size() > kDigitsMin && part[1] != '0' &&
                          part.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (is_whole && part[0] == 'a' && !parse_attempt_name(part)) return true;
    if (is_whole && part[0] == 's' && !parse_step_name(part)) return true;
    if (part.size() == name.size()) return false;
    name.remove_prefix(part.size() + 1);
  }
}

namespace {

constexpr std::string_view kTemporaryEnding = ".tmp";
constexpr std::string_view kReasonEnding = ".reason.txt";

// Returns the final name in the name of a temporary file: "name" for ".name.mark.tmp".
std::optional<std::string_view> parse_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kTemporaryEnding)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(kTemporaryEnding.size());
  const auto mark = name.rfind('.');
  if (mark == std::string_view::npos) return std::nullopt;
  return name.substr(0, mark);
}

}  // namespace

std::string temporary_path(const std::string& path, std::string_view mark) {
  std::string temporary = path;
  temporary.insert(path.rfind('/') + 1, ".");  // npos + 1 is 0
  temporary += '.';
  temporary += mark;
  temporary += kTemporaryEnding;
  return temporary;
}

bool is_name_of_rank_file(std::string_view name) {
  name = parse_temporary_name(name).value_or(name);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::uint64_t rank = number_in(name.substr(0, dot));
  if (rank > 0xffffffff || rank_name(Rank(static_cast<std::uint32_t>(rank))) != name.substr(0, dot))
    return false;
  return name.substr(dot) == kPackEnding || name.substr(dot) == ".json";
}

bool is_name_of_part_file(std::string_view name) {
  name = parse_temporary_name(name).value_or(name);
  if (!name.ends_with(kPackEnding)) return false;
  name.remove_suffix(kPackEnding.size());
  return parse_hash128(name).has_value();
}

std::optional<Attempt> parse_temporary_rollback_name(std::string_view name) {
  const auto whole = parse_temporary_name(name);
  return whole ? parse_rollback_name(*whole) : std::nullopt;
}

std::optional<CheckpointId> parse_temporary_manifest_name(std::string_view name) {
  auto whole = parse_temporary_name(name);
  if (!whole) return std::nullopt;
  if (whole->ends_with(kReasonEnding)) whole->remove_suffix(kReasonEnding.size());
  return parse_manifest_name(*whole);
}

}  // namespace ratoon::checkpoint
