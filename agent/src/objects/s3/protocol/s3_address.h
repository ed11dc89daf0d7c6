// Makes the URL of a bucket. The bucket's name is in the path (path style) or in the host name. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::objects {

struct S3Location {
  std::string endpoint;  // "https://host:port/path", empty: AWS
  std::string region;
  std::string bucket;
  std::optional<bool> uses_path_style;
};

struct S3Address {
  std::string origin;  // "https://bucket.s3.eu-central-1.amazonaws.com"
  std::string host;    // as in the Host header
  std::string path;    // of the bucket, not escaped: "/", or "/bucket/" in path style
  bool is_encrypted = true;

  friend bool operator==(const S3Address&, const S3Address&) = default;
};

[[nodiscard]] Result<S3Address> s3_address_of(const S3Location& place);

// Returns `endpoint` if it is set, and otherwise the URL of the AWS service, such as
// "https://sts.eu-central-1.amazonaws.com".
[[nodiscard]] std::string sts_url(std::string_view endpoint, std::string_view region);

}  // namespace ratoon::objects
