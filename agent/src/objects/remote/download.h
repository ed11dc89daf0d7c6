// download(): an object's bytes over HTTP into a sink, whatever the connection does. One that is cut goes on
// where it stopped, but only if the server promises that it is the same object (If-Match on its ETag); else
// it begins anew.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

#include "agent/src/objects/object_store.h"
#include "agent/src/objects/remote/attempts.h"

namespace ratoon::objects {

struct DownloadPlan {
  std::string key;
  std::optional<ByteRange> range;
  // The request for the object with these headers too, called for each attempt.
  std::function<Result<http::Request>(const http::Headers& more)> make;
  // Of an answer without the object.
  std::function<Refusal(const http::ResponseHead& head, std::string_view body)> judge;
  // Why an answer that has an object, as its head says, is none of that server's; null: it may be.
  std::function<std::optional<Error>(const http::Headers&)> doubts{};
};

// Whether an answer is a web page and not one of S3, which says x-amz-request-id with each: a proxy or a
// sign-in page answers so, also with status 200, and nothing is learned of the object.
[[nodiscard]] std::optional<Error> find_page(const http::Headers& headers);

[[nodiscard]] Result<ObjectInfo> download(const Surroundings& surroundings, const DownloadPlan& plan,
                                          ObjectSink& sink, Attempts& attempts);

// What the head of an answer says.
[[nodiscard]] ObjectInfo object_info(std::string_view key, const http::Headers& headers);

// What an answer to HEAD says. Proxies leave the length out: then the first byte is asked for, with which it
// comes. kUnavailable: there is an object, and nothing says how long it is.
[[nodiscard]] Result<ObjectInfo> found_by_head(ObjectStore& store, std::string_view key,
                                               const http::Headers& headers, const std::stop_token& stop);

}  // namespace ratoon::objects
