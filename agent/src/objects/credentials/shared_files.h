// Parses the two settings files of AWS tools as boto3 does. A section for a profile is called [name] in
// ~/.aws/credentials, and [profile name] or [default] in ~/.aws/config. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// The names of settings are converted to lower case. A setting that is indented under the line "s3 =" gets a
// name such as "s3.addressing_style".
using Settings = std::map<std::string, std::string>;
using Sections = std::map<std::string, Settings>;

// `shown` is the name of the file for error messages.
[[nodiscard]] Result<Sections> parse_shared_file(std::string_view text, std::string_view shown);

// Profile has the settings of one profile from ~/.aws/credentials and ~/.aws/config. If both files have a
// setting, get() returns the setting in ~/.aws/credentials.
struct Profile {
  std::string name;
  Settings credentials{};  // from the credentials file
  Settings config{};       // from the config file
  Settings services{};     // from the section [services X] that the profile names

  // Returns a setting of the profile: from the credentials file if it is there, otherwise from the config
  // file. Returns an empty text if neither file has the setting.
  [[nodiscard]] std::string get(const std::string& setting) const;
};

// Returns nothing if neither file has the profile.
[[nodiscard]] std::optional<Profile> find_profile(const std::string& name, const Sections& credentials,
                                                  const Sections& config);

}  // namespace ratoon::objects
