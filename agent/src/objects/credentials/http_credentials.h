// Decodes the replies of local metadata servers: of a container (ECS, EKS Pod Identity) and of a machine
// (instance metadata). Pure.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

// Decodes a reply with the keys "AccessKeyId", "SecretAccessKey", "Token" and "Expiration". The value of
// "Expiration" is a time such as "2026-01-02T03:04:05Z". A reply of instance metadata also has "Code":
// "Success". The caller must set the member `source` of the result.
[[nodiscard]] Result<Credentials> decode_http_credentials(std::string_view json);

// Returns true if a token may be sent to this URL. The scheme of such a URL is https, or the host is a
// loopback address or the address of the metadata server of ECS or EKS.
[[nodiscard]] bool is_trusted_container_url(std::string_view url);

}  // namespace ratoon::objects
