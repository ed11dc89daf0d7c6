#include "agent/src/objects/remote/download.h"

#include <algorithm>

#include "agent/src/objects/object_key.h"
#include "agent/src/objects/remote/content_range.h"
#include "agent/src/objects/sinks.h"

namespace ratoon::objects {
namespace {

constexpr std::size_t kErrorBodyBytesMax = 64 * 1024;

class Download final : public http::BodySink {
 public:
  Download(const HttpDependencies& dependencies, const DownloadPlan& plan, ObjectSink& sink,
           RetryLoop& attempts)
      : dependencies_(dependencies), plan_(plan), sink_(sink), attempts_(attempts) {}

  Result<ObjectInfo> run() {
    while (true) {
      const auto refusal = attempt();
      if (!refusal) return std::move(object_);
      if (sink_error_) return *std::move(sink_error_);
      if (auto next = attempts_.wait_for_retry(*refusal); !next) return next.error();
    }
  }

  Result<void> on_head(const http::ResponseHead& head) override;
  Result<void> on_bytes(std::string_view bytes) override;

 private:
  std::optional<RemoteRefusal> attempt();
  std::optional<RemoteRefusal> check_complete();
  Result<void> restart_download(const http::Headers& headers, std::optional<std::uint64_t> total);
  Result<void> resume_with(const ContentRange& range, const http::Headers& headers);

  [[nodiscard]] std::uint64_t first_byte() const { return plan_.range ? plan_.range->begin : 0; }
  [[nodiscard]] bool is_resuming() const { return delivered_bytes_ > 0; }
  [[nodiscard]] bool is_object() const { return status_ == 200 || status_ == 206; }
  [[nodiscard]] bool is_whole() const {
    return has_begun_ && wanted_bytes_ && delivered_bytes_ == *wanted_bytes_;
  }
  // Tells the sink to discard the bytes that it has received, because the download starts over.
  void forget() {
    has_begun_ = false;
    delivered_bytes_ = 0;
    wanted_bytes_.reset();
  }
  Error set_reply_error(ErrorKind kind, bool may_be_better_next_time, const std::string& how) {
    reply_error_ = RemoteRefusal{.error = Error(kind, how), .is_retryable = may_be_better_next_time};
    return reply_error_->error;
  }
  // If the sink of the caller returns an error, the download ends without a retry.
  Result<void> check_sink_result(const Result<void>& result) {
    if (result) return {};
    sink_error_ = result.error().with_context(attempts_.what());
    return *sink_error_;
  }

  const HttpDependencies& dependencies_;
  const DownloadPlan& plan_;
  ObjectSink& sink_;
  RetryLoop& attempts_;

  ObjectInfo object_;
  bool has_begun_ = false;
  std::uint64_t delivered_bytes_ = 0;            // to the sink, since it began
  std::uint64_t most_bytes_ = 0;                 // the most that were ever delivered
  std::optional<std::uint64_t> wanted_bytes_{};  // total, if the server stated it
  std::optional<Error> sink_error_{};

  // The following members have the state of one try to download the object.
  int status_ = 0;
  http::ResponseHead head_{};
  std::string refusal_body_{};
  std::optional<RemoteRefusal> reply_error_{};
};

std::optional<RemoteRefusal> Download::attempt() {
  if (is_resuming() && !is_strong_etag(object_.etag)) forget();
  http::Headers more;
  const std::uint64_t from = first_byte() + delivered_bytes_;
  if (from > 0 || plan_.range) {
    more.set("Range", range_header(from, plan_.range ? std::optional(plan_.range->end) : std::nullopt));
  }
  if (is_resuming()) more.set("If-Match", object_.etag);
  const auto request = plan_.make(more);
  if (!request) return RemoteRefusal{.error = request.error(), .is_retryable = is_retryable(request.error())};

  status_ = 0;
  reply_error_.reset();
  refusal_body_.clear();
  const auto streamed =
      dependencies_.transport->stream(*request, attempts_.limits(), *this, attempts_.stop());
  // Only bytes that no earlier try has received count as progress. Otherwise the tries would never end if a
  // server stops at the same byte each time.
  if (delivered_bytes_ > most_bytes_) attempts_.saw_progress();
  most_bytes_ = std::max(most_bytes_, delivered_bytes_);
  if (reply_error_) return reply_error_;
  if (is_object() && is_whole()) return std::nullopt;  // a later connection error does not matter
  if (!streamed)
    return RemoteRefusal{.error = streamed.error(), .is_retryable = is_retryable(streamed.error())};
  return check_complete();
}

std::optional<RemoteRefusal> Download::check_complete() {
  if (!is_object()) {
    const bool was_replaced = is_resuming() && (status_ == 412 || status_ == 416);
    if (!was_replaced) return plan_.judge(head_, refusal_body_);
    forget();
    return RemoteRefusal{.error = Error(ErrorKind::kConflict, "the object changed during the download"),
                         .is_retryable = true};
  }
  if (!wanted_bytes_) {  // without a stated length, the end of the reply is the end of the object
    object_.size_bytes = delivered_bytes_;
    return std::nullopt;
  }
  return RemoteRefusal{
      .error = Error(ErrorKind::kUnavailable, "the server sent " + std::to_string(delivered_bytes_) +
                                                  " bytes of " + std::to_string(*wanted_bytes_)),
      .is_retryable = true};
}

Result<void> Download::on_head(const http::ResponseHead& head) {
  head_ = head;
  status_ = head.status;
  if (!is_object()) {
    if (status_ / 100 == 2)
      return set_reply_error(
          ErrorKind::kInvalid, false,
          "the server answered with status " + std::to_string(status_) + ", expected status 200");
    return {};
  }
  if (const auto doubt = plan_.doubts ? plan_.doubts(head.headers) : std::nullopt) {
    reply_error_ = RemoteRefusal{.error = *doubt, .is_retryable = true};
    return *doubt;
  }
  if (status_ == 200) {
    if (plan_.range) {
      return set_reply_error(
          ErrorKind::kInvalid, false,
          "the server returns whole objects only, but a part was requested; use a server that "
          "supports Range");
    }
    return restart_download(head.headers, parse_byte_count(head.headers.get("Content-Length")));
  }
  const auto range = parse_content_range(head.headers.get("Content-Range"));
  const std::uint64_t expected = first_byte() + delivered_bytes_;
  if (!range || range->begin != expected) {
    return set_reply_error(ErrorKind::kCorrupted, false,
                           "the server was asked for the bytes from " + std::to_string(expected) +
                               " on and answered with '" +
                               std::string(head.headers.get("Content-Range").substr(0, 100)) + "'");
  }
  return resume_with(*range, head.headers);
}

Result<void> Download::restart_download(const http::Headers& headers, std::optional<std::uint64_t> total) {
  forget();
  object_ = object_info(plan_.key, headers);
  object_.size_bytes = total.value_or(0);
  wanted_bytes_ = total;
  has_begun_ = true;
  return check_sink_result(sink_.begin(object_));
}

Result<void> Download::resume_with(const ContentRange& range, const http::Headers& headers) {
  if (!has_begun_) {
    if (auto begun = restart_download(headers, range.total_bytes); !begun) return begun;
    // If no header contains the size of the object, use the length of this reply.
    wanted_bytes_ = range.end - range.begin;
    if (range.total_bytes) {
      const std::uint64_t end =
          plan_.range ? std::min(plan_.range->end, *range.total_bytes) : *range.total_bytes;
      wanted_bytes_ = end - range.begin;
    }
    return {};
  }
  const bool is_same =
      headers.get("ETag") == object_.etag &&
      (!range.total_bytes || object_.size_bytes == 0 || *range.total_bytes == object_.size_bytes);
  if (is_same) return {};
  forget();
  return set_reply_error(ErrorKind::kConflict, true,
                         "the server continued with another object: the ETag or the size changed");
}

Result<void> Download::on_bytes(std::string_view bytes) {
  if (!is_object()) {
    refusal_body_.append(
        bytes.substr(0, kErrorBodyBytesMax - std::min(kErrorBodyBytesMax, refusal_body_.size())));
    return {};
  }
  if (wanted_bytes_ && bytes.size() > *wanted_bytes_ - delivered_bytes_) {
    return set_reply_error(
        ErrorKind::kCorrupted, false,
        "the server sends more than the " + std::to_string(*wanted_bytes_) + " bytes that it announced");
  }
  if (auto taken = check_sink_result(sink_.write(bytes)); !taken) return taken;
  delivered_bytes_ += bytes.size();
  return {};
}

}  // namespace

std::optional<Error> find_web_page_error(const http::Headers& headers) {
  const std::string_view type = headers.get("Content-Type");
  if (!type.starts_with("text/html") || !headers.get("x-amz-request-id").empty()) return std::nullopt;
  return Error(ErrorKind::kUnavailable,
               "this is no reply of an object store: a web page (Content-Type: text/html) came instead of an "
               "object; check for a proxy or sign-in page in between");
}

ObjectInfo object_info(std::string_view key, const http::Headers& headers) {
  return {.key = std::string(key),
          .size_bytes = parse_byte_count(headers.get("Content-Length")).value_or(0),
          .etag = std::string(headers.get("ETag"))};
}

Result<ObjectInfo> object_info_from_head(ObjectStore& store, std::string_view key,
                                         const http::Headers& headers, const std::stop_token& stop) {
  if (parse_byte_count(headers.get("Content-Length"))) return object_info(key, headers);
  MemorySink first_byte;
  auto got = store.get(key, first_byte, {.range = ByteRange{0, 1}, .stop = stop});
  if (got && got->size_bytes > 0) return got;
  // Without a Content-Range header, either the server does not support ranges or the object is empty.
  const bool is_unknown = got || got.error().kind() == ErrorKind::kInvalid;
  if (!is_unknown) return got.error();
  return Error(ErrorKind::kUnavailable,
               "the reply for " + join_uri(store.uri(), key) +
                   " does not state the object's size, neither by Content-Length nor by "
                   "Content-Range; check for a proxy that removes these headers");
}

Result<ObjectInfo> download(const HttpDependencies& dependencies, const DownloadPlan& plan, ObjectSink& sink,
                            RetryLoop& attempts) {
  return Download(dependencies, plan, sink, attempts).run();
}

}  // namespace ratoon::objects
