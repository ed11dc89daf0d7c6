#include "agent/src/objects/s3/s3_part_uploader.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/src/objects/s3/protocol/checksum_text.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "base/core/crc32c.h"

namespace ratoon::objects {

bool says_upload_missing(const http::Response& answer) {
  return answer.status == 404 && decode_refusal(answer.body).code == "NoSuchUpload";
}

S3PartUploader::S3PartUploader(const S3Writer& writer, std::string upload_id, const PartPlan& plan,
                               ObjectSource& source, const UploadOptions& options)
    : writer_(writer),
      upload_id_(std::move(upload_id)),
      plan_(plan),
      source_(source),
      options_(options),
      parts_(plan.count) {}

Result<std::optional<std::vector<StoredPart>>> S3PartUploader::send() {
  {
    const std::stop_callback pass_on(options_.stop, [this] { stop_source_.request_stop(); });
    const std::uint32_t threads = std::clamp(options_.threads, 1u, plan_.count);
    std::vector<std::jthread> others;
    try {
      for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back([this] { run_worker(); });
    } catch (const std::system_error&) {
      // If the system refuses to start another thread, the threads that already run send all parts.
    }
    run_worker();
  }
  if (failure_) return *std::move(failure_);
  if (is_upload_gone_) return std::optional<std::vector<StoredPart>>();
  return std::optional(std::move(parts_));
}

// Several threads run run_worker() at the same time. run_worker() must not throw, because an exception in
// such a thread would end the process.
void S3PartUploader::run_worker() {
  try {
    send_parts();
  } catch (const std::exception& error) {
    record_failure(Error(ErrorKind::kUnavailable, "writing " + writer_.uri() + ": " + error.what()));
  }
}

void S3PartUploader::send_parts() {
  std::string bytes;
  while (!stop_source_.stop_requested()) {
    const std::uint32_t index = next_part_.fetch_add(1);
    if (index >= plan_.count) return;
    if (auto sent = send_part(index, bytes); !sent) return record_failure(sent.error());
  }
  if (options_.stop.stop_requested())
    record_failure(Error(ErrorKind::kCancelled, "writing " + writer_.uri() + " was cancelled"));
}

Result<void> S3PartUploader::send_part(std::uint32_t index, std::string& bytes) {
  const std::string what = "writing " + writer_.uri() + ", part " + std::to_string(index + 1) + " of " +
                           std::to_string(plan_.count);
  bytes.resize(plan_.bytes(index));
  if (auto read = source_.read(plan_.begin(index), bytes); !read) return read.error().with_context(what);
  StoredPart& part = parts_[index];
  part.crc32c = crc32c(std::as_bytes(std::span(bytes)));
  const std::string checksum = checksum_text(part.crc32c);
  const S3Call call{.method = "PUT",
                    .key = writer_.key(),
                    .query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", upload_id_}},
                    .headers = {{kChecksumHeader, checksum}},
                    .body = bytes};
  const CallOptions options{
      .stop = stop_source_.get_token(),
      .accepts = says_upload_missing,
      .doubts = [&](const http::Response& got) { return check_stored_part(got, checksum); },
      .explains = [&] { return explain_lost_reply(); }};
  const auto answer = writer_.client().call(call, what, options);
  if (answer && answer->status == 404) is_upload_gone_ = true;
  if (is_upload_gone_) {
    stop_source_.request_stop();
    return {};
  }
  if (!answer) return answer.error();
  part.etag = answer->headers.get("ETag");
  report_stored_bytes(bytes.size());
  return {};
}

// A store in which the upload does not exist may close the connection without reading the part, so that its
// reply is lost. explain_lost_reply() sends a request without a body, to which the store replies.
std::optional<Error> S3PartUploader::explain_lost_reply() {
  RequestTimeouts once = writer_.client().timeouts();
  once.retry.attempts_max = 1;
  once.retry.total = once.silence;
  const S3Call question{.key = writer_.key(), .query = {{"max-parts", "1"}, {"uploadId", upload_id_}}};
  const auto answer = writer_.client().call(
      question, "looking for the upload to " + writer_.uri(),
      {.stop = stop_source_.get_token(), .accepts = says_upload_missing, .timeouts = &once});
  if (!answer || answer->status != 404) return std::nullopt;
  is_upload_gone_ = true;
  return Error(ErrorKind::kConflict, "the upload no longer exists");
}

std::optional<Error> S3PartUploader::check_stored_part(const http::Response& answer,
                                                       const std::string& checksum) const {
  if (answer.headers.get("ETag").empty())
    return Error(ErrorKind::kCorrupted, "the store took a part and gave no ETag for it");
  return check_stored_checksum(answer, checksum);
}

// Only the first error of all threads is kept: it stops the other threads, whose errors then only say that
// they were stopped.
void S3PartUploader::record_failure(Error error) {
  {
    const MutexLock lock(mutex_);
    const bool is_consequence = is_upload_gone_ && error.kind() == ErrorKind::kCancelled;
    if (!failure_ && !is_consequence) failure_ = std::move(error);
  }
  stop_source_.request_stop();
}

void S3PartUploader::report_stored_bytes(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  stored_bytes_ += bytes;
  if (options_.progress) options_.progress(stored_bytes_);
}

}  // namespace ratoon::objects
