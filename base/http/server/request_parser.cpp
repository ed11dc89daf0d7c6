#include "base/http/server/request_parser.h"

#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/http/syntax.h"

namespace ratoon::http {
namespace {

namespace beast_http = boost::beast::http;
using Fields = beast_http::request<beast_http::string_body>;

constexpr std::size_t kLastChunkBytes = 5;  // "0\r\n\r\n"

std::string_view view_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

std::size_t count_of(const Fields& fields, beast_http::field name) {
  const auto [first, last] = fields.equal_range(name);
  return static_cast<std::size_t>(std::distance(first, last));
}

bool has_valid_target(const Fields& fields) {
  const auto target = view_of(fields.target());
  if (target == "*") return fields.method() == beast_http::verb::options;
  return target.starts_with('/') || target.starts_with("http://") || target.starts_with("https://");
}

using Refusal = RequestParser::Refusal;

// Refuses requests whose length can be read in two ways, because a proxy before this server may have read
// another length (request smuggling, RFC 9112 section 6).
std::optional<Refusal> find_framing_flaw(const Fields& fields) {
  using beast_http::field;
  const bool is_chunked = count_of(fields, field::transfer_encoding) != 0;
  const std::size_t lengths = count_of(fields, field::content_length);
  if (fields.version() != 11 && fields.version() != 10)
    return Refusal{505, "Only HTTP/1.1 and HTTP/1.0 are supported."};
  if (count_of(fields, field::host) > 1 || (fields.version() == 11 && count_of(fields, field::host) != 1)) {
    return Refusal{400, "Exactly one Host header is expected."};
  }
  // Beast reads the Content-Length "4, 4" as 4. Other parsers refuse it, and so does this parser.
  const bool is_number = lengths == 0 || is_digits(view_of(fields[field::content_length]));
  if (lengths > 1 || !is_number || (is_chunked && lengths != 0)) {
    return Refusal{400, "The length of the body must be given once."};
  }
  if (is_chunked && (fields.version() == 10 || count_of(fields, field::transfer_encoding) > 1 ||
                     !equals_ignoring_case(view_of(fields[field::transfer_encoding]), "chunked"))) {
    return Refusal{400, "The only transfer coding that this server understands is chunked."};
  }
  if (!has_valid_target(fields)) return Refusal{400, "The target of the request must be a path."};
  if (fields.count(field::expect) != 0 &&
      !equals_ignoring_case(view_of(fields[field::expect]), "100-continue")) {
    return Refusal{417, "The only expectation that this server understands is 100-continue."};
  }
  return std::nullopt;
}

Refusal too_large_refusal(const char* part, std::size_t head_max) {
  return {431,
          std::string(part) + " of the request is over the limit of " + std::to_string(head_max) + " bytes."};
}

Refusal refusal_of(const boost::system::error_code& error, std::size_t body_max) {
  if (error == beast_http::error::body_limit) {
    return {413, "The body of the request is over the limit of " + std::to_string(body_max) + " bytes."};
  }
  return {400, "The request is not valid HTTP/1.1: " + error.message() + "."};
}

// Returns the request without its body, which has not arrived yet.
ServerRequest request_without_body(const Fields& fields) {
  ServerRequest request;
  request.method = view_of(fields.method_string());
  std::string_view target = view_of(fields.target());
  if (!target.starts_with('/') && target != "*") {  // the form for proxies: http://host/path
    const auto path = target.find('/', target.find("://") + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  const auto question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  for (const auto& field : fields) {
    request.headers.add(std::string(view_of(field.name_string())), std::string(view_of(field.value())));
  }
  return request;
}

}  // namespace

struct RequestParser::Parts {
  Parts(std::size_t head_max, std::size_t body_max) : head_bytes_max(head_max), body_bytes_max(body_max) {
    // Beast's own limit for the head depends on the pieces in which bytes arrive, so find_too_long() checks
    // the length of the head instead.
    parser.header_limit(std::numeric_limits<std::uint32_t>::max());
    parser.body_limit(body_bytes_max);
    parser.eager(false);  // one line at a time, so that each is measured, for any split of its bytes
    parser.on_chunk_header(note_line);
  }

  // Returns the name of the part that is too long, or null: the head, or a line of a chunked body (a chunk's
  // length, or the trailers). `waiting` is how many bytes of an incomplete part have arrived.
  [[nodiscard]] const char* find_too_long(std::size_t used, std::size_t waiting) {
    if (!is_head_checked) {
      head_bytes += used;
      return head_bytes + waiting > head_bytes_max ? "The head" : nullptr;
    }
    return (has_read_line ? used : waiting) > head_bytes_max ? "A line" : nullptr;
  }

  std::size_t head_bytes_max;
  std::size_t body_bytes_max;
  beast_http::request_parser<beast_http::string_body> parser;
  Refusal refusal{};
  bool is_head_checked = false;
  // The request is copied when its head is complete, so that headers after the body (trailers) cannot change
  // it.
  ServerRequest request{};
  bool keeps_alive = false;
  bool wants_continue = false;
  bool has_read_line = false;
  std::size_t head_bytes = 0;
  std::function<void(std::uint64_t, boost::beast::string_view, boost::beast::error_code&)> note_line =
      [this](std::uint64_t, boost::beast::string_view, boost::beast::error_code&) { has_read_line = true; };
};

RequestParser::RequestParser(std::size_t head_bytes_max, std::size_t body_bytes_max)
    : parts_(std::make_unique<Parts>(head_bytes_max, body_bytes_max)) {}

RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::feed(std::string& bytes) {
  auto& parser = parts_->parser;
  while (!bytes.empty() && !parser.is_done()) {
    // Beast 1.74 fails an assertion if the last line of a chunked body is incomplete. Wait for 5 bytes,
    // because an incomplete chunked body always has at least 5 bytes to come ("0\r\n\r\n").
    if (parser.is_header_done() && parser.chunked() && bytes.size() < kLastChunkBytes) break;
    boost::system::error_code error;
    parts_->has_read_line = false;
    const std::size_t used = parser.put(boost::asio::buffer(bytes), error);
    bytes.erase(0, used);
    const bool needs_more = error == beast_http::error::need_more;
    if (error && !needs_more) {
      parts_->refusal = refusal_of(error, parts_->body_bytes_max);
      return State::kRefused;
    }
    if (const char* part = parts_->find_too_long(used, needs_more ? bytes.size() : 0)) {
      parts_->refusal = too_large_refusal(part, parts_->head_bytes_max);
      return State::kRefused;
    }
    if (parser.is_header_done() && !std::exchange(parts_->is_head_checked, true)) {
      if (auto flaw = find_framing_flaw(parser.get())) {
        parts_->refusal = *flaw;
        return State::kRefused;
      }
      parts_->request = request_without_body(parser.get());
      parts_->keeps_alive = parser.get().keep_alive();
      parts_->wants_continue =
          parser.get().version() == 11 && parser.get().count(beast_http::field::expect) != 0;
    }
    if (needs_more || used == 0) break;
  }
  if (parser.is_done()) return State::kDone;
  return parser.is_header_done() ? State::kInBody : State::kInHead;
}

const RequestParser::Refusal& RequestParser::refusal() const {
  return parts_->refusal;
}

bool RequestParser::wants_continue() const {
  return parts_->wants_continue;
}
bool RequestParser::keeps_alive() const {
  return parts_->keeps_alive;
}
bool RequestParser::is_http_1_1() const {
  return parts_->parser.get().version() == 11;
}
bool RequestParser::is_head_request() const {
  return parts_->parser.get().method() == beast_http::verb::head;
}

ServerRequest RequestParser::take_request() {
  parts_->request.body = std::move(parts_->parser.get().body());
  return std::move(parts_->request);
}

}  // namespace ratoon::http
