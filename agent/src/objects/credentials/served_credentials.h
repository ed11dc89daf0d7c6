// Decodes the replies of local metadata servers: of a container (ECS, EKS Pod Identity) and of a machine
// (instance metadata). Pure.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

// Decodes {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ..., "Expiration": "2026-01-02T03:04:05Z"};
// instance metadata adds "Code": "Success". The caller sets `source` in the result.
[[nodiscard]] Result<Credentials> decode_served_credentials(std::string_view json);

// Returns whether a token may be sent to this URL: it is https, or its host is known to be this machine.
[[nodiscard]] bool is_trusted_container_url(std::string_view url);

}  // namespace ratoon::objects
