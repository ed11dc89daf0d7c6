// Sends the parts of one upload in several threads. Each thread holds one part in memory at a time. After a
// failure that may be temporary, only the part that failed is sent again. If a part cannot be sent even after
// retries, the upload fails.
//
// Thread contract: one thread calls send(); the threads that it starts have ended when send() returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/src/objects/s3/protocol/part_plan.h"
#include "agent/src/objects/s3/s3_writer.h"
#include "base/core/threads/mutex.h"

namespace ratoon::objects {

struct StoredPart {
  std::string etag;
  std::uint32_t crc32c = 0;
};

// Returns true if a reply says that the upload does not exist or no longer exists.
[[nodiscard]] bool says_upload_missing(const http::Response& answer);

class S3PartUploader {
 public:
  S3PartUploader(const S3Writer& writer, std::string upload_id, const PartPlan& plan, ObjectSource& source,
                 const UploadOptions& options);

  // Returns the ETags and checksums of all parts in order, or nothing if the upload no longer exists and must
  // be started again.
  [[nodiscard]] Result<std::optional<std::vector<StoredPart>>> send();

 private:
  void run_worker();
  void send_parts();
  [[nodiscard]] Result<void> send_part(std::uint32_t index, std::string& bytes);
  [[nodiscard]] std::optional<Error> explain_lost_reply();
  [[nodiscard]] std::optional<Error> check_stored_part(const http::Response& answer,
                                                       const std::string& checksum) const;
  void record_failure(Error error);
  void report_stored_bytes(std::uint64_t bytes);

  const S3Writer& writer_;
  const std::string upload_id_;
  const PartPlan plan_;
  ObjectSource& source_;
  const UploadOptions& options_;

  std::stop_source stop_source_;  // set by the caller's stop or by the first failure
  std::atomic<std::uint32_t> next_part_{0};
  std::atomic<bool> is_upload_gone_{false};
  std::vector<StoredPart> parts_;  // each written by the thread that sends it
  Mutex mutex_;
  // The threads use failure_ with mutex_ locked. When they have ended, send() reads it without the lock.
  std::optional<Error> failure_;
  std::uint64_t stored_bytes_ RATOON_GUARDED_BY(mutex_) = 0;
};

}  // namespace ratoon::objects
