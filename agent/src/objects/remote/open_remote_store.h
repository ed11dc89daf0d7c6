// Declares the only function called by open_store() that needs HTTP. A build without base/http has another
// implementation.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store(const StoreUri& uri,
                                                                     const StoreOptions& options);

}  // namespace ratoon::objects
