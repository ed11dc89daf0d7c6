// S3Writer: writes one object with one or more requests. All requests contain the writer's mark, which the
// store keeps with the object. After a lost reply, or a request that a proxy sent twice, the writer can tell
// whether the stored object is its own or another writer's.
//
// Thread contract: one thread; the parts of an upload are sent by threads that the upload starts.
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
  // `key` is the object's full key in the bucket; `uri` names the object in messages.
  S3Writer(S3Client& client, std::string key, std::string uri, bool replaces);

  // Writes the whole object in one request.
  [[nodiscard]] Result<void> put(std::string_view bytes, std::uint32_t crc32c, const std::stop_token& stop);

  enum class Found { kNothing, kOurs, kOtherWriters };
  // Checks which writer's object is stored under the name. kCorrupted: this writer made the object, but the
  // stored bytes are not the bytes that were sent. Some stores drop the writer's mark. An object without a
  // mark counts as this writer's if it has the source's bytes and `may_be_unmarked`, which means that an
  // earlier request of this writer may have made the object.
  [[nodiscard]] Result<Found> look(ObjectSource& source, std::uint32_t crc32c, bool may_be_unmarked,
                                   const CallOptions& options);

  // Call this after the store said that the object exists. Succeeds if this writer made the object.
  [[nodiscard]] Result<void> resolve_taken(ObjectSource& source, std::uint32_t crc32c, std::uint32_t requests,
                                           const CallOptions& options);

  // Returns the headers for objects and for multipart uploads.
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
// Returns an error if the reply states another checksum than `checksum`, that of the sent bytes.
[[nodiscard]] std::optional<Error> doubt_stored(const http::Response& answer, std::string_view checksum);

// Returns whether a reply to If-None-Match says that the object exists: 412, or 304 from old MinIOs.
[[nodiscard]] bool says_it_exists(const http::Response& answer);

}  // namespace ratoon::objects
