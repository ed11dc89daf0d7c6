// TokenFile: a token that whoever mounts it renews long before it expires. It is read again each minute, and
// at once where it was refused; while it cannot be read, the last one that could be is used.
//
// Thread contract: any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/core/clock.h"

namespace ratoon {

class TokenFile {
 public:
  // Without a path the token is empty. The clock outlives it.
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Empty if it could never be read, and then it is looked for each time.
  [[nodiscard]] std::string token();
  // The token was refused: the next call of token() reads the file again.
  void doubt();

 private:
  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string token_;                 // guarded by mutex_
  std::optional<Timestamp> read_at_;  // guarded by mutex_; nothing: it is to be read
};

}  // namespace ratoon
