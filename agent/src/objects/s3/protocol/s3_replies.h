// Decodes the replies of S3 and STS. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"
#include "agent/src/objects/object_info.h"
#include "base/core/clock.h"

namespace ratoon::objects {

// S3Refusal has the reason that S3 gives in its reply when S3 refuses a request. If the body of the reply is
// no S3 error, for example because it is the page of a proxy, all fields are empty.
struct S3Refusal {
  std::string code;         // "NoSuchKey"
  std::string message;      // in S3's words
  std::string region;       // the bucket's region, if the request used another one
  std::string server_time;  // of RequestTimeTooSkewed

  friend bool operator==(const S3Refusal&, const S3Refusal&) = default;
};
[[nodiscard]] S3Refusal decode_refusal(std::string_view body);

// Decodes a ListBucketResult of list-type 2. The keys in the list are full keys of the bucket, including the
// prefix of the store.
[[nodiscard]] Result<ObjectPage> decode_list(std::string_view body);

// Returns the UploadId of an InitiateMultipartUploadResult.
[[nodiscard]] Result<std::string> decode_upload_id(std::string_view body);

// Returns the checksum in a CompleteMultipartUploadResult, as S3 writes it; empty if there is none.
[[nodiscard]] std::string decode_completed_crc32c(std::string_view body);

struct OpenUpload {
  std::string key;  // as the bucket has it
  std::string id;
  WallTime initiated{};

  friend bool operator==(const OpenUpload&, const OpenUpload&) = default;
};
struct OpenUploadPage {
  std::vector<OpenUpload> uploads;
  std::string next_key;  // the marker of the next page; empty: this was the last one
  std::string next_id;
};
// Decodes a ListMultipartUploadsResult.
[[nodiscard]] Result<OpenUploadPage> decode_open_uploads(std::string_view body);

// Decodes the reply to AssumeRoleWithWebIdentity or AssumeRole. The caller must set the member `source` of
// the credentials.
[[nodiscard]] Result<Credentials> decode_assumed_role(std::string_view body);

}  // namespace ratoon::objects
