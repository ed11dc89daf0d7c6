// Base64 (RFC 4648, with padding), the encoding of certificates in kubeconfig files.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::kube {

// The decoder skips white space between characters, because users break long lines.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);
// Returns the base64 text as one line.
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace ratoon::kube
