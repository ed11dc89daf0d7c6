#include "operator/runtime/token_file.h"

#include "base/core/read_file.h"

namespace ratoon::runtime {

std::string TokenFile::read() {
  constexpr Duration kFresh = std::chrono::minutes(1);
  const std::lock_guard lock(mutex_);
  const Timestamp now = clock_.now();
  if (was_read_ && now - read_at_ < kFresh) return token_;
  auto content = read_file(path_);
  if (!content) return token_;
  while (!content->empty() && (content->back() == '\n' || content->back() == '\r' || content->back() == ' '))
    content->pop_back();
  if (content->empty()) return token_;
  token_ = std::move(*content);
  read_at_ = now;
  was_read_ = true;
  return token_;
}

}  // namespace ratoon::runtime
