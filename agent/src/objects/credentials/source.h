// CredentialSource: one place where credentials may be.
//
// Thread contract: one thread at a time.
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
  // Nothing where this place is not in use here; an error where it is, and does not work.
  [[nodiscard]] virtual Result<std::optional<Credentials>> fetch(const std::stop_token& stop) = 0;
  // Why it had nothing, for the sentence that lists where was looked: "AWS_ACCESS_KEY_ID is not set".
  [[nodiscard]] virtual std::string why_not() const = 0;
};

}  // namespace ratoon::objects
