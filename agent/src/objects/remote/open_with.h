// Opens a remote store with the given dependencies. Tests pass their own clock, environment and random
// numbers.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/http_dependencies.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store_with(
    const StoreUri& uri, const StoreOptions& options, const HttpDependencies& dependencies);

}  // namespace ratoon::objects
