// Reads the settings of AWS tools for this process, from the environment and the two shared files.
#pragma once

#include <optional>
#include <string>

#include <ratoon/result.h>
#include <ratoon/store_options.h>

#include "agent/src/objects/credentials/shared_files.h"
#include "agent/src/objects/remote/http_dependencies.h"

namespace ratoon::objects {

struct SharedConfig {
  std::string credentials_path;
  std::string config_path;
  Sections credentials{};
  Sections config{};
  std::string profile_name;
  std::optional<Profile> profile{};  // nothing if neither file has it

  // Returns the profile's setting, or an empty text.
  [[nodiscard]] std::string get(const std::string& setting) const {
    return profile ? profile->get(setting) : std::string();
  }
};

// A missing file counts as empty. A profile that was named but is in no file is an error.
[[nodiscard]] Result<SharedConfig> read_shared_config(const Environment& environment,
                                                      const StoreOptions& options);

// Returns the AWS region from the first place in store_options.h that sets it; empty if no place does.
[[nodiscard]] std::string region_of(const Environment& environment, const SharedConfig& shared,
                                    const StoreOptions& options);
// Returns the endpoint that is set for a service ("s3", "sts"), or an empty text. Ignores
// StoreOptions::endpoint, which is for S3 only.
[[nodiscard]] std::string endpoint_of(const std::string& service, const Environment& environment,
                                      const SharedConfig& shared);
// Returns whether s3:// URIs use path style, if the option or the profile says so.
[[nodiscard]] std::optional<bool> path_style_of(const SharedConfig& shared, const StoreOptions& options);

}  // namespace ratoon::objects
