// The headers that say which bytes a reply has. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratoon::objects {

struct ContentRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;                       // one behind the last
  std::optional<std::uint64_t> total_bytes{};  // of the object, where it is said

  friend bool operator==(const ContentRange&, const ContentRange&) = default;
};

// "bytes 2-4/10" or "bytes 2-4/*"; nothing for anything else.
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view text);

// "bytes=2-4", or "bytes=2-" where there is no end.
[[nodiscard]] std::string range_header(std::uint64_t begin, std::optional<std::uint64_t> end);

// A number of bytes; nothing where it is none.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view digits);

// Whether equal ETags mean equal bytes: weak ones ("W/...") promise less.
[[nodiscard]] bool is_strong_etag(std::string_view etag);

}  // namespace ratoon::objects
