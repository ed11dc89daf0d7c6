// S3Writer: writes one object with one or more requests. Each request contains a random text, the writer's
// mark, and the store keeps the mark with the object. If a reply was lost, or a proxy sent a request twice,
// the mark shows whether this writer or another one made the stored object.
//
// Thread contract: only one thread may use an S3Writer. An upload in parts starts threads of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/s3/s3_client.h"

namespace ratoon::objects {

class S3Writer {
 public:
  // `key` is the full key of the object in the bucket, and `uri` its name for error messages.
  S3Writer(S3Client& client, std::string key, std::string uri, bool replaces);

  // Writes the whole object in one request.
  [[nodiscard]] Result<void> put(std::string_view bytes, std::uint32_t crc32c, const std::stop_token& stop);

  enum class ObjectWriter { kNothing, kOurs, kOtherWriters };
  // Checks whether this writer made the object that is stored under key(). Returns kCorrupted if this writer
  // made the object, but other bytes are stored. Some stores drop the writer's mark. An object without a mark
  // counts as made by this writer if it has the bytes of the source and `may_be_unmarked` is true.
  // `may_be_unmarked` means that an earlier request of this writer may have made the object.
  [[nodiscard]] Result<ObjectWriter> find_object_writer(ObjectSource& source, std::uint32_t crc32c,
                                                        bool may_be_unmarked, const CallOptions& options);

  // Call resolve_existing_object() after the store replied that the object exists already. Returns success if
  // this writer made the object.
  [[nodiscard]] Result<void> resolve_existing_object(ObjectSource& source, std::uint32_t crc32c,
                                                     std::uint32_t requests, const CallOptions& options);

  // Returns the headers of the request that creates an object, at once or in parts.
  [[nodiscard]] NameValues headers() const;
  [[nodiscard]] Error already_exists_error() const;

  [[nodiscard]] S3Client& client() const { return client_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] bool replaces() const { return replaces_; }

 private:
  [[nodiscard]] Result<ObjectWriter> compare_bytes(ObjectSource& source, const CallOptions& options);

  S3Client& client_;
  const std::string key_;
  const std::string uri_;
  const bool replaces_;
  const std::string writer_mark_;
};

inline constexpr const char* kChecksumHeader = "x-amz-checksum-crc32c";
// Returns an error if the reply contains another checksum than `checksum`, which is the checksum of the sent
// bytes.
[[nodiscard]] std::optional<Error> check_stored_checksum(const http::Response& answer,
                                                         std::string_view checksum);

// Returns true if the reply to a request with If-None-Match says that the object exists: status 412, or 304
// from old versions of MinIO.
[[nodiscard]] bool says_object_exists(const http::Response& answer);

}  // namespace ratoon::objects
