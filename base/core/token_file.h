// TokenFile: a token in a file, which is replaced long before the token expires. The file is read again each
// minute, and at once after a refusal. While the file cannot be read, the last token that was read is used.
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
  // Without a path the token is empty. The clock must outlive this object.
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // The value is empty if the file could never be read; in that case each call tries again.
  [[nodiscard]] std::string token();
  // The token was refused: the next call of token() reads the file again.
  void doubt();

 private:
  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string token_;                 // guarded by mutex_
  std::optional<Timestamp> read_at_;  // guarded by mutex_; nothing: the next call reads the file
};

}  // namespace ratoon
