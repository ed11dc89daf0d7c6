// objects/s3/: S3: the object store, the client that sends its requests, and uploads in parts.
//
// S3Store reads and writes the objects below a prefix of a bucket.
#pragma once

#include <memory>
#include <string>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/s3/s3_client.h"
#include "agent/src/objects/s3/s3_writer.h"

namespace ratoon::objects {

class S3Store final : public ObjectStore {
 public:
  // `prefix` does not begin or end with '/'; it may be empty.
  S3Store(std::shared_ptr<S3Client> client, std::string prefix, std::string uri)
      : client_(std::move(client)), prefix_(prefix.empty() ? "" : prefix + '/'), uri_(std::move(uri)) {}

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
  [[nodiscard]] Result<ObjectPage> list(std::string_view prefix, std::string_view page = {},
                                        std::stop_token stop = {}) override;
  [[nodiscard]] Result<void> remove(std::string_view key, std::stop_token stop = {}) override;

 private:
  [[nodiscard]] S3Call call_for(std::string method, std::string_view key) const;
  [[nodiscard]] S3Writer writer_for(std::string_view key, bool replaces) const;

  const std::shared_ptr<S3Client> client_;
  const std::string prefix_;
  const std::string uri_;
};

}  // namespace ratoon::objects
