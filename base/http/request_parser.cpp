#include "base/http/request_parser.h"

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

std::string_view view_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

std::size_t count_of(const Fields& fields, beast_http::field name) {
  const auto [first, last] = fields.equal_range(name);
  return static_cast<std::size_t>(std::distance(first, last));
}

bool is_target(const Fields& fields) {
  const auto target = view_of(fields.target());
  if (target == "*") return fields.method() == beast_http::verb::options;
  return target.starts_with('/') || target.starts_with("http://") || target.starts_with("https://");
}

using Refusal = RequestParser::Refusal;

// RFC 9112 section 6: where a request's length can be read in two ways, a proxy before us may have read the
// other one.
std::optional<Refusal> find_flaw(const Fields& fields) {
  using beast_http::field;
  const bool is_chunked = count_of(fields, field::transfer_encoding) != 0;
  const std::size_t lengths = count_of(fields, field::content_length);
  if (fields.version() != 11 && fields.version() != 10)
    return Refusal{505, "Only HTTP/1.1 and HTTP/1.0 are spoken."};
  if (count_of(fields, field::host) > 1 || (fields.version() == 11 && count_of(fields, field::host) != 1)) {
    return Refusal{400, "Exactly one Host header is expected."};
  }
  // Beast reads "4, 4" as 4; another parser might not.
  const bool is_number = lengths == 0 || is_digits(view_of(fields[field::content_length]));
  if (lengths > 1 || !is_number || (is_chunked && lengths != 0)) {
    return Refusal{400, "The length of the body must be given once."};
  }
  if (is_chunked && (fields.version() == 10 || count_of(fields, field::transfer_encoding) > 1 ||
                     !equals_ignoring_case(view_of(fields[field::transfer_encoding]), "chunked"))) {
    return Refusal{400, "The only transfer coding that is understood is chunked."};
  }
  if (!is_target(fields)) return Refusal{400, "The target of the request must be a path."};
  if (fields.count(field::expect) != 0 &&
      !equals_ignoring_case(view_of(fields[field::expect]), "100-continue")) {
    return Refusal{417, "The only expectation that is understood is 100-continue."};
  }
  return std::nullopt;
}

Refusal refusal_of(const boost::system::error_code& error, std::size_t head_max, std::size_t body_max) {
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) {
    return {431, "The head of the request is over the limit of " + std::to_string(head_max) + " bytes."};
  }
  if (error == beast_http::error::body_limit) {
    return {413, "The body of the request is over the limit of " + std::to_string(body_max) + " bytes."};
  }
  return {400, "The request is not valid HTTP/1.1: " + error.message() + "."};
}

}  // namespace

struct RequestParser::Parts {
  std::size_t head_bytes_max;
  std::size_t body_bytes_max;
  beast_http::request_parser<beast_http::string_body> parser;
  Refusal refusal;
  bool is_head_checked = false;
};

RequestParser::RequestParser(std::size_t head_bytes_max, std::size_t body_bytes_max)
    : parts_(new Parts{head_bytes_max, body_bytes_max, {}, {}}) {
  parts_->parser.header_limit(static_cast<std::uint32_t>(head_bytes_max));
  parts_->parser.body_limit(body_bytes_max);
  parts_->parser.eager(true);
}

RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::feed(std::string& bytes) {
  auto& [head_max, body_max, parser, refusal, is_head_checked] = *parts_;
  while (!bytes.empty() && !parser.is_done()) {
    boost::system::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(bytes), error);
    bytes.erase(0, used);
    const bool needs_more = error == beast_http::error::need_more;
    if (error && !needs_more) {
      refusal = refusal_of(error, head_max, body_max);
      return State::kRefused;
    }
    if (parser.is_header_done() && !is_head_checked) {
      is_head_checked = true;
      if (auto flaw = find_flaw(parser.get())) {
        refusal = *flaw;
        return State::kRefused;
      }
    }
    // Chunk extensions and trailers are not counted by the parser's own limits.
    if (needs_more && bytes.size() > head_max) {
      refusal = {431, "A line of the request is over the limit of " + std::to_string(head_max) + " bytes."};
      return State::kRefused;
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
  return is_http_1_1() && parts_->parser.get().count(beast_http::field::expect) != 0;
}
bool RequestParser::keeps_alive() const {
  return parts_->parser.get().keep_alive();
}
bool RequestParser::is_http_1_1() const {
  return parts_->parser.get().version() == 11;
}
bool RequestParser::is_head_request() const {
  return parts_->parser.get().method() == beast_http::verb::head;
}

ServerRequest RequestParser::take_request() {
  auto message = parts_->parser.release();
  ServerRequest request;
  request.method = view_of(message.method_string());
  std::string_view target = view_of(message.target());
  if (!target.starts_with('/') && target != "*") {  // the form for proxies: http://host/path
    const auto path = target.find('/', target.find("://") + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  const auto question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  for (const auto& field : message) {
    request.headers.add(std::string(view_of(field.name_string())), std::string(view_of(field.value())));
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace ratoon::http
