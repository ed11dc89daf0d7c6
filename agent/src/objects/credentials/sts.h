// Requests credentials of a role, which AWS STS issues for a pod's token or for other credentials.
#pragma once

#include <memory>
#include <string>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/credentials/shared_config.h"

namespace ratoon::objects {

// Uses AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, else the profile's web_identity_token_file and role_arn.
[[nodiscard]] std::unique_ptr<CredentialSource> web_identity_source(const HttpDependencies& dependencies,
                                                                    StoreOptions options);

// Uses the profile's role_arn with source_profile or credential_source.
[[nodiscard]] std::unique_ptr<CredentialSource> profile_role_source(const HttpDependencies& dependencies,
                                                                    StoreOptions options);

}  // namespace ratoon::objects
