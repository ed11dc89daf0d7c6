// The settings of AWS' tools for this process: the environment and the two shared files.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/objects/credentials/shared_files.h"
#include "agent/src/objects/remote/surroundings.h"

namespace ratoon::objects {

struct SharedConfig {
  std::string credentials_path;
  std::string config_path;
  Sections credentials{};
  Sections config{};
  std::string profile_name;
  std::optional<Profile> profile{};  // nothing where neither file has it

  // Of the profile, or empty.
  [[nodiscard]] std::string get(const std::string& setting) const {
    return profile ? profile->get(setting) : std::string();
  }
};

// Files that are missing are empty. A profile that was asked for by name and is in neither is an error.
[[nodiscard]] Result<SharedConfig> read_shared_config(const Environment& environment,
                                                      const StoreOptions& options);

// The region, in the order that store_options.h says; empty where nothing names one.
[[nodiscard]] std::string region_of(const Environment& environment, const SharedConfig& shared,
                                    const StoreOptions& options);
// The endpoint of a service ("s3", "sts") that somebody set, or empty. The option is S3's.
[[nodiscard]] std::string endpoint_of(const std::string& service, const Environment& environment,
                                      const SharedConfig& shared);
// Of s3://: what the option or the profile says.
[[nodiscard]] std::optional<bool> path_style_of(const SharedConfig& shared, const StoreOptions& options);

}  // namespace ratoon::objects
