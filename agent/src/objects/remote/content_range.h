// Parses and makes the HTTP headers that say which bytes of an object a request wants or a reply contains.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

struct ContentRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;                       // one behind the last
  std::optional<std::uint64_t> total_bytes{};  // of the object, if the header states it

  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};

// Parses the value of a Content-Range header, such as "bytes 2-4/10" or "bytes 2-4/*". Returns nothing if the
// text is malformed.
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view text);

// Makes the value of a Range header: "bytes=2-4", or "bytes=2-" if the range has no end.
[[nodiscard]] std::string range_header(std::uint64_t begin, std::optional<std::uint64_t> end);

// Parses a header value that is a number of bytes. Returns nothing if the text is not a number.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_count(std::string_view digits);

// Returns true if two replies with this ETag have equal bytes. A weak ETag ("W/...") does not promise equal
// bytes.
[[nodiscard]] bool is_strong_etag(std::string_view etag);

}  // namespace ratoon::objects
