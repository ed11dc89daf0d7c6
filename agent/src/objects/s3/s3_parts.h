// Sends the parts of one upload, several at once. Each thread holds one part in memory. A part that fails is
// sent again by itself; the first that cannot be sent ends all.
//
// Thread contract: one thread calls send(); it and the others that it starts are done when it returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/src/objects/s3/part_plan.h"
#include "agent/src/objects/s3/s3_writer.h"

namespace ratoon::objects {

struct StoredPart {
  std::string etag;
  std::uint32_t crc32c = 0;
};

// Whether an answer says that the upload is not there (any more).
[[nodiscard]] bool says_no_upload(const http::Response& answer);

class S3Parts {
 public:
  S3Parts(const S3Writer& writer, std::string upload_id, const PartPlan& plan, ObjectSource& source,
          const UploadOptions& options);

  // All parts in their order; nothing where the upload is not there any more: then all begins anew.
  [[nodiscard]] Result<std::optional<std::vector<StoredPart>>> send();

 private:
  void work();
  void send_parts();
  [[nodiscard]] Result<void> send_part(std::uint32_t index, std::string& bytes);
  [[nodiscard]] std::optional<Error> explain_lost();
  [[nodiscard]] std::optional<Error> doubt(const http::Response& answer, const std::string& checksum) const;
  void fail(Error error);
  void note_stored(std::uint64_t bytes);

  const S3Writer& writer_;
  const std::string upload_id_;
  const PartPlan plan_;
  ObjectSource& source_;
  const UploadOptions& options_;

  std::stop_source ended_;  // the caller's stop, or the first failure
  std::atomic<std::uint32_t> next_{0};
  std::atomic<bool> is_gone_{false};
  std::vector<StoredPart> parts_;  // each written by the thread that sends it
  std::mutex mutex_;
  std::optional<Error> failure_;    // guarded by mutex_
  std::uint64_t stored_bytes_ = 0;  // guarded by mutex_
};

}  // namespace ratoon::objects
