// S3Client: sends signed requests to one bucket, and converts replies that refuse a request to errors. All
// operations on objects send their requests through an S3Client.
//
// Thread contract: any thread may call any function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/credentials/credential_cache.h"
#include "agent/src/objects/remote/retry_loop.h"
#include "agent/src/objects/s3/protocol/s3_address.h"
#include "agent/src/objects/s3/protocol/sigv4.h"
#include "base/core/threads/mutex.h"

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
  // `accepts` returns true if a reply counts as success although its status is not 2xx.
  std::function<bool(const http::Response&)> accepts{};
  // `doubts` returns an error if a reply with status 2xx is not the expected reply. If `doubts` returns an
  // error, the client retries the request.
  std::function<std::optional<Error>(const http::Response&)> doubts{};
  // If the reply to a request was lost, `explains` returns the reason why the server refused the request, or
  // nothing if no reason is known. The client calls `explains` before it repeats the request.
  std::function<std::optional<Error>()> explains{};
  bool may_fail_in_body = false;              // S3 may reply 200 at once and report a failure in the body
  std::uint32_t* requests = nullptr;          // counts the requests that were sent
  const RequestTimeouts* timeouts = nullptr;  // replaces the client's timeouts
};

class S3Client {
 public:
  // If `credential_cache` is null, requests are not signed.
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> create(
      HttpDependencies dependencies, S3Location place, std::unique_ptr<CredentialCache> credential_cache,
      RequestTimeouts timeouts);

  // Sends a request whose reply is small, and retries it if necessary. Error texts begin with `what`, such as
  // "reading s3://bucket/key".
  [[nodiscard]] Result<http::Response> call(const S3Call& call, const std::string& what,
                                            const CallOptions& options);

  // Attempt: one attempt to send a request, such as a download, whose reply is streamed. request() makes the
  // signed request and stores in the Attempt how the request was signed. If the server refused the request,
  // make_refusal() makes the error.
  struct Attempt {
    std::optional<Credentials> signer{};
    std::optional<Credentials> rejected{};  // what the store last rejected as expired in this call
    std::string region{};
    std::string url{};
  };
  [[nodiscard]] Result<http::Request> request(const S3Call& call, const http::Headers& more, Attempt& attempt,
                                              const std::stop_token& stop);
  [[nodiscard]] RemoteRefusal make_refusal(const S3Call& call, Attempt& attempt, int status,
                                           const http::Headers& headers, std::string_view body);

  [[nodiscard]] const HttpDependencies& dependencies() const { return dependencies_; }
  [[nodiscard]] const RequestTimeouts& timeouts() const { return timeouts_; }

 private:
  S3Client(HttpDependencies dependencies, S3Location place, S3Address address,
           std::unique_ptr<CredentialCache> credential_cache, RequestTimeouts timeouts)
      : dependencies_(std::move(dependencies)),
        credential_cache_(std::move(credential_cache)),
        timeouts_(timeouts),
        location_(std::move(place)),
        address_(std::move(address)) {}

  // Finds out why the server closed a connection without a reply. A server may refuse a request without
  // reading its body and close the connection, so that the reply is lost. find_refusal_cause() sends a
  // request without a body, whose reply shows problems with the bucket or the credentials.
  [[nodiscard]] std::optional<RemoteRefusal> find_refusal_cause(Attempt& of_call,
                                                                const std::stop_token& stop);

  // Records the region of the bucket that the server named in its reply. Returns true if the request should
  // be sent again, because `attempt` was signed for another region than the one that is now recorded.
  [[nodiscard]] bool switch_region(const std::string& region, const Attempt& attempt);

  const HttpDependencies dependencies_;
  const std::unique_ptr<CredentialCache> credential_cache_;
  const RequestTimeouts timeouts_;
  Mutex mutex_;
  S3Location location_ RATOON_GUARDED_BY(mutex_);
  S3Address address_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::objects
