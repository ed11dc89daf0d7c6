// Base64 (RFC 4648, with padding), as kubeconfig files carry certificates.
#pragma once

#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::kube {

// White space between characters is skipped, since users fold long lines.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);
// The result is one line.
[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace ratoon::kube
