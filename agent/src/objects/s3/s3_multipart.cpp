#include "agent/src/objects/s3/s3_multipart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/src/objects/s3/checksum_text.h"
#include "agent/src/objects/s3/open_uploads.h"
#include "agent/src/objects/s3/s3_parts.h"
#include "agent/src/objects/s3/s3_replies.h"
#include "agent/src/objects/sources.h"
#include "base/core/crc32c.h"

namespace ratoon::objects {
namespace {

// How often an upload that others disturb begins anew.
constexpr std::uint32_t kRoundsMax = 4;

// For taking back: who has failed, or was told to stop, does not wait long for its tidying.
Patience short_patience(const Patience& usual) {
  Patience patience = usual;
  patience.retry.attempts_max = std::min(usual.retry.attempts_max, 3u);
  patience.retry.total = std::min<Duration>(usual.retry.total, std::chrono::seconds(10));
  patience.silence = std::min<Duration>(usual.silence, std::chrono::seconds(5));
  return patience;
}

std::string xml_text(std::string_view text) {
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

std::string parts_document(const std::vector<StoredPart>& parts) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += "<Part><ETag>" + xml_text(parts[i].etag) + "</ETag><ChecksumCRC32C>" +
            checksum_text(parts[i].crc32c) + "</ChecksumCRC32C><PartNumber>" + std::to_string(i + 1) +
            "</PartNumber></Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

// From the beginning to the end, or to the point where all has to begin anew.
class Round {
 public:
  Round(S3Writer& writer, const PartPlan& plan, ObjectSource& source, const UploadOptions& options)
      : writer_(writer),
        plan_(plan),
        source_(source),
        options_(options),
        short_patience_(short_patience(writer.client().patience())) {}

  // Nothing: begin anew.
  Result<std::optional<UploadedObject>> run();

 private:
  Result<void> begin();
  Result<void> take_back();
  Result<bool> send_and_complete();
  Result<bool> complete(const std::vector<StoredPart>& parts);
  enum class Completed { kDone, kBeginAnew, kAskAgain };
  Result<Completed> judge_completed(const http::Response& answer, const std::vector<StoredPart>& parts);
  [[nodiscard]] CallOptions tidying() const { return {.patience = &short_patience_}; }

  S3Writer& writer_;
  const PartPlan& plan_;
  ObjectSource& source_;
  const UploadOptions& options_;
  const Patience short_patience_;

  std::string id_;
  bool proves_whole_ = false;  // the store computes the checksum of the whole object
  std::uint32_t crc32c_ = 0;
  std::uint32_t completions_ = 0;  // requests for it that were sent
};

Result<std::optional<UploadedObject>> Round::run() {
  if (auto begun = begin(); !begun) return begun.error();
  const auto done = send_and_complete();
  const auto object = [&] { return std::optional(UploadedObject{plan_.size_bytes, crc32c_}); };
  if (done && *done) return object();
  const auto aborted = take_back();
  if (done) return std::optional<UploadedObject>();
  const bool may_be_done =
      completions_ > 0 && (may_pass(done.error()) || done.error().kind() == ErrorKind::kCancelled);
  if (may_be_done) {
    // The upload is closed now, one way or the other.
    const auto found = writer_.look(source_, crc32c_, true, tidying());
    if (found && *found == S3Writer::Found::kOurs) return object();
  }
  if (aborted) return done.error();
  return Error(done.error().kind(),
               done.error().message() +
                   "; its parts stay until abort_stale_uploads(), since taking them back "
                   "failed as well");
}

Result<void> Round::begin() {
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
  proves_whole_ = answer->headers.get("x-amz-checksum-type") == "FULL_OBJECT";
  return {};
}

// Parts cost money for as long as they lie there. One that was cut off on its way may arrive after the first
// abort, so S3 wants to be asked until it knows of nothing any more.
Result<void> Round::take_back() {
  constexpr int kAbortsMax = 3;
  for (int i = 0; i < kAbortsMax; ++i) {
    const auto aborted = writer_.client().call(abort_call(writer_.key(), id_), "taking back " + writer_.uri(),
                                               {.accepts = says_no_upload, .patience = &short_patience_});
    if (!aborted) return aborted.error();
    if (aborted->status == 404) break;
  }
  return {};
}

// False: all has to begin anew.
Result<bool> Round::send_and_complete() {
  auto sent = S3Parts(writer_, id_, plan_, source_, options_).send();
  if (!sent) return sent.error();
  if (!*sent) return false;
  const std::vector<StoredPart>& parts = **sent;
  crc32c_ = parts.front().crc32c;
  for (std::uint32_t i = 1; i < plan_.count; ++i)
    crc32c_ = crc32c_combine(crc32c_, parts[i].crc32c, plan_.bytes(i));
  if (auto checked = check_source(options_.crc32c, crc32c_, writer_.uri()); !checked) return checked.error();
  return complete(parts);
}

Result<bool> Round::complete(const std::vector<StoredPart>& parts) {
  const std::string document = parts_document(parts);
  S3Call call{.method = "POST",
              .key = writer_.key(),
              .query = {{"uploadId", id_}},
              .headers = {{"Content-Type", "application/xml"}},
              .body = document};
  if (proves_whole_) {
    call.headers.emplace_back(kChecksumHeader, checksum_text(crc32c_));
    call.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  }
  if (!writer_.replaces()) call.headers.emplace_back("If-None-Match", "*");
  const std::string what = "completing " + writer_.uri();
  const CallOptions options{.stop = options_.stop,
                            .accepts =
                                [](const http::Response& answer) {
                                  return says_it_exists(answer) || says_no_upload(answer) ||
                                         answer.status == 409;
                                },
                            .may_fail_late = true,
                            .requests = &completions_};
  Attempts attempts(writer_.client().surroundings(), writer_.client().patience(), what, options_.stop);
  while (true) {
    const auto answer = writer_.client().call(call, what, options);
    if (!answer) return answer.error();
    const auto judged = judge_completed(*answer, parts);
    if (!judged) return judged.error();
    if (*judged != Completed::kAskAgain) return *judged == Completed::kDone;
    const Error not_there(ErrorKind::kUnavailable, "the store says that it is done, and it is not there");
    const auto next = attempts.next({.error = not_there, .may_pass = true});
    if (!next && next.error().kind() == ErrorKind::kUnavailable) return false;  // it never will be
    if (!next) return next.error();
  }
}

Result<Round::Completed> Round::judge_completed(const http::Response& answer,
                                                const std::vector<StoredPart>& parts) {
  if (answer.status == 409) return Completed::kBeginAnew;  // others wrote meanwhile: S3 wants all parts again
  const CallOptions options{.stop = options_.stop};
  if (says_it_exists(answer)) {
    auto resolved = writer_.resolve_taken(source_, crc32c_, completions_, options);
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
                                              "' in the store, sent was '" + checksum_text(crc32c_) +
                                              "'; remove it");
    }
  }
  // No proof, or the upload is not there any more: an earlier request may have completed it, or the store is
  // still completing it, or it was aborted and what stands there is another's.
  const auto found = writer_.look(source_, crc32c_, says_done || completions_ > 1, options);
  if (!found) return found.error();
  if (*found == S3Writer::Found::kOurs) return Completed::kDone;
  if (*found == S3Writer::Found::kAnothers && !writer_.replaces()) return writer_.already_exists();
  return says_done ? Completed::kAskAgain : Completed::kBeginAnew;
}

}  // namespace

Result<UploadedObject> upload_in_parts(S3Writer& writer, const PartPlan& plan, ObjectSource& source,
                                       const UploadOptions& options) {
  const Surroundings& surroundings = writer.client().surroundings();
  for (std::uint32_t round = 1; round <= kRoundsMax; ++round) {
    if (round > 1) {
      if (options.progress) options.progress(0);
      const Duration pause =
          retry_pause(writer.client().patience().retry, round, surroundings.chance(), std::nullopt);
      if (!surroundings.pause(pause, options.stop))
        return Error(ErrorKind::kCancelled, "writing " + writer.uri() + " was cancelled");
    }
    const auto done = Round(writer, plan, source, options).run();
    if (!done) return done.error();
    if (*done) return **done;
  }
  return Error(ErrorKind::kConflict, "writing " + writer.uri() + " was disturbed " +
                                         std::to_string(kRoundsMax) +
                                         " times: others write that name at the same time, or abort uploads; "
                                         "find out who does");
}

}  // namespace ratoon::objects
