#include "agent/src/checkpoint/format/sealed_json.h"

#include <array>
#include <cstdio>
#include <span>

#include "base/core/crc32c.h"

namespace ratoon::checkpoint {
namespace {

constexpr int kDepthMax = 8;

std::string checksum_line(std::string_view body) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "crc32c:%08x\n", crc32c(std::as_bytes(std::span(body))));
  return text.data();
}

// A text that begins with '<' is a web page, because Ratoon's JSON files begin with '{', and no single
// flipped bit changes '{' into '<'.
bool is_html_page(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && text[first] == '<';
}

}  // namespace

std::string encode_with_checksum(const nlohmann::json& body) {
  // A reason is a text that the user's program gives, so it may be invalid UTF-8.
  std::string text = body.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return text + checksum_line(text);
}

Result<nlohmann::json> decode_with_checksum(std::string_view text, std::size_t bytes_max) {
  if (is_html_page(text))
    return Error(ErrorKind::kIo,
                 "the file has a web page instead of its content; check for a proxy or a "
                 "sign-in page between this process and the store");
  const std::size_t line_bytes = checksum_line("").size();
  if (text.size() < line_bytes)
    return Error(ErrorKind::kCorrupted, "the text is too short for its checksum line");
  const std::string_view body = text.substr(0, text.size() - line_bytes);
  if (text.substr(body.size()) != checksum_line(body)) {
    return Error(ErrorKind::kCorrupted, "the checksum line does not match the text");
  }
  return parse_json(body, bytes_max, kDepthMax);
}

}  // namespace ratoon::checkpoint
