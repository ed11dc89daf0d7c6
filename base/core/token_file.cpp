#include "base/core/token_file.h"

#include "base/core/read_file.h"

namespace ratoon {
namespace {

constexpr Duration kTokenRereadInterval = std::chrono::minutes(1);

std::string read_token(const std::string& path) {
  auto content = read_file(path);
  if (!content) return "";
  return content->substr(0, content->find_last_not_of(" \r\n") + 1);
}

}  // namespace

std::string TokenFile::token() {
  const MutexLock lock(mutex_);
  const Timestamp now = clock_.now();
  if (path_.empty() || (read_at_ && now - *read_at_ < kTokenRereadInterval)) return token_;
  if (auto fresh = read_token(path_); !fresh.empty()) token_ = std::move(fresh);
  if (!token_.empty()) read_at_ = now;
  return token_;
}

void TokenFile::mark_refused() {
  const MutexLock lock(mutex_);
  read_at_.reset();
}

}  // namespace ratoon
