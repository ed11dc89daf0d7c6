// TokenFile: a token that whoever mounts it renews. It is read again each minute; while it cannot be read,
// the last one that could be is used.
#pragma once

#include <mutex>
#include <string>

#include "base/core/clock.h"

namespace ratoon::runtime {

class TokenFile {
 public:
  TokenFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Empty if it could never be read. Safe to call from several threads.
  [[nodiscard]] std::string read();

 private:
  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;
  std::string token_;      // guarded by mutex_
  Timestamp read_at_{};    // guarded by mutex_
  bool was_read_ = false;  // guarded by mutex_
};

}  // namespace ratoon::runtime
