// Roles: credentials that AWS' token service gives for a token of a pod (web identity) or for other
// credentials.
#pragma once

#include <memory>
#include <string>

#include "agent/src/objects/credentials/shared_config.h"
#include "agent/src/objects/credentials/source.h"

namespace ratoon::objects {

// AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, else the profile's web_identity_token_file and role_arn.
[[nodiscard]] std::unique_ptr<CredentialSource> web_identity_source(const Surroundings& surroundings,
                                                                    StoreOptions options);

// The profile's role_arn with source_profile or credential_source.
[[nodiscard]] std::unique_ptr<CredentialSource> profile_role_source(const Surroundings& surroundings,
                                                                    StoreOptions options);

}  // namespace ratoon::objects
