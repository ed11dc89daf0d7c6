// AWS Signature Version 4, with the rules of S3: the path is escaped once and never tidied up. Pure: the time
// is an argument. The steps are apart, so that each can be compared with the examples that AWS publishes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/objects/credentials/credentials.h"
#include "base/core/clock.h"

namespace ratoon::objects {

using NameValues = std::vector<std::pair<std::string, std::string>>;

struct RequestToSign {
  std::string method = "GET";
  std::string path = "/";        // not escaped
  NameValues query{};            // not escaped
  NameValues headers{};          // all that are signed, Host among them
  std::string payload_sha256{};  // 64 hexadecimal digits, or "UNSIGNED-PAYLOAD" (over https alone)
};

struct SigningScope {
  std::string region;
  std::string service;  // "s3", "sts"
  WallTime time;
};

// Sorted, "a=1&b=": the form that is signed and the form that is sent.
[[nodiscard]] std::string canonical_query(const NameValues& query);

// "20130524T000000Z"
[[nodiscard]] std::string amz_date(WallTime time);

// The steps.
[[nodiscard]] std::string canonical_request(const RequestToSign& request);
[[nodiscard]] std::string string_to_sign(const SigningScope& scope, std::string_view canonical_request);
[[nodiscard]] std::string signature(std::string_view secret_access_key, const SigningScope& scope,
                                    std::string_view string_to_sign);

// The Authorization header. It signs what is there: x-amz-date and x-amz-security-token too are the caller's
// to put among the headers, which sign() does.
[[nodiscard]] std::string authorization(const RequestToSign& request, const SigningScope& scope,
                                        const Credentials& credentials);

// The headers that a signed request is sent with, beyond those that it has: x-amz-date, x-amz-content-sha256,
// x-amz-security-token where there is one, Authorization.
[[nodiscard]] NameValues sign(RequestToSign request, const SigningScope& scope,
                              const Credentials& credentials);

}  // namespace ratoon::objects
