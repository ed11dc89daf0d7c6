// Converts HTTP replies to the bytes that the server sends.
#pragma once

#include <string>
#include <string_view>

#include "base/http/message.h"

namespace ratoon::http {

enum class BodyForm {
  kWhole,       // with its Content-Length
  kChunked,     //
  kUntilClose,  // streamed to a client that does not know chunks (HTTP/1.0)
};

struct ReplyForm {
  bool keeps_alive = true;
  bool is_for_head_request = false;
};

// Returns the reply's head and body in one string.
[[nodiscard]] std::string write_reply(const Response& response, ReplyForm form);

// Returns the head of a reply whose body follows in pieces.
[[nodiscard]] std::string write_stream_head(int status, const Headers& headers, BodyForm body,
                                            ReplyForm form);

[[nodiscard]] std::string write_chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Returns whether a reply with that HTTP status may have a body.
[[nodiscard]] bool has_body(int status);

}  // namespace ratoon::http
