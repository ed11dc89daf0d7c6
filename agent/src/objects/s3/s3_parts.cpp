#include "agent/src/objects/s3/s3_parts.h"

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

bool says_no_upload(const http::Response& answer) {
  return answer.status == 404 && decode_refusal(answer.body).code == "NoSuchUpload";
}

S3Parts::S3Parts(const S3Writer& writer, std::string upload_id, const PartPlan& plan, ObjectSource& source,
                 const UploadOptions& options)
    : writer_(writer),
      upload_id_(std::move(upload_id)),
      plan_(plan),
      source_(source),
      options_(options),
      parts_(plan.count) {}

Result<std::optional<std::vector<StoredPart>>> S3Parts::send() {
  {
    const std::stop_callback pass_on(options_.stop, [this] { ended_.request_stop(); });
    const std::uint32_t threads = std::clamp(options_.threads, 1u, plan_.count);
    std::vector<std::jthread> others;
    try {
      for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // If the system refuses to start another thread, the threads that already run send all parts.
    }
    work();
  }
  if (failure_) return *std::move(failure_);
  if (is_gone_) return std::optional<std::vector<StoredPart>>();
  return std::optional(std::move(parts_));
}

// Several threads run this function at the same time. The function must not throw, because an exception in
// these threads would end the process.
void S3Parts::work() {
  try {
    send_parts();
  } catch (const std::exception& error) {
    fail(Error(ErrorKind::kUnavailable, "writing " + writer_.uri() + ": " + error.what()));
  }
}

void S3Parts::send_parts() {
  std::string bytes;
  while (!ended_.stop_requested()) {
    const std::uint32_t index = next_.fetch_add(1);
    if (index >= plan_.count) return;
    if (auto sent = send_part(index, bytes); !sent) return fail(sent.error());
  }
  if (options_.stop.stop_requested())
    fail(Error(ErrorKind::kCancelled, "writing " + writer_.uri() + " was cancelled"));
}

Result<void> S3Parts::send_part(std::uint32_t index, std::string& bytes) {
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
  const CallOptions options{.stop = ended_.get_token(),
                            .accepts = says_no_upload,
                            .doubts = [&](const http::Response& got) { return doubt(got, checksum); },
                            .explains = [&] { return explain_lost(); }};
  const auto answer = writer_.client().call(call, what, options);
  if (answer && answer->status == 404) is_gone_ = true;
  if (is_gone_) {
    ended_.request_stop();
    return {};
  }
  if (!answer) return answer.error();
  part.etag = answer->headers.get("ETag");
  note_stored(bytes.size());
  return {};
}

// A store in which the upload does not exist may close the connection without reading the part, so that its
// reply is lost. Therefore explain_lost() sends a request without a body, to which the store replies.
std::optional<Error> S3Parts::explain_lost() {
  RequestTimeouts once = writer_.client().timeouts();
  once.retry.attempts_max = 1;
  once.retry.total = once.silence;
  const S3Call question{.key = writer_.key(), .query = {{"max-parts", "1"}, {"uploadId", upload_id_}}};
  const auto answer =
      writer_.client().call(question, "looking for the upload to " + writer_.uri(),
                            {.stop = ended_.get_token(), .accepts = says_no_upload, .timeouts = &once});
  if (!answer || answer->status != 404) return std::nullopt;
  is_gone_ = true;
  return Error(ErrorKind::kConflict, "the upload no longer exists");
}

std::optional<Error> S3Parts::doubt(const http::Response& answer, const std::string& checksum) const {
  if (answer.headers.get("ETag").empty())
    return Error(ErrorKind::kCorrupted, "the store took a part and gave no ETag for it");
  return doubt_stored(answer, checksum);
}

// Only the first error of all threads is kept, because stopping the other threads causes further errors.
// Errors after the first one only say that the thread was stopped.
void S3Parts::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_consequence = is_gone_ && error.kind() == ErrorKind::kCancelled;
    if (!failure_ && !is_consequence) failure_ = std::move(error);
  }
  ended_.request_stop();
}

void S3Parts::note_stored(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  stored_bytes_ += bytes;
  if (options_.progress) options_.progress(stored_bytes_);
}

}  // namespace ratoon::objects
