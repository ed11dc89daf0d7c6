// The meaning of a run's options for the locations of its checkpoints. Uses no clock, file or network.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/retention/retention.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// kInvalid: the message names the flag and quotes its value.
[[nodiscard]] Result<void> check_places(const Options& options);

// Whether checkpoints are saved in a bucket, and there is no folder at all: --save-folder s3://bucket/runs.
[[nodiscard]] bool is_home_in_store(const Options& options);
// The run's folder, as the options name it. Use this only if the home of the run is a folder.
[[nodiscard]] std::filesystem::path run_folder(const Options& options);
// The run's own location, in full: "/data/runs/digits", "s3://bucket/runs/digits".
[[nodiscard]] std::string home_of(const Options& options);

[[nodiscard]] checkpoint::TierLocations tier_locations(const Options& options);
[[nodiscard]] checkpoint::KeepRules home_rules(const Options& options);
[[nodiscard]] checkpoint::KeepRules store_rules(const Options& options);
// The sentence that a run prints at its start, also for defaults: "saves every 100 steps (--save-every) and
// keeps the newest 3 (--keep-last) in /data/runs/digits".
[[nodiscard]] std::string describe_saving(const Options& options);

// `host` is part of the owner's name outside a pod. `start` is drawn anew for each process.
[[nodiscard]] checkpoint::Owner owner_of(const Options& options, const std::string& host,
                                         const std::string& identity, std::string start);

}  // namespace ratoon::session
