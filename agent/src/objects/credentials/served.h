// What the two small servers beside a program answer: that of a container (ECS, EKS Pod Identity) and that of
// a machine (instance metadata). Pure.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"

namespace ratoon::objects {

// {"AccessKeyId": ..., "SecretAccessKey": ..., "Token": ..., "Expiration": "2026-01-02T03:04:05Z"}, with
// "Code": "Success" from instance metadata. The source is the caller's to say.
[[nodiscard]] Result<Credentials> decode_served_credentials(std::string_view json);

// Whether a token may be sent there: https, or a host that is known to be this machine's.
[[nodiscard]] bool is_trusted_container_url(std::string_view url);

}  // namespace ratoon::objects
