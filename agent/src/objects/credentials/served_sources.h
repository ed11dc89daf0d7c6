// Credentials from the small servers beside a program: that of a container (ECS, EKS Pod Identity) and that
// of a machine (instance metadata, version 2).
#pragma once

#include <memory>

#include "agent/src/objects/credentials/source.h"
#include "agent/src/objects/remote/surroundings.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> container_source(Surroundings surroundings);
[[nodiscard]] std::unique_ptr<CredentialSource> metadata_source(Surroundings surroundings);

}  // namespace ratoon::objects
