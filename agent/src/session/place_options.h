// What the options of a run mean for the places of its checkpoints. Looks at no clock, file or network.
#pragma once

#include <filesystem>
#include <string>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/retention.h"
#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/checkpoint/tiers/tiers.h"

namespace ratoon::session {

// kInvalid: a sentence that names the flag and what it was given.
[[nodiscard]] Result<void> check_places(const Options& options);

// Whether checkpoints are saved in a bucket, and there is no folder at all: --save-folder s3://bucket/runs.
[[nodiscard]] bool is_home_in_store(const Options& options);
// Where there is a folder: as the option says it.
[[nodiscard]] std::filesystem::path run_folder(const Options& options);
// The run's own place, in full: "/data/runs/digits", "s3://bucket/runs/digits".
[[nodiscard]] std::string home_of(const Options& options);

[[nodiscard]] checkpoint::TierPlaces tier_places(const Options& options);
[[nodiscard]] checkpoint::KeepRules home_rules(const Options& options);
[[nodiscard]] checkpoint::KeepRules store_rules(const Options& options);
// What a run says at its start, defaults or not: "saves every 100st (--save-every) and keeps the newest 3
// (--keep-last) in /data/runs/digits".
[[nodiscard]] std::string describe_saving(const Options& options);

// `host` counts where nobody else says whose process this is; `start` is drawn anew for each.
[[nodiscard]] checkpoint::Owner owner_of(const Options& options, const std::string& host,
                                         const std::string& identity, std::string start);

}  // namespace ratoon::session
