#include "agent/src/objects/s3/s3_store.h"

#include <utility>

#include "agent/src/objects/object_key.h"
#include "agent/src/objects/remote/download.h"
#include "agent/src/objects/s3/open_uploads.h"
#include "agent/src/objects/s3/protocol/part_plan.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/s3_multipart.h"
#include "agent/src/objects/sinks.h"
#include "agent/src/objects/sources.h"
#include "base/core/crc32c.h"

namespace ratoon::objects {

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
            return client_->make_refusal(call, attempt, head.status, head.headers, body);
          },
      .doubts = find_web_page_error};
  RetryLoop attempts(client_->dependencies(), client_->timeouts(), "reading " + join_uri(uri_, key),
                     options.stop);
  return download(client_->dependencies(), plan, sink, attempts);
}

Result<ObjectInfo> S3Store::head(std::string_view key, std::stop_token stop) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  const std::string what = "looking for " + join_uri(uri_, key);
  const CallOptions asked{.stop = stop};
  auto answer = client_->call(call_for("HEAD", key), what, asked);
  const bool is_clear = answer || answer.error().kind() == ErrorKind::kNotFound ||
                        is_retryable(answer.error()) || stop.stop_requested();
  if (!is_clear) {
    // The reply to a refused HEAD request has no body, and so no reason. Send a GET request for one byte,
    // because the reply to a refused GET request contains the reason and the bucket's region.
    MemorySink first_byte;
    const auto got = get(key, first_byte, {.range = ByteRange{0, 1}, .stop = stop});
    const bool is_only_empty = !got && got.error().kind() == ErrorKind::kInvalid;
    if (!got && !is_only_empty) return got.error();
    answer = client_->call(call_for("HEAD", key), what, asked);
  }
  if (!answer) return answer.error();
  return object_info_from_head(*this, key, answer->headers, stop);
}

S3Writer S3Store::writer_for(std::string_view key, bool replaces) const {
  return {*client_, prefix_ + std::string(key), join_uri(uri_, key), replaces};
}

Result<void> S3Store::put(std::string_view key, std::string_view bytes, const PutOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  return writer_for(key, options.replaces).put(bytes, crc32c(std::as_bytes(std::span(bytes))), options.stop);
}

Result<UploadedObject> S3Store::upload(std::string_view key, ObjectSource& source,
                                       const UploadOptions& options) {
  if (auto checked = check_key(key, uri_); !checked) return checked.error();
  S3Writer writer = writer_for(key, options.replaces);
  const auto plan = plan_parts(source.size_bytes(), options.part_bytes);
  if (!plan) return plan.error().with_context("writing " + writer.uri());
  if (plan->count > 1) return upload_in_parts(writer, *plan, source, options);

  std::string bytes(plan->size_bytes, '\0');
  if (auto read = source.read(0, bytes); !read) return read.error().with_context("writing " + writer.uri());
  const UploadedObject uploaded{.size_bytes = bytes.size(),
                                .crc32c = crc32c(std::as_bytes(std::span(bytes)))};
  if (auto checked = check_source_crc32c(options.crc32c, uploaded.crc32c, writer.uri()); !checked)
    return checked.error();
  if (auto put = writer.put(bytes, uploaded.crc32c, options.stop); !put) return put.error();
  if (options.progress) options.progress(bytes.size());
  return uploaded;
}

Result<std::uint64_t> S3Store::abort_stale_uploads(std::string_view prefix, Duration older_than,
                                                   std::stop_token stop) {
  if (auto checked = check_prefix(prefix, uri_); !checked) return checked.error();
  return abort_open_uploads(*client_, prefix_ + std::string(prefix), join_uri(uri_, prefix), older_than,
                            stop);
}

Result<ObjectPage> S3Store::list(std::string_view prefix, std::string_view page, std::stop_token stop) {
  if (auto checked = check_prefix(prefix, uri_); !checked) return checked.error();
  S3Call call;
  // Asks the store to escape the names in its reply, because a key may contain characters that XML cannot
  // represent.
  call.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix_ + std::string(prefix)}};
  if (!page.empty()) call.query.emplace_back("continuation-token", page);
  const std::string what = "listing " + join_uri(uri_, prefix);
  const auto answer = client_->call(call, what, {.stop = stop});
  // S3 returns an empty list for a prefix without objects, so kNotFound means that the bucket does not exist.
  if (!answer && answer.error().kind() == ErrorKind::kNotFound)
    return Error(ErrorKind::kInvalid,
                 answer.error().message() +
                     "; the server did not find the bucket: check the endpoint and the bucket's name");
  if (!answer) return answer.error();
  auto decoded = decode_list(answer->body);
  if (!decoded) return decoded.error().with_context(what);
  for (ObjectInfo& object : decoded->objects) {
    if (!object.key.starts_with(prefix_))
      return Error(ErrorKind::kCorrupted,
                   what + " gave '" + object.key + "', which is outside of the prefix");
    object.key.erase(0, prefix_.size());
  }
  return decoded;
}

Result<void> S3Store::remove(std::string_view key, std::stop_token stop) {
  if (auto checked = check_key(key, uri_); !checked) return checked;
  const auto answer =
      client_->call(call_for("DELETE", key), "removing " + join_uri(uri_, key), {.stop = stop});
  if (answer || answer.error().kind() == ErrorKind::kNotFound) return {};
  return answer.error();
}

}  // namespace ratoon::objects
