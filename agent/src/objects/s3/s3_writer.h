// S3Writer: writes one object with one or more requests. All requests contain a random text, the mark of the
// writer, which the store keeps with the object. If a reply was lost, or a proxy sent a request twice, the
// mark shows whether this writer or another one made the stored object.
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

  enum class Found { kNothing, kOurs, kOtherWriters };
  // Checks whether this writer made the object that is stored under the name. Returns kCorrupted if this
  // writer sent the object, but other bytes are stored. Some stores do not keep the mark of the writer. If
  // the object has no mark, this writer counts as its maker under two conditions: the object has the bytes of
  // the source, and `may_be_unmarked` is true, which means that an earlier request may have made the object.
  [[nodiscard]] Result<Found> look(ObjectSource& source, std::uint32_t crc32c, bool may_be_unmarked,
                                   const CallOptions& options);

  // Call this function after the store replied that the object exists already. Returns success if this writer
  // made the object.
  [[nodiscard]] Result<void> resolve_taken(ObjectSource& source, std::uint32_t crc32c, std::uint32_t requests,
                                           const CallOptions& options);

  // Returns the headers that every new object gets, in one request or in parts.
  [[nodiscard]] NameValues headers() const;
  [[nodiscard]] Error already_exists() const;

  [[nodiscard]] S3Client& client() const { return client_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] bool replaces() const { return replaces_; }

 private:
  [[nodiscard]] Result<Found> compare(ObjectSource& source, const CallOptions& options);

  S3Client& client_;
  const std::string key_;
  const std::string uri_;
  const bool replaces_;
  const std::string mark_;
};

inline constexpr const char* kChecksumHeader = "x-amz-checksum-crc32c";
// Returns an error if the reply contains another checksum than `checksum`, which is the checksum of the sent
// bytes.
[[nodiscard]] std::optional<Error> doubt_stored(const http::Response& answer, std::string_view checksum);

// Returns true if the reply to a request with If-None-Match says that the object exists: status 412, or 304
// from old versions of MinIO.
[[nodiscard]] bool says_it_exists(const http::Response& answer);

}  // namespace ratoon::objects
