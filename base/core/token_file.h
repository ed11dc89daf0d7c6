// TokenFile: an access token from a file that kubelet replaces long before the token expires. Reads the file
// again each minute, and at once after a server refused the token. While the file cannot be read, the last
// token is used.
//
// Thread contract: any thread may call any function.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/core/clock.h"
#include "base/core/threads/mutex.h"

namespace ratoon {

class TokenFile {
 public:
  // If `path` is empty, the token is empty. The clock must outlive this object.
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Returns the token. If the file could never be read, the token is empty, and each call tries to read the
  // file again.
  [[nodiscard]] std::string token();
  // Records that a server refused the token, so that the next call of token() reads the file again.
  void mark_refused();

 private:
  const std::string path_;
  const Clock& clock_;
  Mutex mutex_;
  std::string token_ RATOON_GUARDED_BY(mutex_);
  std::optional<Timestamp> read_at_ RATOON_GUARDED_BY(mutex_);  // nothing: the next call reads the file
};

}  // namespace ratoon
