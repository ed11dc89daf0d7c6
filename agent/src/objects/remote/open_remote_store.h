// Declares the only function called by open_store() that needs HTTP. Builds without base/http link another
// implementation of this function, which returns an error.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store(const StoreUri& uri,
                                                                     const StoreOptions& options);

}  // namespace ratoon::objects
