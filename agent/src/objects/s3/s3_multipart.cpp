#include "agent/src/objects/s3/s3_multipart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/src/objects/s3/open_uploads.h"
#include "agent/src/objects/s3/protocol/checksum_text.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/s3_part_uploader.h"
#include "agent/src/objects/sources.h"
#include "base/core/crc32c.h"

namespace ratoon::objects {
namespace {

// If other clients interfere with an upload, the upload is begun at most kUploadAttemptsMax times.
constexpr std::uint32_t kUploadAttemptsMax = 4;

// The timeouts for aborting an upload are short, because the caller has already failed or was stopped and
// must not wait long.
RequestTimeouts make_short_timeouts(const RequestTimeouts& usual) {
  RequestTimeouts timeouts = usual;
  timeouts.retry.attempts_max = std::min(usual.retry.attempts_max, 3u);
  timeouts.retry.total = std::min<Duration>(usual.retry.total, std::chrono::seconds(10));
  timeouts.silence = std::min<Duration>(usual.silence, std::chrono::seconds(5));
  return timeouts;
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string completion_document(const std::vector<StoredPart>& parts) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += "<Part><ETag>" + escape_xml(parts[i].etag) + "</ETag><ChecksumCRC32C>" +
            checksum_text(parts[i].crc32c) + "</ChecksumCRC32C><PartNumber>" + std::to_string(i + 1) +
            "</PartNumber></Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

// UploadAttempt: one multipart upload, from its beginning until it is completed or must be started again.
class UploadAttempt {
 public:
  UploadAttempt(S3Writer& writer, const PartPlan& plan, ObjectSource& source, const UploadOptions& options)
      : writer_(writer),
        plan_(plan),
        source_(source),
        options_(options),
        short_timeouts_(make_short_timeouts(writer.client().timeouts())) {}

  // Makes the attempt. Returns nothing if the upload must be started again.
  Result<std::optional<UploadedObject>> run();

 private:
  Result<void> begin();
  Result<void> abort_upload();
  Result<bool> send_and_complete();
  Result<bool> complete(const std::vector<StoredPart>& parts);
  enum class Completed { kDone, kBeginAnew, kAskAgain };
  Result<Completed> check_completed(const http::Response& answer, const std::vector<StoredPart>& parts);
  [[nodiscard]] CallOptions cleanup_options() const { return {.timeouts = &short_timeouts_}; }

  S3Writer& writer_;
  const PartPlan& plan_;
  ObjectSource& source_;
  const UploadOptions& options_;
  const RequestTimeouts short_timeouts_;

  std::string id_;
  bool has_whole_checksum_ = false;  // the store computes the checksum of the whole object
  std::uint32_t crc32c_ = 0;
  std::uint32_t completions_ = 0;  // complete-requests that were sent
};

Result<std::optional<UploadedObject>> UploadAttempt::run() {
  if (auto begun = begin(); !begun) return begun.error();
  const auto done = send_and_complete();
  const auto object = [&] { return std::optional(UploadedObject{plan_.size_bytes, crc32c_}); };
  if (done && *done) return object();
  const auto aborted = abort_upload();
  if (done) return std::optional<UploadedObject>();
  const bool may_be_done =
      completions_ > 0 && (is_retryable(done.error()) || done.error().kind() == ErrorKind::kCancelled);
  if (may_be_done) {
    // The upload has ended: it was either completed or aborted.
    const auto found = writer_.find_object_writer(source_, crc32c_, true, cleanup_options());
    if (found && *found == S3Writer::ObjectWriter::kOurs) return object();
  }
  if (aborted) return done.error();
  return Error(done.error().kind(), done.error().message() +
                                        "; its parts stay until abort_stale_uploads(), since aborting the "
                                        "upload failed as well");
}

Result<void> UploadAttempt::begin() {
  S3Call call{
      .method = "POST", .key = writer_.key(), .query = {{"uploads", ""}}, .headers = writer_.headers()};
  call.headers.emplace_back("x-amz-checksum-algorithm", "CRC32C");
  call.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  const std::string what = "beginning to write " + writer_.uri();
  const auto answer = writer_.client().call(call, what, {.stop = options_.stop});
  if (!answer) return answer.error();
  auto id = decode_upload_id(answer->body);
  if (!id) return id.error().with_context(what);
  id_ = *std::move(id);
  has_whole_checksum_ = answer->headers.get("x-amz-checksum-type") == "FULL_OBJECT";
  return {};
}

// Abort the upload after a failure, because its stored parts cost money until they are removed. A part may
// reach the store after the upload was aborted. As S3's documentation says, repeat the abort until the store
// no longer knows the upload.
Result<void> UploadAttempt::abort_upload() {
  constexpr int kAbortsMax = 3;
  for (int i = 0; i < kAbortsMax; ++i) {
    const auto aborted =
        writer_.client().call(make_abort_call(writer_.key(), id_), "aborting the upload to " + writer_.uri(),
                              {.accepts = says_upload_missing, .timeouts = &short_timeouts_});
    if (!aborted) return aborted.error();
    if (aborted->status == 404) break;
  }
  return {};
}

// Sends all parts and completes the upload. Returns false if the upload must be started again.
Result<bool> UploadAttempt::send_and_complete() {
  auto sent = S3PartUploader(writer_, id_, plan_, source_, options_).send();
  if (!sent) return sent.error();
  if (!*sent) return false;
  const std::vector<StoredPart>& parts = **sent;
  crc32c_ = parts.front().crc32c;
  for (std::uint32_t i = 1; i < plan_.count; ++i)
    crc32c_ = crc32c_combine(crc32c_, parts[i].crc32c, plan_.bytes(i));
  if (auto checked = check_source_crc32c(options_.crc32c, crc32c_, writer_.uri()); !checked)
    return checked.error();
  return complete(parts);
}

Result<bool> UploadAttempt::complete(const std::vector<StoredPart>& parts) {
  const std::string document = completion_document(parts);
  S3Call call{.method = "POST",
              .key = writer_.key(),
              .query = {{"uploadId", id_}},
              .headers = {{"Content-Type", "application/xml"}},
              .body = document};
  if (has_whole_checksum_) {
    call.headers.emplace_back(kChecksumHeader, checksum_text(crc32c_));
    call.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  }
  if (!writer_.replaces()) call.headers.emplace_back("If-None-Match", "*");
  const std::string what = "completing " + writer_.uri();
  const CallOptions options{.stop = options_.stop,
                            .accepts =
                                [](const http::Response& answer) {
                                  return says_object_exists(answer) || says_upload_missing(answer) ||
                                         answer.status == 409;
                                },
                            .may_fail_in_body = true,
                            .requests = &completions_};
  RetryLoop attempts(writer_.client().dependencies(), writer_.client().timeouts(), what, options_.stop);
  while (true) {
    const auto answer = writer_.client().call(call, what, options);
    if (!answer) return answer.error();
    const auto judged = check_completed(*answer, parts);
    if (!judged) return judged.error();
    if (*judged != Completed::kAskAgain) return *judged == Completed::kDone;
    const Error not_there(ErrorKind::kUnavailable,
                          "the store reported success, but the object does not exist");
    const auto next = attempts.wait_for_retry({.error = not_there, .is_retryable = true});
    if (!next && next.error().kind() == ErrorKind::kUnavailable) return false;  // it will never appear
    if (!next) return next.error();
  }
}

Result<UploadAttempt::Completed> UploadAttempt::check_completed(const http::Response& answer,
                                                                const std::vector<StoredPart>& parts) {
  if (answer.status == 409) return Completed::kBeginAnew;  // another client wrote: send all parts again
  const CallOptions options{.stop = options_.stop};
  if (says_object_exists(answer)) {
    auto resolved = writer_.resolve_existing_object(source_, crc32c_, completions_, options);
    if (!resolved) return resolved.error();
    return Completed::kDone;
  }
  const bool says_done = answer.status != 404;
  if (says_done) {
    std::vector<std::uint32_t> crcs;
    for (const StoredPart& part : parts) crcs.push_back(part.crc32c);
    const std::string proof = decode_completed_crc32c(answer.body);
    if (proof == checksum_text(crc32c_) || proof == composite_checksum_text(crcs)) return Completed::kDone;
    if (!proof.empty()) {
      return Error(ErrorKind::kCorrupted, writer_.uri() + " has the checksum '" + proof +
                                              "' in the store, but the bytes that were sent have '" +
                                              checksum_text(crc32c_) + "'; remove it");
    }
  }
  // The reply says that the upload does not exist, or does not prove that this request completed the upload.
  // Either an earlier request has completed the upload, or the store is still completing the upload. Or the
  // upload was aborted, and another client wrote the object.
  const auto found = writer_.find_object_writer(source_, crc32c_, says_done || completions_ > 1, options);
  if (!found) return found.error();
  if (*found == S3Writer::ObjectWriter::kOurs) return Completed::kDone;
  if (*found == S3Writer::ObjectWriter::kOtherWriters && !writer_.replaces())
    return writer_.already_exists_error();
  return says_done ? Completed::kAskAgain : Completed::kBeginAnew;
}

}  // namespace

Result<UploadedObject> upload_in_parts(S3Writer& writer, const PartPlan& plan, ObjectSource& source,
                                       const UploadOptions& options) {
  const HttpDependencies& dependencies = writer.client().dependencies();
  for (std::uint32_t round = 1; round <= kUploadAttemptsMax; ++round) {
    if (round > 1) {
      if (options.progress) options.progress(0);
      const Duration pause =
          retry_pause(writer.client().timeouts().retry, round, dependencies.chance(), std::nullopt);
      if (!dependencies.pause(pause, options.stop))
        return Error(ErrorKind::kCancelled, "writing " + writer.uri() + " was cancelled");
    }
    const auto done = UploadAttempt(writer, plan, source, options).run();
    if (!done) return done.error();
    if (*done) return **done;
  }
  return Error(ErrorKind::kConflict, "writing " + writer.uri() + " was disturbed " +
                                         std::to_string(kUploadAttemptsMax) +
                                         " times: other clients write that name at the same time, or abort "
                                         "its uploads; find them and stop them");
}

}  // namespace ratoon::objects
