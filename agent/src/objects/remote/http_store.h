// HttpStore: an object store whose objects are the files below a URL of a web server. An HttpStore can only
// be read. HttpStore follows redirections of the server, but never from https to http.
#pragma once

#include <memory>
#include <string>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/retry_loop.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects {

class HttpStore final : public ObjectStore {
 public:
  HttpStore(HttpDependencies dependencies, StoreUri uri, const StoreOptions& options);

  [[nodiscard]] const std::string& uri() const override { return uri_.shown; }
  [[nodiscard]] Result<ObjectInfo> get(std::string_view key, ObjectSink& sink,
                                       const GetOptions& options = {}) override;
  [[nodiscard]] Result<ObjectInfo> head(std::string_view key, std::stop_token stop = {}) override;

  // A web server cannot be written or listed, so the following functions return an error.
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
  [[nodiscard]] std::string url_of(std::string_view key) const;
  [[nodiscard]] RemoteRefusal make_refusal(std::string_view method, std::string& url, int status,
                                           const http::Headers& headers) const;
  [[nodiscard]] Error read_only_error(std::string_view doing) const;

  const HttpDependencies dependencies_;
  const StoreUri uri_;
  const RequestTimeouts timeouts_;
};

}  // namespace ratoon::objects
