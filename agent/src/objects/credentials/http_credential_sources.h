// Fetches credentials from local metadata servers: of a container (ECS, EKS Pod Identity) and of a machine
// (instance metadata, version 2).
#pragma once

#include <memory>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/remote/http_dependencies.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> container_source(HttpDependencies dependencies);
[[nodiscard]] std::unique_ptr<CredentialSource> metadata_source(HttpDependencies dependencies);

}  // namespace ratoon::objects
