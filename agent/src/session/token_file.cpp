#include "agent/src/session/token_file.h"

#include <fstream>
#include <utility>

#include "base/contract/names.h"

namespace ratoon::session {
namespace {

Result<std::string> read_token(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream in(path);
  std::string token;
  if (!in || !std::getline(in, token) || token.empty()) {
    return Error(ErrorKind::kInvalid, std::string("no token can be read from ") + path + " (" +
                                          names::env::kTokenFile +
                                          "); let `ratoon run` or the operator start this program");
  }
  return token;
}

}  // namespace

Result<TokenFile> TokenFile::open(std::string path, const Clock& clock) {
  auto token = read_token(path);
  if (!token) return token.error();
  return TokenFile(std::move(path), std::move(*token), clock);
}

TokenFile::TokenFile(std::string path, std::string token, const Clock& clock)
    : path_(std::move(path)), clock_(&clock), token_(std::move(token)), read_at_(clock.now()) {}

TokenFile::TokenFile(TokenFile&& other) noexcept
    : path_(other.path_), clock_(other.clock_), token_(std::move(other.token_)), read_at_(other.read_at_) {}

std::string TokenFile::token() {
  const std::lock_guard lock(mutex_);
  const Timestamp now = clock_->now();
  if (!path_.empty() && (is_doubted_ || now - read_at_ >= kReadEvery)) {
    read_at_ = now;
    is_doubted_ = false;
    if (auto fresh = read_token(path_)) token_ = std::move(*fresh);
  }
  return token_;
}

void TokenFile::doubt() {
  const std::lock_guard lock(mutex_);
  is_doubted_ = true;
}

}  // namespace ratoon::session
