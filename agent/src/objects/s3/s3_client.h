// S3Client: sends signed requests to one bucket and interprets its refusals. All operations on objects use an
// S3Client.
//
// Thread contract: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credential_cache.h"
#include "agent/src/objects/remote/retry_loop.h"
#include "agent/src/objects/s3/protocol/s3_address.h"
#include "agent/src/objects/s3/protocol/sigv4.h"

namespace ratoon::objects {

struct S3Call {
  std::string method = "GET";
  std::string key{};  // the full key in the bucket; empty: the bucket itself
  NameValues query{};
  NameValues headers{};
  std::string_view body{};  // must outlive the call
};

struct CallOptions {
  std::stop_token stop{};
  // Returns whether a reply without status 2xx counts as success.
  std::function<bool(const http::Response&)> accepts{};
  // Returns an error if a reply with status 2xx is wrong. After the change, the client repeats the call.
  std::function<std::optional<Error>(const http::Response&)> doubts{};
  // If the reply to a request was lost, `explains` returns the error that caused the loss, if it is known.
  // `explains` runs for each lost reply, before the call is repeated.
  std::function<std::optional<Error>()> explains{};
  bool may_fail_late = false;                 // S3 may reply 200 at once and report a failure in the body
  std::uint32_t* requests = nullptr;          // counts the requests that were sent
  const RequestTimeouts* timeouts = nullptr;  // replaces the client's timeouts
};

class S3Client {
 public:
  // If `credential_cache` is null, requests are not signed.
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> make(
      HttpDependencies dependencies, S3Location place, std::unique_ptr<CredentialCache> credential_cache,
      RequestTimeouts timeouts);

  // Makes a call with a small reply. Error texts begin with `what`, such as "reading s3://bucket/key".
  [[nodiscard]] Result<http::Response> call(const S3Call& call, const std::string& what,
                                            const CallOptions& options);

  // For streamed replies, request() makes the request of one attempt, and refusal() explains its refusal.
  struct Attempt {
    std::optional<Credentials> signer{};
    std::string region{};
    std::string url{};
  };
  [[nodiscard]] Result<http::Request> request(const S3Call& call, const http::Headers& more, Attempt& attempt,
                                              const std::stop_token& stop);
  [[nodiscard]] RemoteRefusal judge(const S3Call& call, const Attempt& attempt, int status,
                                    const http::Headers& headers, std::string_view body);

  [[nodiscard]] const HttpDependencies& dependencies() const { return dependencies_; }
  [[nodiscard]] const RequestTimeouts& timeouts() const { return timeouts_; }

 private:
  S3Client(HttpDependencies dependencies, S3Location place, S3Address address,
           std::unique_ptr<CredentialCache> credential_cache, RequestTimeouts timeouts)
      : dependencies_(std::move(dependencies)),
        credential_cache_(std::move(credential_cache)),
        timeouts_(timeouts),
        place_(std::move(place)),
        address_(std::move(address)) {}

  // Finds out why a connection was closed. A server may refuse a body without reading it, and its reply is
  // lost with the connection. find_refusal_cause() therefore sends a request without a body; the reply shows
  // problems of bucket or credentials.
  [[nodiscard]] std::optional<RemoteRefusal> find_refusal_cause(const std::stop_token& stop);

  // Changes the bucket's region. Returns whether `attempt` used another region than `region`.
  [[nodiscard]] bool move_to(const std::string& region, const Attempt& attempt);

  const HttpDependencies dependencies_;
  const std::unique_ptr<CredentialCache> credential_cache_;
  const RequestTimeouts timeouts_;
  std::mutex mutex_;
  S3Location place_;   // guarded by mutex_
  S3Address address_;  // guarded by mutex_
};

}  // namespace ratoon::objects
