// Computes the locations of a run's checkpoints from its options. The functions use no clock, file or
// network.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/retention/retention.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// Checks the options that name locations. The message of kInvalid names the flag and quotes its value.
[[nodiscard]] Result<void> check_locations(const Options& options);

// Returns whether checkpoints are saved only in a bucket, as with --save-folder s3://bucket/runs.
[[nodiscard]] bool is_home_in_store(const Options& options);
// Makes the save folder and the file of the final weights independent of the working folder, which the
// program may change later.
void make_paths_absolute(Options& options);
// Returns the run's folder. Call run_folder() only if --save-folder is a folder and not a bucket.
[[nodiscard]] std::filesystem::path run_folder(const Options& options);
// Returns the run's own location, such as "/data/runs/digits" or "s3://bucket/runs/digits".
[[nodiscard]] std::string home_location(const Options& options);

[[nodiscard]] checkpoint::TierLocations tier_locations(const Options& options);
[[nodiscard]] checkpoint::KeepRules home_rules(const Options& options);
[[nodiscard]] checkpoint::KeepRules store_rules(const Options& options);
// Returns the text that each run prints at its start, such as "saves every 100 steps (--save-every) and keeps
// the newest 3 (--keep-last) in /data/runs/digits".
[[nodiscard]] std::string describe_saving(const Options& options);

// Returns the owner's name with which a process claims locations. Outside of a pod, `host` is a part of the
// name. `start` is a random id of this process.
[[nodiscard]] checkpoint::Owner owner_of(const Options& options, const std::string& host,
                                         const std::string& identity, std::string start);

}  // namespace ratoon::session
