// Opening a remote store with surroundings of one's own: a test's clock, environment and chance.
#pragma once

#include <memory>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/surroundings.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

[[nodiscard]] Result<std::shared_ptr<ObjectStore>> open_remote_store_with(const StoreUri& uri,
                                                                          const StoreOptions& options,
                                                                          const Surroundings& surroundings);

}  // namespace ratoon::objects
