#include "agent/src/objects/s3/s3_store.h"

#include <utility>

#include "agent/src/objects/object_key.h"
#include "agent/src/objects/remote/download.h"
#include "agent/src/objects/s3/s3_replies.h"
#include "agent/src/objects/sinks.h"

namespace ratoon::objects {
namespace {

// For If-None-Match: 412 as it should be, 304 from older MinIO.
bool says_it_exists(int status) {
  return status == 412 || status == 304;
}

}  // namespace

S3Call S3Store::call_for(std::string method, std::string_view key) const {
  return {.method = std::move(method), .key = prefix_ + std::string(key)};
}

Result<ObjectInfo> S3Store::get(std::string_view key, ObjectSink& sink, const GetOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  const S3Call call = call_for("GET", key);
  S3Client::Attempt attempt;
  const DownloadPlan plan{
      .key = std::string(key),
      .range = options.range,
      .make = [&](const http::Headers& more) { return client_->request(call, more, attempt, options.stop); },
      .judge =
          [&](const http::ResponseHead& head, std::string_view body) {
            return client_->judge(call, attempt, head.status, head.headers, body);
          }};
  Attempts attempts(client_->surroundings(), client_->patience(), "reading " + join_uri(uri_, key),
                    options.stop);
  return download(client_->surroundings(), plan, sink, attempts);
}

Result<ObjectInfo> S3Store::head(std::string_view key, std::stop_token stop) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  const std::string what = "looking for " + join_uri(uri_, key);
  auto answer = client_->call(call_for("HEAD", key), what, stop);
  const bool is_clear = answer || answer.error().kind() == ErrorKind::kNotFound || may_pass(answer.error()) ||
                        stop.stop_requested();
  if (!is_clear) {
    // A refused HEAD has no body and so no reason: the smallest GET has one, and learns the bucket's region.
    MemorySink first_byte;
    const auto got = get(key, first_byte, {.range = ByteRange{0, 1}, .stop = stop});
    const bool is_only_empty = !got && got.error().kind() == ErrorKind::kInvalid;
    if (!got && !is_only_empty) return got.error();
    answer = client_->call(call_for("HEAD", key), what, stop);
  }
  if (!answer) return answer.error();
  return object_info(key, answer->headers);
}

Result<void> S3Store::put(std::string_view key, std::string_view bytes, const PutOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  if (!options.replaces) return create(key, bytes, options.stop);
  S3Call call = call_for("PUT", key);
  call.headers = {{"Content-Type", "application/octet-stream"}};
  call.body = bytes;
  const auto answer = client_->call(call, "writing " + join_uri(uri_, key), options.stop);
  if (!answer) return answer.error();
  return {};
}

Result<void> S3Store::create(std::string_view key, std::string_view bytes, const std::stop_token& stop) {
  S3Call call = call_for("PUT", key);
  call.headers = {{"Content-Type", "application/octet-stream"}, {"If-None-Match", "*"}};
  call.body = bytes;
  const std::string uri = join_uri(uri_, key);
  std::uint32_t requests = 0;
  const auto answer = client_->call(call, "creating " + uri, stop, says_it_exists, &requests);
  if (!answer) return answer.error();
  if (!says_it_exists(answer->status)) return {};
  if (requests > 1) {
    // An earlier request of ours may have made it, with its reply lost: then it holds our bytes.
    MemorySink there(bytes.size());
    const auto got = get(key, there, {.stop = stop});
    if (got && there.bytes() == bytes) return {};
    if (!got && got.error().kind() != ErrorKind::kInvalid) return got.error();
  }
  return Error(ErrorKind::kAlreadyExists, uri + " exists, and was to be created");
}

Result<ObjectPage> S3Store::list(std::string_view prefix, std::string_view page, std::stop_token stop) {
  if (auto checked = check_prefix(prefix, uri_); !checked) return checked.error();
  S3Call call;
  // Escaped, since a key may hold characters that XML cannot.
  call.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix_ + std::string(prefix)}};
  if (!page.empty()) call.query.emplace_back("continuation-token", page);
  const std::string what = "listing " + join_uri(uri_, prefix);
  const auto answer = client_->call(call, what, stop);
  if (!answer) return answer.error();
  auto decoded = decode_list(answer->body);
  if (!decoded) return decoded.error().with_context(what);
  for (ObjectInfo& object : decoded->objects) {
    if (!object.key.starts_with(prefix_))
      return Error(ErrorKind::kCorrupted, what + " gave '" + object.key + "', which is elsewhere");
    object.key.erase(0, prefix_.size());
  }
  return decoded;
}

Result<void> S3Store::remove(std::string_view key, std::stop_token stop) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  const auto answer = client_->call(call_for("DELETE", key), "removing " + join_uri(uri_, key), stop);
  if (answer) return {};
  // What is not there is removed, but for a bucket that is not there.
  const bool is_gone = answer.error().kind() == ErrorKind::kNotFound &&
                       answer.error().message().find("NoSuchBucket") == std::string::npos;
  if (is_gone) return {};
  return answer.error();
}

}  // namespace ratoon::objects
