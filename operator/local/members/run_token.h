// RunToken: the secret with which the members of a local run authenticate to its coordinator. Each local run
// generates a new random token and passes it to its members only in a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <ratoon/result.h>

namespace ratoon::local {

class RunToken {
 public:
  [[nodiscard]] static Result<RunToken> generate();

  [[nodiscard]] const std::string& text() const { return text_; }
  // Compares in constant time: all wrong tokens of the correct length take the same time.
  [[nodiscard]] bool is(std::string_view shown) const;

 private:
  explicit RunToken(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace ratoon::local
