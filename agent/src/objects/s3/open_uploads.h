// Removes multipart uploads that were begun but neither completed nor aborted.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "agent/src/objects/s3/s3_client.h"

namespace ratoon::objects {

[[nodiscard]] S3Call make_abort_call(const std::string& key, const std::string& upload_id);

// Aborts the uploads to keys of the bucket that begin with `prefix` and that began at least `older_than` ago,
// by the store's clock. Messages name `uri`. Returns the number of aborted uploads.
[[nodiscard]] Result<std::uint64_t> abort_open_uploads(S3Client& client, const std::string& prefix,
                                                       const std::string& uri, Duration older_than,
                                                       const std::stop_token& stop);

}  // namespace ratoon::objects
