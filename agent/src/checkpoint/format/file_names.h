// The names of all files in a run's folder, and the parsers of these names. Files of checkpoints and of
// rollbacks are immutable: such a file is created once and never changed, but may be moved or deleted.
//
//   <save_folder>/<run_name>/
//     packs/a0003/s0000001200/r0002.safetensors   the tensors of one rank
//     packs/committed.a0003                       attempt 3 has committed a checkpoint
//     parts/a0003/s0000001200/0f...e1.safetensors some rows of a tensor that is saved in parts
//     receipts/a0003/s0000001200/r0002.json       that rank's vote for its pack
//     manifests/s0000001200.a0003.json            the commit: names every pack
//     quarantine/s0000001200.a0003.json           the manifest of a bad checkpoint
//     aside/s0000001200.a0003.json                the manifest of a checkpoint that a rollback gave up
//     rollbacks/a0003.json                        attempt 3 began with a rollback
//     history/a0003.jsonl                         the reports of attempt 3
//     files/measures.csv                          a file that the program appends to (AppendFile)
//     pins/s0000001200.a0003.json                 keeps that checkpoint, and says why
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

  // Checkpoints are ordered by attempt, then by step.
  friend auto operator<=>(const CheckpointId&, const CheckpointId&) = default;
};

// The greatest step number: many readers of JSON do not hold integers above 2^53 - 1 exactly. Ratoon never
// makes a file name with a step above kNumberMax.
inline constexpr std::uint64_t kNumberMax = (1ULL << 53) - 1;
// The greatest attempt number that a process may report, enough for one attempt per second for thirty years.
// Ratoon never makes a file name with a greater attempt number, and starts no attempt after attempt
// kAttemptMax.
inline constexpr std::uint64_t kAttemptMax = contract::kAttemptMax;

// Names of the files and folders directly in the run's folder.
inline constexpr const char* kManifests = "manifests";
inline constexpr const char* kPacks = "packs";
inline constexpr const char* kParts = "parts";
inline constexpr const char* kOldCommitNotes[] = {"packs/committed",
                                                  "receipts/committed"};  // written by older versions
inline constexpr const char* kReceipts = "receipts";
inline constexpr const char* kQuarantine = "quarantine";
inline constexpr const char* kAsideFolder = "aside";
inline constexpr const char* kRollbacks = "rollbacks";
inline constexpr const char* kHistory = "history";
inline constexpr const char* kLaunches = "launches";  // session/locations/launch_record.h
inline constexpr const char* kClaims = "claims";
inline constexpr const char* kPins = "pins";
inline constexpr const char* kFilesFolder = "files";
inline constexpr const char* kRendezvousFolder = "meeting";  // where ranks of a launch find each other
inline constexpr const char* kLockFile = "lock";
inline constexpr const char* kOwnerFile = "owner";  // session/locations/identity.h
// `folder` is kQuarantine for a damaged checkpoint, and kAsideFolder for a checkpoint that a rollback gave
// up. A pin file in kPins has the same name as the manifest of the pinned checkpoint.
[[nodiscard]] std::string manifest_path(const CheckpointId& id, std::string_view folder = kManifests);
// Returns the path of the text file, beside a manifest in quarantine/, that says why the checkpoint is in
// quarantine.
[[nodiscard]] std::string quarantine_reason_path(const CheckpointId& id);
[[nodiscard]] std::string packs_folder(const CheckpointId& id);
[[nodiscard]] std::string receipts_folder(const CheckpointId& id);
[[nodiscard]] std::string parts_folder(const CheckpointId& id);
// `header_digest` is the digest of the part file's header, in hexadecimal digits.
[[nodiscard]] std::string part_path(const CheckpointId& saved_in, std::string_view header_digest);
[[nodiscard]] std::string pack_path(const CheckpointId& id, Rank rank);
[[nodiscard]] std::string commit_note_path(Attempt attempt);  // lost_manifests.h
[[nodiscard]] std::string receipt_path(const CheckpointId& id, Rank rank);
[[nodiscard]] std::string rollback_path(Attempt attempt);
[[nodiscard]] std::string history_path(Attempt attempt);

// Returns true for a name such as "packs" or "lock", which a run gives to a file or folder in its own folder.
// A program must not use a reserved name.
[[nodiscard]] bool is_reserved_in_run_folder(std::string_view name);

// Returns the attempt in the name of a folder such as "a0003"; returns nothing for any other name.
[[nodiscard]] std::optional<Attempt> parse_attempt_name(std::string_view name);

// Returns the attempt in the name of a file that marks an attempt as having committed a checkpoint, such as
// "committed.a0003"; returns nothing for any other name.
[[nodiscard]] std::optional<Attempt> parse_commit_note_name(std::string_view name);
// Returns the attempt in the name of a history file (the reported values of one attempt), such as
// "a0003.jsonl"; returns nothing for any other name.
[[nodiscard]] std::optional<Attempt> parse_history_name(std::string_view name);

// Returns the attempt in the name of a rollback's record, such as "a0003.json"; returns nothing for any other
// name.
[[nodiscard]] std::optional<Attempt> parse_rollback_name(std::string_view name);

// Returns the step in the name of a folder such as "s0000001200"; returns nothing for any other name.
[[nodiscard]] std::optional<Step> parse_step_name(std::string_view name);

// Returns the name that a file has until it is complete: "packs/a0003/.r0002.json.0123.tmp" for
// "packs/a0003/r0002.json" and the mark "0123".
[[nodiscard]] std::string temporary_path(const std::string& path, std::string_view mark);

// Returns true if the name is that of a rank's pack ("r0002.safetensors"), of its receipt ("r0002.json"), or
// of a temporary file of a pack or receipt (".r0002.json.0123.tmp").
[[nodiscard]] bool is_name_of_rank_file(std::string_view name);

// Returns true if the name is that of a part file ("0f...e1.safetensors", with 32 hexadecimal digits) or of a
// temporary file of a part.
[[nodiscard]] bool is_name_of_part_file(std::string_view name);

// Returns the checkpoint in the name of a temporary manifest, such as ".s0000001200.a0003.json.0123.tmp", or
// in the name of the temporary text that explains a manifest in quarantine/.
[[nodiscard]] std::optional<CheckpointId> parse_temporary_manifest_name(std::string_view name);

// Returns the attempt in the name of a temporary record of a rollback, such as ".a0003.json.0123.tmp".
[[nodiscard]] std::optional<Attempt> parse_temporary_rollback_name(std::string_view name);

// Returns the checkpoint in the name of a manifest, such as "s0000001200.a0003.json"; returns nothing for any
// other name.
[[nodiscard]] std::optional<CheckpointId> parse_manifest_name(std::string_view name);

// Returns true if the name has the form of a run's file names, but its number is above the limits, as in
// "a9007199254740991" and "s0000001200.a9007199254740991.json". Ratoon makes no names with numbers above the
// limits, and warns if it finds such a name.
[[nodiscard]] bool has_number_above_limit(std::string_view name);

}  // namespace ratoon::checkpoint
