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

  // Returns the value of a setting in the profile, or an empty text if the profile does not set it.
  [[nodiscard]] std::string get(const std::string& setting) const {
    return profile ? profile->get(setting) : std::string();
  }
};

// A file that does not exist or may not be read counts as empty. Returns an error if neither file has the
// profile that the program or AWS_PROFILE names.
[[nodiscard]] Result<SharedConfig> read_shared_config(const Environment& environment,
                                                      const StoreOptions& options);

// Returns the AWS region from the first place that has one, in the order of the list in store_options.h.
// Returns an empty text if no place has a region.
[[nodiscard]] std::string region_of(const Environment& environment, const SharedConfig& shared,
                                    const StoreOptions& options);
// Returns the endpoint that is set for a service ("s3", "sts"), or an empty text. Ignores
// StoreOptions::endpoint, which applies to S3 only.
[[nodiscard]] std::string endpoint_of(const std::string& service, const Environment& environment,
                                      const SharedConfig& shared);
// Returns true if requests for s3:// URIs have the bucket in the path (path style), and false if they have
// the bucket in the host name. Returns nothing if neither the options nor the profile choose one of the two.
[[nodiscard]] std::optional<bool> path_style_of(const SharedConfig& shared, const StoreOptions& options);

}  // namespace ratoon::objects
