#include "agent/src/objects/object_store.h"

#include <utility>

namespace ratoon::objects {

std::optional<std::filesystem::path> ObjectStore::local_path(std::string_view) const {
  return std::nullopt;
}

Result<std::vector<ObjectInfo>> list_all(ObjectStore& store, std::string_view prefix,
                                         const std::stop_token& stop) {
  std::vector<ObjectInfo> all;
  std::string next;
  do {
    auto page = store.list(prefix, next, stop);
    if (!page) return page.error();
    std::move(page->objects.begin(), page->objects.end(), std::back_inserter(all));
    if (page->next == next && !next.empty()) {
      return Error(ErrorKind::kCorrupted, "the list of " + store.uri() + " does not end: page '" + next +
                                              "' names itself as the next one");
    }
    next = std::move(page->next);
  } while (!next.empty());
  return all;
}

}  // namespace ratoon::objects
