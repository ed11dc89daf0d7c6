// The two files that AWS' tools share, read as boto3 reads them: ~/.aws/credentials has [name], ~/.aws/config
// has [profile name] and [default]. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

// Names in lower case; what is indented under "s3 =" is "s3.addressing_style".
using Settings = std::map<std::string, std::string>;
using Sections = std::map<std::string, Settings>;

// `shown` names the file in messages.
[[nodiscard]] Result<Sections> parse_shared_file(std::string_view text, std::string_view shown);

// A profile as both files together have it: keys of the credentials file count before those of the other.
struct Profile {
  std::string name;
  Settings credentials{};  // of the credentials file
  Settings config{};       // of the config file
  Settings services{};     // of the section [services X] that the profile names

  // From either file, the credentials file's first; empty where it is in neither.
  [[nodiscard]] std::string get(const std::string& setting) const;
};

// Nothing where neither file has it.
[[nodiscard]] std::optional<Profile> find_profile(const std::string& name, const Sections& credentials,
                                                  const Sections& config);

}  // namespace ratoon::objects
