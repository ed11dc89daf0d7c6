#include "agent/src/objects/remote/http_store.h"

#include <utility>

#include "agent/src/objects/object_key.h"
#include "agent/src/objects/percent.h"
#include "agent/src/objects/remote/download.h"
#include "agent/src/objects/remote/location.h"

namespace ratoon::objects {
namespace {

bool is_redirection(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

HttpStore::HttpStore(HttpDependencies dependencies, StoreUri uri, const StoreOptions& options)
    : dependencies_(std::move(dependencies)), uri_(std::move(uri)), timeouts_(timeouts_of(options)) {}

std::string HttpStore::url_of(std::string_view key) const {
  std::string url = uri_.path + '/' + percent_encode(key, true);
  if (!uri_.query.empty()) url += '?' + uri_.query;
  return url;
}

RemoteRefusal HttpStore::make_refusal(std::string_view method, std::string& url, int status,
                                      const http::Headers& headers) const {
  const std::string shown = std::string(method) + ' ' + url_without_query(url);
  if (is_redirection(status)) {
    const auto location = headers.get("Location");
    auto target = resolve_redirect(url, location);
    if (!target) {
      return {.error = Error(ErrorKind::kInvalid, shown + " was answered with " + std::to_string(status) +
                                                      " and leads to '" + url_without_query(location) +
                                                      "', which is not followed")};
    }
    url = *std::move(target);
    return {.error = Error(ErrorKind::kInvalid, shown + " leads to " + url_without_query(url)),
            .is_retried_at_once = true};
  }
  std::string what = shown + " was answered with status " + std::to_string(status);
  if (status == 401 || status == 403)
    what += "; check which credentials this server requires and whether the URL is complete";
  return {.error = Error(error_kind_of_status(status), std::move(what)),
          .is_retryable = is_retryable(status, ""),
          .retry_after = parse_retry_after(headers.get("Retry-After"), dependencies_.clock->wall_now())};
}

Result<ObjectInfo> HttpStore::get(std::string_view key, ObjectSink& sink, const GetOptions& options) {
  if (auto checked = check_key(key, uri()); !checked) return checked.error();
  std::string url = url_of(key);
  const DownloadPlan plan{
      .key = std::string(key),
      .range = options.range,
      .make = [&url](const http::Headers& more) -> Result<http::Request> {
        return http::Request{.url = url, .headers = more};
      },
      .judge = [&](const http::ResponseHead& head,
                   std::string_view) { return make_refusal("GET", url, head.status, head.headers); }};
  RetryLoop attempts(dependencies_, timeouts_, "reading " + join_uri(uri(), key), options.stop);
  return download(dependencies_, plan, sink, attempts);
}

Result<ObjectInfo> HttpStore::head(std::string_view key, std::stop_token stop) {
  if (auto checked = check_key(key, uri()); !checked) return checked.error();
  std::string url = url_of(key);
  RetryLoop attempts(dependencies_, timeouts_, "looking for " + join_uri(uri(), key), stop);
  const auto response = exchange(
      dependencies_,
      {.make = [&url]() -> Result<http::Request> { return http::Request{.method = "HEAD", .url = url}; },
       .judge = [&](const http::Response& answer) -> std::optional<RemoteRefusal> {
         if (answer.status == 200) return std::nullopt;
         return make_refusal("HEAD", url, answer.status, answer.headers);
       }},
      attempts);
  if (!response) return response.error();
  return object_info_from_head(*this, key, response->headers, stop);
}

Error HttpStore::read_only_error(std::string_view doing) const {
  return {ErrorKind::kInvalid, std::string(doing) + " " + uri() +
                                   " is not possible: web servers are for reading; use s3:// or a folder"};
}

Result<void> HttpStore::put(std::string_view, std::string_view, const PutOptions&) {
  return read_only_error("writing to");
}

Result<UploadedObject> HttpStore::upload(std::string_view, ObjectSource&, const UploadOptions&) {
  return read_only_error("writing to");
}

Result<std::uint64_t> HttpStore::abort_stale_uploads(std::string_view, Duration, std::stop_token) {
  return read_only_error("removing stale uploads from");
}

Result<ObjectPage> HttpStore::list(std::string_view, std::string_view, std::stop_token) {
  return read_only_error("listing");
}

Result<void> HttpStore::remove(std::string_view, std::stop_token) {
  return read_only_error("removing from");
}

}  // namespace ratoon::objects
