// What S3 and STS answer, decoded. Pure.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credentials.h"
#include "agent/src/objects/object_info.h"

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

// The answer of AssumeRoleWithWebIdentity or AssumeRole; the source is the caller's to say.
[[nodiscard]] Result<Credentials> decode_assumed_role(std::string_view body);

}  // namespace ratoon::objects
