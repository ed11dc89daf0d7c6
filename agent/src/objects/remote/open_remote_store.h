// The one call between open_store() and what needs HTTP: a build without base/http has another one.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store(const StoreUri& uri,
                                                                     const StoreOptions& options);

}  // namespace ratoon::objects
