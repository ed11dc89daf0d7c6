// FileStore: an object store whose objects are the files in a folder. A write to the store is atomic and
// durable. Reading follows links, since the owner of the folder may link to files elsewhere.
#pragma once

#include <filesystem>
#include <string>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects {

class FileStore final : public ObjectStore {
 public:
  // A FileStore's folder need not exist before the first put().
  FileStore(std::filesystem::path folder, std::string uri)
      : folder_(std::move(folder)), uri_(std::move(uri)) {}

  [[nodiscard]] const std::string& uri() const override { return uri_; }
  [[nodiscard]] Result<ObjectInfo> get(std::string_view key, ObjectSink& sink,
                                       const GetOptions& options = {}) override;
  [[nodiscard]] Result<ObjectInfo> head(std::string_view key, std::stop_token stop = {}) override;
  [[nodiscard]] Result<void> put(std::string_view key, std::string_view bytes,
                                 const PutOptions& options = {}) override;
  [[nodiscard]] Result<UploadedObject> upload(std::string_view key, ObjectSource& source,
                                              const UploadOptions& options = {}) override;
  [[nodiscard]] Result<std::uint64_t> abort_stale_uploads(std::string_view prefix, Duration older_than,
                                                          std::stop_token stop = {}) override;
  // Returns all objects whose keys begin with `prefix`, on one page.
  [[nodiscard]] Result<ObjectPage> list(std::string_view prefix, std::string_view page = {},
                                        std::stop_token stop = {}) override;
  [[nodiscard]] Result<void> remove(std::string_view key, std::stop_token stop = {}) override;
  [[nodiscard]] std::optional<std::filesystem::path> local_path(std::string_view key) const override;

 private:
  const std::filesystem::path folder_;
  const std::string uri_;
};

}  // namespace ratoon::objects
