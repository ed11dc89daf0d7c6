// CredentialSource: one place where credentials may be found, such as the environment.
//
// Thread contract: only one thread at a time may use an object of this file.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Returns nothing if the source has no credentials, and an error if reading them fails.
  [[nodiscard]] virtual Result<std::optional<Credentials>> fetch(const std::stop_token& stop) = 0;
  // Returns the reason why fetch() found no credentials, such as "AWS_ACCESS_KEY_ID is not set". The error
  // about missing credentials quotes the reason that missing_reason() returns.
  [[nodiscard]] virtual std::string missing_reason() const = 0;
};

}  // namespace ratoon::objects
