// RunToken: the secret with which members of a local run authenticate. Each run has a new token, which is
// passed only in a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <ratoon/result.h>

namespace ratoon::local {

class RunToken {
 public:
  [[nodiscard]] static Result<RunToken> draw();

  [[nodiscard]] const std::string& text() const { return text_; }
  // The comparison takes the same time for every wrong token of the right length.
  [[nodiscard]] bool is(std::string_view shown) const;

 private:
  explicit RunToken(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace ratoon::local
