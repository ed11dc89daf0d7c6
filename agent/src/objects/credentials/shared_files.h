// Parses the two files that AWS tools share, as boto3 does: ~/.aws/credentials has [name], ~/.aws/config has
// [profile name] and [default]. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// Names are in lower case. A setting that is indented under "s3 =" has a name like "s3.addressing_style".
using Settings = std::map<std::string, std::string>;
using Sections = std::map<std::string, Settings>;

// `shown` names the file in messages.
[[nodiscard]] Result<Sections> parse_shared_file(std::string_view text, std::string_view shown);

// A profile from both files. Settings of ~/.aws/credentials have precedence over settings of ~/.aws/config.
struct Profile {
  std::string name;
  Settings credentials{};  // from the credentials file
  Settings config{};       // from the config file
  Settings services{};     // from the section [services X] that the profile names

  // Returns the setting from the credentials file, or else from the config file, or an empty text.
  [[nodiscard]] std::string get(const std::string& setting) const;
};

// Returns nothing if neither file has the profile.
[[nodiscard]] std::optional<Profile> find_profile(const std::string& name, const Sections& credentials,
                                                  const Sections& config);

}  // namespace ratoon::objects
