// Searches for AWS credentials in the same places and in the same order as boto3. The credentials of the
// first place that has some are used, and later refreshed from the same place.
#pragma once

#include <memory>
#include <vector>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/remote/http_dependencies.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> first_of(
    std::vector<std::unique_ptr<CredentialSource>> sources);

[[nodiscard]] std::unique_ptr<CredentialSource> default_chain(const HttpDependencies& dependencies,
                                                              const StoreOptions& options);

}  // namespace ratoon::objects
