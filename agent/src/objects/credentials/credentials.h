// Credentials: the keys with which requests are signed, the time at which they expire, and the place where
// they were found.
#pragma once

#include <optional>
#include <string>

#include "base/core/clock.h"

namespace ratoon::objects {

struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token{};           // empty: keys of a user, which do not expire
  std::optional<WallTime> expires_at{};  // nothing: they do not expire
  std::string source{};                  // "the profile 'default' in ~/.aws/credentials", for messages

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

}  // namespace ratoon::objects
