// Credentials: who signs a request, until when, and where that was found.
#pragma once

#include <optional>
#include <string>

#include "base/core/clock.h"

namespace ratoon::objects {

struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token{};           // empty: of a user, for good
  std::optional<WallTime> expires_at{};  // nothing: for good
  std::string source{};                  // "the profile 'default' in ~/.aws/credentials", for messages

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

}  // namespace ratoon::objects
