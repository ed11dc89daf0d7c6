// Decodes the replies of local metadata servers: of a container (ECS, EKS Pod Identity) and of a machine
// (instance metadata). Pure.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

// Decodes a reply with the keys "AccessKeyId", "SecretAccessKey", "Token" and "Expiration", such as
// "2026-01-02T03:04:05Z". A reply of instance metadata also has "Code": "Success". The caller must set the
// member `source` of the result.
[[nodiscard]] Result<Credentials> decode_served_credentials(std::string_view json);

// Returns true if a token may be sent to this URL: its scheme is https, or its host is an address of this
// machine.
[[nodiscard]] bool is_trusted_container_url(std::string_view url);

}  // namespace ratoon::objects
