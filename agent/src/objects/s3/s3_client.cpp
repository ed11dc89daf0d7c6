#include "agent/src/objects/s3/s3_client.h"

#include <algorithm>
#include <array>

#include "agent/src/objects/percent.h"
#include "agent/src/objects/remote/download.h"
#include "agent/src/objects/remote/location.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/protocol/sha256.h"

namespace ratoon::objects {
namespace {

bool is_expired_code(std::string_view code) {
  constexpr std::array<std::string_view, 4> kEnded = {"ExpiredToken", "ExpiredTokenException", "InvalidToken",
                                                      "TokenRefreshRequired"};
  return std::find(kEnded.begin(), kEnded.end(), code) != kEnded.end();
}

std::string describe_signer(const std::optional<Credentials>& signer) {
  if (!signer) return "not signed, because is_anonymous is set";
  return "signed by " + signer->access_key_id + " from " + signer->source;
}

// Returns the last part of an error text, which tells the user what to do next.
std::string advice_for_user(int status, std::string_view code, const std::optional<Credentials>& signer) {
  if (code == "SignatureDoesNotMatch")
    return "; check the secret key and the region; " + describe_signer(signer);
  if (code == "InvalidAccessKeyId")
    return "; the store does not know the access key; " + describe_signer(signer);
  if (is_expired_code(code)) return "; the credentials have expired: renew them; " + describe_signer(signer);
  if (status == 401 || status == 403)
    return "; check the permissions of the credentials; " + describe_signer(signer);
  if (code == "NoSuchBucket") return "; check the bucket's name and the endpoint";
  if (status == 301 || status == 307 || status == 400) return "; check region and endpoint";
  return "";
}

std::string describe_answer(const S3Call& call, const S3Client::Attempt& attempt, int status,
                            const S3Refusal& refusal) {
  std::string text = call.method + ' ' + url_without_query(attempt.url) + " was answered with status " +
                     std::to_string(status);
  if (!refusal.code.empty()) text += ' ' + refusal.code;
  if (!refusal.message.empty()) text += " (" + refusal.message + ")";
  return text;
}

}  // namespace

Result<std::unique_ptr<S3Client>> S3Client::create(HttpDependencies dependencies, S3Location place,
                                                   std::unique_ptr<CredentialCache> credential_cache,
                                                   RequestTimeouts timeouts) {
  auto address = s3_address_of(place);
  if (!address) return address.error();
  return std::unique_ptr<S3Client>(new S3Client(std::move(dependencies), std::move(place),
                                                std::move(*address), std::move(credential_cache), timeouts));
}

Result<http::Request> S3Client::request(const S3Call& call, const http::Headers& more, Attempt& attempt,
                                        const std::stop_token& stop) {
  S3Address address;
  {
    const MutexLock lock(mutex_);
    address = address_;
    attempt.region = location_.region;
  }
  std::string path = address.path + call.key;
  if (call.key.empty() && path.size() > 1) path.pop_back();  // "/bucket" is the path of the bucket itself
  attempt.url = address.origin + percent_encode(path, true);
  if (!call.query.empty()) attempt.url += '?' + canonical_query(call.query);

  http::Request request{.method = call.method, .url = attempt.url, .body_view = call.body};
  for (const auto& [name, value] : call.headers) request.headers.add(name, value);
  for (const auto& [name, value] : more) request.headers.add(name, value);
  attempt.signer.reset();
  if (!credential_cache_) return request;

  auto credentials = credential_cache_->current(stop);
  if (!credentials) return credentials.error();
  attempt.signer = *std::move(credentials);
  RequestToSign to_sign{.method = call.method,
                        .path = path,
                        .query = call.query,
                        .headers = {request.headers.begin(), request.headers.end()},
                        .payload_sha256 = to_hex(sha256(call.body))};
  to_sign.headers.emplace_back("Host", address.host);
  const SigningScope scope{attempt.region, "s3", dependencies_.clock->wall_now()};
  for (auto& [name, value] : sign(std::move(to_sign), scope, *attempt.signer))
    request.headers.add(std::move(name), std::move(value));
  return request;
}

bool S3Client::switch_region(const std::string& region, const Attempt& attempt) {
  const MutexLock lock(mutex_);
  if (location_.region != attempt.region) return true;  // another thread changed it before
  if (region.empty() || region == location_.region) return false;
  S3Location place = location_;
  place.region = region;
  auto address = s3_address_of(place);
  if (!address) return false;
  location_ = std::move(place);
  address_ = *std::move(address);
  return true;
}

RemoteRefusal S3Client::make_refusal(const S3Call& call, Attempt& attempt, int status,
                                     const http::Headers& headers, std::string_view body) {
  const S3Refusal refusal = decode_refusal(body);
  std::string text = describe_answer(call, attempt, status, refusal);
  // A reply may say that an object does not exist or that access is forbidden. Believe such a reply only if
  // it came from the store, and not from a proxy.
  if (const auto page = refusal.code.empty() ? find_web_page_error(headers) : std::nullopt)
    return {.error = Error(page->kind(), text + "; " + page->message()), .is_retryable = true};
  const WallTime now = dependencies_.clock->wall_now();

  if (status == 301 || status == 307 || status == 400) {
    std::string region(headers.get("x-amz-bucket-region"));
    if (region.empty()) region = refusal.region;
    if (!region.empty() && switch_region(region, attempt))
      return {.error = Error(ErrorKind::kInvalid, text + "; its region is " + region),
              .is_retried_at_once = true};
  }
  if (refusal.code == "RequestTimeTooSkewed" || refusal.code == "RequestInTheFuture") {
    const std::string server_time =
        !refusal.server_time.empty() ? refusal.server_time : std::string(headers.get("Date"));
    return {.error =
                Error(ErrorKind::kPermissionDenied, text + ": it is " + format_rfc3339(now) + " here and " +
                                                        server_time + " at the server; set the clock")};
  }
  const bool ended = is_expired_code(refusal.code);
  if (ended && attempt.signer) {
    credential_cache_->report_rejected(*attempt.signer);
    // The source may give the same credentials again, so a call repeats its request once for each of them.
    const bool is_first = attempt.rejected != attempt.signer;
    attempt.rejected = attempt.signer;
    if (is_first)
      return {.error = Error(ErrorKind::kPermissionDenied, std::move(text)), .is_retried_at_once = true};
  }

  text += advice_for_user(status, refusal.code, attempt.signer);
  // A missing bucket is not reported as kNotFound, because no object in it can be read or written at all.
  const bool has_no_bucket = refusal.code == "NoSuchBucket";
  const ErrorKind kind = ended           ? ErrorKind::kPermissionDenied
                         : has_no_bucket ? ErrorKind::kInvalid
                                         : error_kind_of_status(status);
  return {.error = Error(kind, std::move(text)),
          .is_retryable = is_retryable(status, refusal.code),
          .retry_after = parse_retry_after(headers.get("Retry-After"), now)};
}

std::optional<RemoteRefusal> S3Client::find_refusal_cause(Attempt& of_call, const std::stop_token& stop) {
  const S3Call question{.query = {{"list-type", "2"}, {"max-keys", "0"}}};
  Attempt attempt{.rejected = of_call.rejected};
  const auto request = this->request(question, {}, attempt, stop);
  if (!request) return std::nullopt;
  const http::Limits limits{
      .total = timeouts_.silence, .silence = timeouts_.silence, .connect = timeouts_.connect};
  const auto answer = dependencies_.transport->call(*request, limits, stop);
  if (!answer || answer->status / 100 == 2) return std::nullopt;
  // Ignore AccessDenied: it may refer only to this request, which lists objects. A client that may write
  // objects need not be allowed to list them.
  if (decode_refusal(answer->body).code == "AccessDenied") return std::nullopt;
  RemoteRefusal refusal = make_refusal(question, attempt, answer->status, answer->headers, answer->body);
  of_call.rejected = attempt.rejected;
  if (refusal.is_retryable) return std::nullopt;
  return refusal;
}

Result<http::Response> S3Client::call(const S3Call& call, const std::string& what,
                                      const CallOptions& options) {
  Attempt attempt;
  RetryLoop attempts(dependencies_, options.timeouts != nullptr ? *options.timeouts : timeouts_, what,
                     options.stop);
  const auto refused = [&](const http::Response& answer) {
    return make_refusal(call, attempt, answer.status, answer.headers, answer.body);
  };
  return exchange(dependencies_,
                  {.make =
                       [&] {
                         if (options.requests != nullptr) ++*options.requests;
                         return request(call, {}, attempt, options.stop);
                       },
                   .judge = [&](const http::Response& answer) -> std::optional<RemoteRefusal> {
                     const bool is_accepted = options.accepts && options.accepts(answer);
                     if (!is_accepted && answer.status / 100 != 2) return refused(answer);
                     // A page of a proxy with any status says nothing about the object. Some stores
                     // set the type of a page for replies without a body.
                     const bool may_be_page = call.method == "HEAD" || !answer.body.empty();
                     if (auto page = may_be_page ? find_web_page_error(answer.headers) : std::nullopt)
                       return RemoteRefusal{.error = *std::move(page), .is_retryable = true};
                     if (is_accepted) return std::nullopt;
                     if (options.may_fail_in_body && !decode_refusal(answer.body).code.empty())
                       return refused(answer);
                     if (!options.doubts) return std::nullopt;
                     auto doubt = options.doubts(answer);
                     if (!doubt) return std::nullopt;
                     return RemoteRefusal{.error = *std::move(doubt), .is_retryable = true};
                   },
                   .explain = [&]() -> std::optional<RemoteRefusal> {
                     if (call.body.empty()) return std::nullopt;
                     if (auto refusal = find_refusal_cause(attempt, options.stop)) return refusal;
                     if (!options.explains) return std::nullopt;
                     auto error = options.explains();
                     if (!error) return std::nullopt;
                     return RemoteRefusal{.error = *std::move(error)};
                   }},
                  attempts);
}

}  // namespace ratoon::objects
