#include "operator/local/members/run_token.h"

#include <algorithm>

#include "base/core/random_name.h"

namespace ratoon::local {

Result<RunToken> RunToken::generate() {
  auto drawn = random_hex_secret(32);
  if (!drawn) return drawn.error();
  return RunToken(*std::move(drawn));
}

bool RunToken::is(std::string_view shown) const {
  unsigned difference = text_.size() == shown.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(text_.size(), shown.size()); ++i)
    difference |= static_cast<unsigned>(text_[i] ^ shown[i]);
  return difference == 0;
}

}  // namespace ratoon::local
