// S3Client: signed requests to one bucket, and what its refusals mean. Every operation on objects stands on
// it, one file an operation or two.
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

#include "agent/src/objects/credentials/keeper.h"
#include "agent/src/objects/remote/attempts.h"
#include "agent/src/objects/s3/s3_address.h"
#include "agent/src/objects/s3/sigv4.h"

namespace ratoon::objects {

struct S3Call {
  std::string method = "GET";
  std::string key{};  // of the bucket, whole; empty: the bucket itself
  NameValues query{};
  NameValues headers{};
  std::string_view body{};  // lives as long as the call
};

struct CallOptions {
  std::stop_token stop{};
  // What is an answer beside statuses of 2xx.
  std::function<bool(const http::Response&)> accepts{};
  // What is wrong with an answer of 2xx: then the call is made again.
  std::function<std::optional<Error>(const http::Response&)> doubts{};
  // What a lost answer must have been: asked each time one is lost, before the call is made again.
  std::function<std::optional<Error>()> explains{};
  bool may_fail_late = false;          // S3 may say 200 at once, and later in the body that it failed
  std::uint32_t* requests = nullptr;   // counts those that were sent
  const Patience* patience = nullptr;  // instead of the client's
};

class S3Client {
 public:
  // `keeper` null: requests are not signed.
  [[nodiscard]] static Result<std::unique_ptr<S3Client>> make(Surroundings surroundings, S3Place place,
                                                              std::unique_ptr<CredentialKeeper> keeper,
                                                              Patience patience);

  // A small answer. `what` begins the sentence of an error: "reading s3://bucket/key".
  [[nodiscard]] Result<http::Response> call(const S3Call& call, const std::string& what,
                                            const CallOptions& options);

  // For those that stream: one attempt's request, and what its refusal means.
  struct Attempt {
    std::optional<Credentials> signer{};
    std::string region{};
    std::string url{};
  };
  [[nodiscard]] Result<http::Request> request(const S3Call& call, const http::Headers& more, Attempt& attempt,
                                              const std::stop_token& stop);
  [[nodiscard]] Refusal judge(const S3Call& call, const Attempt& attempt, int status,
                              const http::Headers& headers, std::string_view body);

  [[nodiscard]] const Surroundings& surroundings() const { return surroundings_; }
  [[nodiscard]] const Patience& patience() const { return patience_; }

 private:
  S3Client(Surroundings surroundings, S3Place place, S3Address address,
           std::unique_ptr<CredentialKeeper> keeper, Patience patience)
      : surroundings_(std::move(surroundings)),
        keeper_(std::move(keeper)),
        patience_(patience),
        place_(std::move(place)),
        address_(std::move(address)) {}

  // A server may refuse a body without reading it, and what it said is lost with the connection. A question
  // without a body is answered: what ails bucket or credentials ailed that call too.
  [[nodiscard]] std::optional<Refusal> why_cut_off(const std::stop_token& stop);

  // Whether the bucket's region was another one so far.
  [[nodiscard]] bool move_to(const std::string& region, const Attempt& attempt);

  const Surroundings surroundings_;
  const std::unique_ptr<CredentialKeeper> keeper_;
  const Patience patience_;
  std::mutex mutex_;
  S3Place place_;      // guarded by mutex_
  S3Address address_;  // guarded by mutex_
};

}  // namespace ratoon::objects
