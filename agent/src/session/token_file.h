// TokenFile: the token with which a process shows who it is. A projected token is replaced in its file long
// before it expires, so the file is read again each minute, and at once where the token was refused.
//
// Thread contract: any thread.
#pragma once

#include <mutex>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"

namespace ratoon::session {

class TokenFile {
 public:
  static constexpr Duration kReadEvery = std::chrono::minutes(1);

  // Reads it once; without a path the token is empty. The clock outlives it.
  [[nodiscard]] static Result<TokenFile> open(std::string path, const Clock& clock);
  TokenFile(TokenFile&& other) noexcept;

  // The last good one where the file cannot be read now.
  [[nodiscard]] std::string token();
  // The token was refused: the next call of token() reads the file again.
  void doubt();

 private:
  TokenFile(std::string path, std::string token, const Clock& clock);

  const std::string path_;
  const Clock* clock_;
  std::mutex mutex_;
  std::string token_;        // guarded by mutex_
  Timestamp read_at_;        // guarded by mutex_
  bool is_doubted_ = false;  // guarded by mutex_
};

}  // namespace ratoon::session
