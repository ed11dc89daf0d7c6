// Searches for AWS credentials in the same places and in the same order as boto3. The chain uses the
// credentials of the first place that has any, and later refreshes them from the same place.
#pragma once

#include <memory>
#include <vector>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/remote/http_dependencies.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> make_credential_chain(
    std::vector<std::unique_ptr<CredentialSource>> sources);

[[nodiscard]] std::unique_ptr<CredentialSource> make_default_credential_chain(
    const HttpDependencies& dependencies, const StoreOptions& options);

}  // namespace ratoon::objects
