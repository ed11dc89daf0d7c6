// The places where credentials may be, in boto3's order: the first that has some counts, and stays the one
// that is asked for new ones.
#pragma once

#include <memory>
#include <vector>

#include "agent/src/objects/credentials/source.h"
#include "agent/src/objects/remote/surroundings.h"

namespace ratoon::objects {

[[nodiscard]] std::unique_ptr<CredentialSource> first_of(
    std::vector<std::unique_ptr<CredentialSource>> sources);

[[nodiscard]] std::unique_ptr<CredentialSource> default_chain(const Surroundings& surroundings,
                                                              const StoreOptions& options);

}  // namespace ratoon::objects
