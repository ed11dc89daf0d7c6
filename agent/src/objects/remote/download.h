// download(): writes an object's bytes to a sink over HTTP and retries after lost connections. If the server
// supports If-Match and the ETag shows that the object has not changed, an interrupted download continues
// where it ended. Otherwise the download starts over.
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
  // Makes the request for one try, with the additional headers `more`.
  std::function<Result<http::Request>(const http::Headers& more)> make;
  // If a reply does not contain the object, returns the reason why the server refused the request.
  std::function<RemoteRefusal(const http::ResponseHead& head, std::string_view body)> judge;
  // `doubts` returns an error if a reply with success seems not to come from the store. If `doubts` is null,
  // replies are not checked.
  std::function<std::optional<Error>(const http::Headers&)> doubts{};
};

// Returns an error if the reply is a web page and does not come from S3, which always sends x-amz-request-id.
// A proxy or a sign-in page may send a web page with status 200, and such a page does not show whether the
// object exists.
[[nodiscard]] std::optional<Error> find_web_page_error(const http::Headers& headers);

[[nodiscard]] Result<ObjectInfo> download(const HttpDependencies& dependencies, const DownloadPlan& plan,
                                          ObjectSink& sink, RetryLoop& attempts);

// Reads the facts about an object from the headers of a reply.
[[nodiscard]] ObjectInfo object_info(std::string_view key, const http::Headers& headers);

// Returns the facts about an object from `headers`, the headers of the reply to a HEAD request. If a proxy
// removed the length from that reply, object_info_from_head() requests the first byte of the object, because
// the reply to a request for a range also contains the length. Returns kUnavailable if the object exists but
// no reply contains its length.
[[nodiscard]] Result<ObjectInfo> object_info_from_head(ObjectStore& store, std::string_view key,
                                                       const http::Headers& headers,
                                                       const std::stop_token& stop);

}  // namespace ratoon::objects
