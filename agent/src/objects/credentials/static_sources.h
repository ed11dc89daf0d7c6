// Reads fixed keys from the environment or from a profile of the shared AWS files.
#pragma once

#include <functional>
#include <memory>

#include "agent/src/objects/credentials/credential_source.h"
#include "agent/src/objects/credentials/shared_config.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> environment_source(Environment environment);

// Each fetch() reads the files again, because their keys may be rotated.
[[nodiscard]] std::unique_ptr<CredentialSource> profile_source(Environment environment, StoreOptions options);

// Returns the keys of a profile, or nothing if it has no keys. Returns an error if one of the two keys is
// missing, or if the keys come from a program or a browser sign-in, which Ratoon does not start.
[[nodiscard]] Result<std::optional<Credentials>> profile_keys(const Profile& profile,
                                                              const SharedConfig& shared);

}  // namespace ratoon::objects
