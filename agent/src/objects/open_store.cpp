#include <filesystem>

#include "agent/src/objects/file_store.h"
#include "agent/src/objects/remote/open_remote_store.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

Result<std::shared_ptr<ObjectStore>> open_store(std::string_view text, const StoreOptions& options) {
  const auto uri = parse_store_uri(text);
  if (!uri) return uri.error();
  if (uri->scheme != StoreScheme::kFile) return open_remote_store(*uri, options);
  std::error_code code;
  const auto folder = std::filesystem::absolute(uri->path, code);  // the working folder may change later
  if (code) return system_error(code.value(), "finding the folder " + uri->path);
  return std::shared_ptr<ObjectStore>(std::make_shared<FileStore>(folder, uri->shown));
}

}  // namespace ratoon::objects
