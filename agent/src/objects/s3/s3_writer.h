// S3Writer: one object that is being written, by however many requests. All of them bear the writer's mark,
// which the store keeps with the object: so a writer whose answer was lost, or whose request a proxy sent
// twice, can tell whether what stands there is its own work or another's.
//
// Thread contract: one thread; the parts of an upload are sent by threads of its own.
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
  // `key` is the bucket's, `uri` is for messages.
  S3Writer(S3Client& client, std::string key, std::string uri, bool replaces);

  // All of it in one request.
  [[nodiscard]] Result<void> put(std::string_view bytes, std::uint32_t crc32c, const std::stop_token& stop);

  enum class Found { kNothing, kOurs, kAnothers };
  // What stands under the name. Where it is ours but does not hold the bytes that were sent: kCorrupted. An
  // object without any mark (some stores drop it) counts as ours if it has the source's bytes and
  // `may_be_unmarked`, that is, an earlier request may have made it.
  [[nodiscard]] Result<Found> look(ObjectSource& source, std::uint32_t crc32c, bool may_be_unmarked,
                                   const CallOptions& options);

  // The same after the store said that the name is taken: success where it is ours.
  [[nodiscard]] Result<void> resolve_taken(ObjectSource& source, std::uint32_t crc32c, std::uint32_t requests,
                                           const CallOptions& options);

  // For objects and for uploads alike.
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
// Where an answer says another checksum than that of the bytes that were sent.
[[nodiscard]] std::optional<Error> doubt_stored(const http::Response& answer, std::string_view checksum);

// For If-None-Match: 412 as it should be, 304 from older MinIO.
[[nodiscard]] bool says_it_exists(const http::Response& answer);

}  // namespace ratoon::objects
