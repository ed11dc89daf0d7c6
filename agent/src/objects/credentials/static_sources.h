// Keys that stand somewhere: in the environment, or in a profile of the shared files.
#pragma once

#include <functional>
#include <memory>

#include "agent/src/objects/credentials/shared_config.h"
#include "agent/src/objects/credentials/source.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> environment_source(Environment environment);

// Reads the files anew each time: whoever rotates keys writes them there.
[[nodiscard]] std::unique_ptr<CredentialSource> profile_source(Environment environment, StoreOptions options);

// The keys that a profile has, or nothing; an error where they are not complete, or come from a program or a
// browser, which is not Ratoon's to start.
[[nodiscard]] Result<std::optional<Credentials>> keys_of(const Profile& profile, const SharedConfig& shared);

}  // namespace ratoon::objects
