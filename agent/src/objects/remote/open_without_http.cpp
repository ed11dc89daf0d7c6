#include "agent/src/objects/remote/open_remote_store.h"

namespace ratoon::objects {

Result<std::shared_ptr<ObjectStore>> open_remote_store(const StoreUri& uri, const StoreOptions&) {
  return Error(ErrorKind::kInvalid,
               "the store " + uri.shown +
                   " cannot be reached: this program was built without HTTP (RATOON_WITH_HTTP=OFF); use a "
                   "folder, or a build with HTTP");
}

}  // namespace ratoon::objects
