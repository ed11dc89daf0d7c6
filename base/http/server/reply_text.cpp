#include "base/http/server/reply_text.h"

#include <algorithm>
#include <charconv>
#include <ostream>  // Boost.Beast 1.74 needs it and does not include it

#include <boost/beast/http/status.hpp>

#include "base/core/never_destroyed.h"
#include "base/http/syntax.h"

namespace ratoon::http {
namespace {

bool is_sendable(int status, const Headers& headers) {
  return status >= 200 && status <= 999 && std::all_of(headers.begin(), headers.end(), [](const auto& field) {
           return is_token(field.first) && is_field_value(field.second);
         });
}

void add_line(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ").append(value).append("\r\n");
}

// Omits the headers Content-Length, Transfer-Encoding and Connection of the handler, because the server
// itself sets these headers. In a reply to HEAD, write_reply() adds the handler's Content-Length: the length
// that the body would have.
std::string write_head(int status, const Headers& headers, ReplyForm form) {
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  std::string text = "HTTP/1.1 " + std::to_string(status) + " ";
  text.append(reason.data(), reason.size()).append("\r\n");
  for (const auto& [name, value] : headers) {
    if (equals_ignoring_case(name, "Content-Length") || equals_ignoring_case(name, "Transfer-Encoding") ||
        equals_ignoring_case(name, "Connection")) {
      continue;
    }
    add_line(text, name, value);
  }
  if (!form.keeps_alive) add_line(text, "Connection", "close");
  return text;
}

const Response& unsendable_reply_error() {
  static const NeverDestroyed<Response> response(
      Response{500, {{"Content-Type", "text/plain"}}, "The reply could not be written as HTTP."});
  return *response;
}

}  // namespace

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string write_reply(const Response& response, ReplyForm form) {
  if (!is_sendable(response.status, response.headers)) return write_reply(unsendable_reply_error(), form);
  std::string text = write_head(response.status, response.headers, form);
  const auto given_length = response.headers.get("Content-Length");
  if (form.is_for_head_request && response.body.empty() && is_digits(given_length)) {
    add_line(text, "Content-Length", given_length);
  } else if (has_body(response.status)) {
    add_line(text, "Content-Length", std::to_string(response.body.size()));
  }
  text.append("\r\n");
  if (has_body(response.status) && !form.is_for_head_request) text.append(response.body);
  return text;
}

std::string write_stream_head(int status, const Headers& headers, BodyForm body, ReplyForm form) {
  if (!is_sendable(status, headers)) return write_stream_head(500, {}, body, form);
  std::string text = write_head(status, headers, form);
  if (body == BodyForm::kChunked && has_body(status)) add_line(text, "Transfer-Encoding", "chunked");
  return text.append("\r\n");
}

std::string write_chunk(std::string_view bytes) {
  char size[20];
  const auto end = std::to_chars(size, size + sizeof size, bytes.size(), 16).ptr;
  std::string text(size, end);
  text.append("\r\n").append(bytes).append("\r\n");
  return text;
}

}  // namespace ratoon::http
