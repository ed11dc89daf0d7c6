// CredentialSource: one place where credentials may be found.
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
  // Returns nothing if the program does not use this place, or an error if the place fails.
  [[nodiscard]] virtual Result<std::optional<Credentials>> fetch(const std::stop_token& stop) = 0;
  // Returns why fetch() found nothing, such as "AWS_ACCESS_KEY_ID is not set". Error texts quote the reason.
  [[nodiscard]] virtual std::string why_not() const = 0;
};

}  // namespace ratoon::objects
