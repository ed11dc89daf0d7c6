// RunToken: what members of a local run show to its coordinator. New with each run, told by a file alone.
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
  // Takes the same time for every wrong token of the right length.
  [[nodiscard]] bool is(std::string_view shown) const;

 private:
  explicit RunToken(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

}  // namespace ratoon::local
