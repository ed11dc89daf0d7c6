#include "base/http/client/reply_parser.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace ratoon::http {
namespace {

namespace beast_http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastText = boost::beast::string_view;

constexpr std::string_view kHttpReplyPrefix = "HTTP/";
constexpr std::size_t kLastChunkBytes = 5;  // bytes of "0\r\n\r\n"

std::string_view to_view(BeastText text) {
  return {text.data(), text.size()};
}

struct CaseInsensitiveLess {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return std::tolower(static_cast<unsigned char>(x)) < std::tolower(static_cast<unsigned char>(y));
    });
  }
};

}  // namespace

class ReplyParser::Parts final : public beast_http::basic_parser<false> {
 public:
  explicit Parts(const CallPlan& plan) : plan_(plan) {
    header_limit(std::numeric_limits<std::uint32_t>::max());  // feed_part() counts, for any split of bytes
    body_limit(std::numeric_limits<std::uint64_t>::max());    // the sink limits the body
    eager(false);  // one line at a time, so that each is measured, for any split of its bytes
    skip(plan.request.method == "HEAD");
  }

  Result<std::size_t> feed(std::string_view bytes) {
    // Beast waits for eight bytes before it checks the first byte, so feed() checks the reply's first bytes.
    if (head.status == 0 && !kHttpReplyPrefix.starts_with(bytes.substr(0, kHttpReplyPrefix.size())))
      return not_http_error(plan_, "bad version");
    std::size_t understood = 0;
    while (understood < bytes.size() && !is_done()) {
      const auto used = feed_part(bytes.substr(understood));
      if (!used) return used.error();
      if (*used == 0) break;
      understood += *used;
    }
    return understood;
  }

  bool end() {
    BeastError error;
    if (!got_some() || !need_eof()) return false;
    put_eof(error);
    return !error;
  }

  ResponseHead head;

 private:
  // Parses one line of a chunked body, or all available bytes of any other part.
  Result<std::size_t> feed_part(std::string_view bytes) {
    // Wait for the whole last line of a chunked body: if it is incomplete, Beast 1.74 fails an assertion.
    if (is_header_done() && chunked() && chunk_bytes_left_ == 0 && bytes.size() < kLastChunkBytes) return 0;
    BeastError error;
    has_read_line_ = false;
    const bool is_in_head = !is_header_done();
    const std::size_t used = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (problem_) return *problem_;
    const bool needs_more = error == beast_http::error::need_more;
    if (error && !needs_more) return not_http_error(plan_, error.message());
    if (is_in_head) {
      head_bytes_ += used;
      if (head_bytes_ + (needs_more ? bytes.size() - used : 0) > plan_.limits.head_bytes_max)
        return head_flood();
      return used;
    }
    // Beast's limits count neither a chunk's extension nor trailers, so check the length of their lines.
    const std::size_t allowed = plan_.limits.body_bytes_max;
    const std::size_t line = has_read_line_ ? used : needs_more ? bytes.size() - used : 0;
    if (line > allowed) return too_long_reply_error(plan_, "chunk", allowed);
    return used;
  }

  Error head_flood() const { return too_long_reply_error(plan_, "head", plan_.limits.head_bytes_max); }

  // Any error code in `error` makes Beast stop parsing.
  void stop(Error problem, BeastError& error) {
    problem_ = std::move(problem);
    error = beast_http::error::end_of_stream;
  }

  void hand_over(BeastText bytes, BeastError& error) {
    if (auto accepted = plan_.sink.on_bytes(to_view(bytes)); !accepted) stop(accepted.error(), error);
  }

  void on_request_impl(beast_http::verb, BeastText, BeastText, int, BeastError&) override {}
  void on_response_impl(int status, BeastText, int, BeastError& error) override {
    head.status = status;
    error = {};
  }
  void on_field_impl(beast_http::field, BeastText name, BeastText value, BeastError&) override {
    auto& joined = fields_[std::string(to_view(name))];
    if (!joined.empty()) joined += ", ";
    joined += to_view(value);
  }
  void on_header_impl(BeastError& error) override {
    for (auto& [name, value] : fields_) head.headers.add(name, std::move(value));
    const bool is_http_1 = true;  // Beast refuses all others
    if (auto flaw = find_framing_flaw(head, is_http_1, plan_.limits.head_bytes_max))
      return stop(call_error(ErrorKind::kInvalid, plan_.request, plan_.url, *flaw), error);
    if (auto accepted = plan_.sink.on_head(head); !accepted) stop(accepted.error(), error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(BeastText bytes, BeastError& error) override {
    hand_over(bytes, error);
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, BeastText, BeastError&) override {
    has_read_line_ = true;
    chunk_bytes_left_ = size;
  }
  std::size_t on_chunk_body_impl(std::uint64_t left, BeastText bytes, BeastError& error) override {
    chunk_bytes_left_ = left - bytes.size();
    hand_over(bytes, error);
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  const CallPlan& plan_;
  std::map<std::string, std::string, CaseInsensitiveLess> fields_;
  std::size_t head_bytes_ = 0;  // read of the head so far
  bool has_read_line_ = false;
  std::uint64_t chunk_bytes_left_ = 0;
  std::optional<Error> problem_;
};

ReplyParser::ReplyParser(const CallPlan& plan) : parts_(std::make_unique<Parts>(plan)) {}
ReplyParser::~ReplyParser() = default;

Result<std::size_t> ReplyParser::feed(std::string_view bytes) {
  return parts_->feed(bytes);
}

bool ReplyParser::end_at_connection_close() {
  return parts_->end();
}

bool ReplyParser::is_done() const {
  return parts_->is_done();
}

bool ReplyParser::keeps_alive() const {
  return parts_->keep_alive();
}

ResponseHead ReplyParser::take_head() {
  return std::move(parts_->head);
}

}  // namespace ratoon::http
