// Opens a remote store with given dependencies, such as a test's clock, environment and randomness.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/http_dependencies.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store_with(
    const StoreUri& uri, const StoreOptions& options, const HttpDependencies& dependencies);

}  // namespace ratoon::objects
