// Requests the temporary credentials of a role from AWS STS, in exchange for a pod's token or for other
// credentials.
#pragma once

#include <memory>
#include <string>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/credentials/shared_config.h"

namespace ratoon::objects {

// Requests a role with a token from a file. The environment variables AWS_WEB_IDENTITY_TOKEN_FILE and
// AWS_ROLE_ARN name the file and the role. If a variable is not set, or the program names a profile, the
// setting web_identity_token_file or role_arn of the profile is used instead.
[[nodiscard]] std::unique_ptr<CredentialSource> web_identity_source(const HttpDependencies& dependencies,
                                                                    StoreOptions options);

// Requests the role that the profile's role_arn names, with the credentials that source_profile or
// credential_source names.
[[nodiscard]] std::unique_ptr<CredentialSource> profile_role_source(const HttpDependencies& dependencies,
                                                                    StoreOptions options);

}  // namespace ratoon::objects
