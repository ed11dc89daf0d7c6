#include "agent/src/objects/s3/s3_writer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "agent/src/objects/remote/download.h"
#include "agent/src/objects/s3/protocol/checksum_text.h"
#include "agent/src/objects/sources.h"
#include "base/core/hex.h"

namespace ratoon::objects {
namespace {

constexpr const char* kWriterMarkHeader = "x-amz-meta-ratoon-writer";

// Makes the mark of this writer, a random text that no other writer has.
std::string make_writer_mark(const HttpDependencies& dependencies) {
  const auto first = static_cast<std::uint64_t>(dependencies.chance() * 0x1p53);
  const auto now = static_cast<std::uint64_t>(dependencies.clock->wall_now().since_epoch.count());
  return ratoon::to_hex(first) + "-" + ratoon::to_hex(now);
}

// Compares the bytes of an object, while it is downloaded, with the bytes of the source, and ends the
// download at the first difference.
class ComparingSink final : public ObjectSink {
 public:
  explicit ComparingSink(ObjectSource& source) : source_(source) {}

  Result<void> begin(const ObjectInfo&) override {
    compared_bytes_ = 0;
    return {};
  }
  Result<void> write(std::string_view bytes) override {
    std::string own(bytes.size(), '\0');
    is_different_ = compared_bytes_ + bytes.size() > source_.size_bytes();
    if (!is_different_) {
      if (auto read = source_.read(compared_bytes_, own); !read) return read;
      is_different_ = own != bytes;
    }
    if (is_different_) return Error(ErrorKind::kConflict, "other bytes");
    compared_bytes_ += bytes.size();
    return {};
  }
  [[nodiscard]] bool is_different() const { return is_different_; }
  [[nodiscard]] bool is_equal() const { return !is_different_ && compared_bytes_ == source_.size_bytes(); }

 private:
  ObjectSource& source_;
  std::uint64_t compared_bytes_ = 0;
  bool is_different_ = false;
};

}  // namespace

std::optional<Error> check_stored_checksum(const http::Response& answer, std::string_view checksum) {
  const std::string_view theirs = answer.headers.get(kChecksumHeader);
  if (theirs.empty() || theirs == checksum) return std::nullopt;
  return Error(ErrorKind::kCorrupted,
               "the store received bytes with the checksum '" + std::string(theirs.substr(0, 64)) +
                   "', but the bytes that were sent have '" + std::string(checksum) + "'");
}

bool says_object_exists(const http::Response& answer) {
  return answer.status == 412 || answer.status == 304;
}

S3Writer::S3Writer(S3Client& client, std::string key, std::string uri, bool replaces)
    : client_(client),
      key_(std::move(key)),
      uri_(std::move(uri)),
      replaces_(replaces),
      writer_mark_(make_writer_mark(client.dependencies())) {}

NameValues S3Writer::headers() const {
  return {{"Content-Type", "application/octet-stream"}, {kWriterMarkHeader, writer_mark_}};
}

Error S3Writer::already_exists_error() const {
  return {ErrorKind::kAlreadyExists, uri_ + " exists, but this call was to create it"};
}

Result<void> S3Writer::put(std::string_view bytes, std::uint32_t crc32c, const std::stop_token& stop) {
  const std::string checksum = checksum_text(crc32c);
  S3Call call{.method = "PUT", .key = key_, .headers = headers(), .body = bytes};
  call.headers.emplace_back(kChecksumHeader, checksum);
  if (!replaces_) call.headers.emplace_back("If-None-Match", "*");
  MemorySource source(bytes);
  std::uint32_t requests = 0;
  bool is_there = false;
  CallOptions options{.stop = stop, .requests = &requests};
  options.doubts = [&](const http::Response& answer) { return check_stored_checksum(answer, checksum); };
  if (!replaces_) {
    options.accepts = says_object_exists;
    // If the object exists, a store may refuse the request and close the connection without reading the body.
    options.explains = [&]() -> std::optional<Error> {
      const auto found = find_object_writer(source, crc32c, true, {.stop = stop});
      if (!found)
        return found.error().kind() == ErrorKind::kCorrupted ? std::optional(found.error()) : std::nullopt;
      is_there = *found == ObjectWriter::kOurs;
      return *found == ObjectWriter::kNothing ? std::nullopt : std::optional(already_exists_error());
    };
  }
  const auto answer = client_.call(call, (replaces_ ? "writing " : "creating ") + uri_, options);
  if (is_there) return {};
  if (!answer && answer.error().kind() == ErrorKind::kAlreadyExists) return already_exists_error();
  if (!answer) return answer.error();
  if (answer->status / 100 == 2) return {};
  return resolve_existing_object(source, crc32c, requests, {.stop = stop});
}

Result<void> S3Writer::resolve_existing_object(ObjectSource& source, std::uint32_t crc32c,
                                               std::uint32_t requests, const CallOptions& options) {
  const auto found = find_object_writer(source, crc32c, requests > 1, options);
  if (!found) {
    // The store may refuse to show the object to a client that has the permission to write but not to read.
    // Even then, another client made the object if this writer has sent only one request, because the reply
    // to this request says that the object exists already.
    if (requests == 1 && found.error().kind() == ErrorKind::kPermissionDenied) return already_exists_error();
    return found.error();
  }
  if (*found == ObjectWriter::kOurs) return {};
  if (*found == ObjectWriter::kOtherWriters) return already_exists_error();
  return Error(ErrorKind::kConflict, uri_ +
                                         " existed when this call tried to create it, and was removed since; "
                                         "find the other client that writes there, then try again");
}

Result<S3Writer::ObjectWriter> S3Writer::find_object_writer(ObjectSource& source, std::uint32_t crc32c,
                                                            bool may_be_unmarked,
                                                            const CallOptions& options) {
  const S3Call call{.method = "HEAD", .key = key_, .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
  CallOptions with_nothing = options;
  with_nothing.accepts = [](const http::Response& answer) { return answer.status == 404; };
  const auto answer = client_.call(call, "checking which client wrote " + uri_, with_nothing);
  if (!answer) return answer.error();
  if (answer->status == 404) return ObjectWriter::kNothing;
  const std::string_view mark = answer->headers.get(kWriterMarkHeader);
  if (mark.empty() && may_be_unmarked) return compare_bytes(source, options);
  if (mark != writer_mark_) return ObjectWriter::kOtherWriters;
  if (answer->headers.get("Content-Length").empty()) return compare_bytes(source, options);
  const std::uint64_t size = object_info(key_, answer->headers).size_bytes;
  const std::string_view checksum = answer->headers.get(kChecksumHeader);
  const bool is_of_parts = checksum.find('-') != std::string_view::npos;
  if (size == source.size_bytes() && (checksum.empty() || is_of_parts || checksum == checksum_text(crc32c)))
    return ObjectWriter::kOurs;
  return Error(ErrorKind::kCorrupted, uri_ + " holds other bytes than were sent: " + std::to_string(size) +
                                          " with the checksum '" + std::string(checksum.substr(0, 64)) +
                                          "' instead of " + std::to_string(source.size_bytes()) + " with '" +
                                          checksum_text(crc32c) + "'; remove it");
}

Result<S3Writer::ObjectWriter> S3Writer::compare_bytes(ObjectSource& source, const CallOptions& options) {
  const S3Call call{.key = key_};
  S3Client::Attempt attempt;
  const DownloadPlan plan{
      .key = key_,
      .range = std::nullopt,
      .make = [&](const http::Headers& more) { return client_.request(call, more, attempt, options.stop); },
      .judge =
          [&](const http::ResponseHead& head, std::string_view body) {
            return client_.make_refusal(call, attempt, head.status, head.headers, body);
          }};
  RetryLoop attempts(client_.dependencies(), client_.timeouts(), "comparing " + uri_, options.stop);
  ComparingSink sink(source);
  const auto got = download(client_.dependencies(), plan, sink, attempts);
  if (sink.is_different()) return ObjectWriter::kOtherWriters;
  if (got) return sink.is_equal() ? ObjectWriter::kOurs : ObjectWriter::kOtherWriters;
  if (got.error().kind() == ErrorKind::kNotFound) return ObjectWriter::kNothing;
  return got.error();
}

}  // namespace ratoon::objects
