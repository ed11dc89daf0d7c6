// What S3 and STS answer, decoded. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"
#include "agent/src/objects/object_info.h"
#include "base/core/clock.h"

namespace ratoon::objects {

// The body of a refusal; all empty where it is none (a proxy's page, a HEAD).
struct S3Refusal {
  std::string code;         // "NoSuchKey"
  std::string message;      // in S3's words
  std::string region;       // where the bucket is, when that is what is wrong
  std::string server_time;  // of RequestTimeTooSkewed

  friend bool operator==(const S3Refusal&, const S3Refusal&) = default;
};
[[nodiscard]] S3Refusal decode_refusal(std::string_view body);

// A ListBucketResult of list-type 2; keys as the bucket has them.
[[nodiscard]] Result<ObjectPage> decode_list(std::string_view body);

// What an upload in parts is called, of an InitiateMultipartUploadResult.
[[nodiscard]] Result<std::string> decode_upload_id(std::string_view body);

// The checksum that a CompleteMultipartUploadResult proves, as S3 writes it; empty where it says none.
[[nodiscard]] std::string decode_completed_crc32c(std::string_view body);

struct OpenUpload {
  std::string key;  // as the bucket has it
  std::string id;
  WallTime initiated{};

  friend bool operator==(const OpenUpload&, const OpenUpload&) = default;
};
struct OpenUploadPage {
  std::vector<OpenUpload> uploads;
  std::string next_key;  // where the next page begins; empty: this was the last one
  std::string next_id;
};
// A ListMultipartUploadsResult.
[[nodiscard]] Result<OpenUploadPage> decode_open_uploads(std::string_view body);

// The answer of AssumeRoleWithWebIdentity or AssumeRole; the source is the caller's to say.
[[nodiscard]] Result<Credentials> decode_assumed_role(std::string_view body);

}  // namespace ratoon::objects
