// objects/s3/protocol/: Implements the protocol of S3 without I/O: makes addresses and signatures, and
// decodes replies.
//
// Signs requests with AWS Signature Version 4, by the rules of S3: the path is escaped once and not
// normalized. The functions are pure: the current time is an argument. The steps are separate functions, so
// that tests can compare the result of each with the examples that AWS publishes.
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
  NameValues headers{};          // all headers to sign, including Host
  std::string payload_sha256{};  // 64 hexadecimal digits, or "UNSIGNED-PAYLOAD" (over https only)
};

struct SigningScope {
  std::string region;
  std::string service;  // "s3", "sts"
  WallTime time;
};

// Returns the query with its parameters sorted, such as "a=1&b=". The sorted query is signed, and the request
// must be sent with exactly this query.
[[nodiscard]] std::string canonical_query(const NameValues& query);

// Formats a time in the form that a signature needs: "20130524T000000Z".
[[nodiscard]] std::string amz_date(WallTime time);

// Each of the following functions is one step of making a signature.
[[nodiscard]] std::string canonical_request(const RequestToSign& request);
[[nodiscard]] std::string string_to_sign(const SigningScope& scope, std::string_view canonical_request);
[[nodiscard]] std::string signature(std::string_view secret_access_key, const SigningScope& scope,
                                    std::string_view string_to_sign);

// Returns the value of the Authorization header, which contains the signature. The Authorization header signs
// all headers of the request. Before you call authorization(), add the headers x-amz-date and
// x-amz-security-token, as sign() does.
[[nodiscard]] std::string authorization(const RequestToSign& request, const SigningScope& scope,
                                        const Credentials& credentials);

// Returns the headers that signing adds to a request: x-amz-date, x-amz-content-sha256, Authorization and, if
// the credentials have a token, x-amz-security-token.
[[nodiscard]] NameValues sign(RequestToSign request, const SigningScope& scope,
                              const Credentials& credentials);

}  // namespace ratoon::objects
