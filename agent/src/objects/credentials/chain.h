// Searches the places where credentials may be, in the order of boto3. The first place that has credentials
// is used, and is used again to refresh them.
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
