// Every file name of a run's folder, and the parser of those that are found there. Names are immutable: a
// file is created once and only ever deleted.
//
//   <save_folder>/<run_name>/packs/a0003/s0000001200/r0002.safetensors   one rank's tensors
//                            receipts/a0003/s0000001200/r0002.json       that rank's vote for its pack
//                            packs/committed.a0003                       a checkpoint of that attempt was
//                            committed manifests/s0000001200.a0003.json            the commit: names every
//                            pack quarantine/s0000001200.a0003.json           a manifest whose checkpoint is
//                            bad aside/s0000001200.a0003.json                one of a lineage that was given
//                            up rollbacks/a0003.json                        that attempt went back by hand
//                            history/a0003.jsonl                         what that attempt reported
//                            pins/s0000001200.a0003.json                 that checkpoint stays, and why
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/contract/limits.h"
#include "base/contract/messages.h"

namespace ratoon::checkpoint {

struct CheckpointId {
  Attempt attempt{0};
  Step step{0};

  // Newer attempts come later, whatever their step.
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

// Of steps: what JSON says exactly. A greater one in a name is somebody else's.
inline constexpr std::uint64_t kNumberMax = (1ULL << 53) - 1;
// Of attempts: one a second for thirty years, and the most that a process may say it left. A greater one in a
// name is somebody else's, and after this one no attempt begins.
inline constexpr std::uint64_t kAttemptMax = contract::kAttemptMax;

// Paths below the run's folder.
inline constexpr const char* kManifests = "manifests";
inline constexpr const char* kPacks = "packs";
inline constexpr const char* kCommittedBefore[] = {"packs/committed",
                                                   "receipts/committed"};  // of older versions
inline constexpr const char* kReceipts = "receipts";
inline constexpr const char* kQuarantine = "quarantine";
inline constexpr const char* kAside = "aside";
inline constexpr const char* kRollbacks = "rollbacks";
inline constexpr const char* kHistory = "history";
inline constexpr const char* kLaunches = "launches";  // session/launch_record.h
inline constexpr const char* kClaims = "claims";
inline constexpr const char* kPins = "pins";
inline constexpr const char* kMeeting = "meeting";  // where ranks of a launch find each other
inline constexpr const char* kLock = "lock";
inline constexpr const char* kOwner = "owner";  // session/identity.h
// Also of one that was set aside, in kQuarantine or kAside; what kPins has bears the same names.
[[nodiscard]] std::string manifest_path(const CheckpointId& id, std::string_view folder = kManifests);
// Beside a manifest in quarantine: why it is there, for people.
[[nodiscard]] std::string reason_path(const CheckpointId& id);
[[nodiscard]] std::string packs_folder(const CheckpointId& id);
[[nodiscard]] std::string receipts_folder(const CheckpointId& id);
[[nodiscard]] std::string pack_path(const CheckpointId& id, Rank rank);
[[nodiscard]] std::string committed_path(Attempt attempt);  // lost_manifests.h
[[nodiscard]] std::string receipt_path(const CheckpointId& id, Rank rank);
[[nodiscard]] std::string rollback_path(Attempt attempt);
[[nodiscard]] std::string history_path(Attempt attempt);

// "packs", "lock", and whatever else a run makes in its folder itself, but for links: nobody else's file may
// be called so.
[[nodiscard]] bool is_taken_in_run_folder(std::string_view name);

// "a0003", and nothing else.
[[nodiscard]] std::optional<Attempt> parse_attempt_name(std::string_view name);

// "a0003.jsonl", and nothing else.
[[nodiscard]] std::optional<Attempt> parse_committed_name(std::string_view name);
[[nodiscard]] std::optional<Attempt> parse_history_name(std::string_view name);

// "a0003.json", and nothing else.
[[nodiscard]] std::optional<Attempt> parse_rollback_name(std::string_view name);

// "s0000001200", and nothing else.
[[nodiscard]] std::optional<Step> parse_step_name(std::string_view name);

// "packs/a0003/.r0002.json.0123.tmp" while "packs/a0003/r0002.json" is being written by the one of mark
// "0123".
[[nodiscard]] std::string temporary_path(const std::string& path, std::string_view mark);

// Packs, receipts, and their temporary files: "r0002.safetensors", ".r0002.json.0123.tmp".
[[nodiscard]] bool is_name_of_rank_file(std::string_view name);

// ".s0000001200.a0003.json.0123.tmp", and of the reason of a quarantine: whose temporary file it is.
[[nodiscard]] std::optional<CheckpointId> parse_temporary_manifest_name(std::string_view name);

// ".a0003.json.0123.tmp": whose temporary file it is.
[[nodiscard]] std::optional<Attempt> parse_temporary_rollback_name(std::string_view name);

// "s0000001200.a0003.json", and nothing else.
[[nodiscard]] std::optional<CheckpointId> parse_manifest_name(std::string_view name);

// "a9007199254740991", "s0000001200.a9007199254740991.json": as ours are called, but for a number that no run
// reaches. Somebody's, and worth a word.
[[nodiscard]] bool is_beyond_counting(std::string_view name);

}  // namespace ratoon::checkpoint
