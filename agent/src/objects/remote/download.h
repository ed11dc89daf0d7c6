// download(): writes an object's bytes to a sink over HTTP and retries after lost connections. An interrupted
// download is resumed if the server promises that the object is the same (If-Match on its ETag); if not, the
// download starts over.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/retry_loop.h"

namespace ratoon::objects {

struct DownloadPlan {
  std::string key;
  std::optional<ByteRange> range;
  // Makes one attempt's request for the object, with the headers `more` added.
  std::function<Result<http::Request>(const http::Headers& more)> make;
  // Returns the reason of refusal that a reply without the object gives.
  std::function<RemoteRefusal(const http::ResponseHead& head, std::string_view body)> judge;
  // Returns an error if a reply that seems to have the object did not come from the store; null: no check.
  std::function<std::optional<Error>(const http::Headers&)> doubts{};
};

// Returns an error if the reply is a web page and not from S3, which always sends x-amz-request-id. A proxy
// or a sign-in page may reply with a page even with status 200. A web page says nothing about the object.
[[nodiscard]] std::optional<Error> find_page(const http::Headers& headers);

[[nodiscard]] Result<ObjectInfo> download(const HttpDependencies& dependencies, const DownloadPlan& plan,
                                          ObjectSink& sink, RetryLoop& attempts);

// Reads the facts about an object from the headers of a reply.
[[nodiscard]] ObjectInfo object_info(std::string_view key, const http::Headers& headers);

// Returns the facts in the reply to HEAD. If a proxy removed the length, the function requests the first
// byte: this reply has the length. kUnavailable: the object exists, but no reply states its length.
[[nodiscard]] Result<ObjectInfo> found_by_head(ObjectStore& store, std::string_view key,
                                               const http::Headers& headers, const std::stop_token& stop);

}  // namespace ratoon::objects
