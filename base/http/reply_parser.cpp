#include "base/http/reply_parser.h"

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

constexpr std::string_view kBeginning = "HTTP/";

std::string_view to_view(BeastText text) {
  return {text.data(), text.size()};
}

struct IgnoringCase {
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
    const std::size_t head_max = std::min<std::size_t>(plan.limits.head_bytes_max, 1U << 30U);
    header_limit(static_cast<std::uint32_t>(head_max));
    body_limit(std::numeric_limits<std::uint64_t>::max());  // the sink's affair
    eager(true);
    skip(plan.request.method == "HEAD");
  }

  Result<std::size_t> feed(std::string_view bytes) {
    // Beast waits for eight bytes before it looks at the first.
    if (head.status == 0 && !kBeginning.starts_with(bytes.substr(0, kBeginning.size())))
      return not_http_error(plan_, "bad version");
    BeastError error;
    const std::size_t used = put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (problem_) return *problem_;
    if (error == beast_http::error::header_limit) return head_flood();
    if (error && error != beast_http::error::need_more) return not_http_error(plan_, error.message());
    // Neither a chunk's extension nor trailers are counted by the limits of Beast.
    const std::size_t allowed = plan_.limits.body_bytes_max;
    if (is_header_done() && bytes.size() - used > allowed && !is_done())
      return flood_error(plan_, "chunk", allowed);
    return used;
  }

  bool end() {
    BeastError error;
    if (!got_some() || !need_eof()) return false;
    put_eof(error);
    return !error;
  }

  ResponseHead head;

 private:
  Error head_flood() const { return flood_error(plan_, "head", plan_.limits.head_bytes_max); }

  // Ends the parsing; any error will do.
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
  void on_field_impl(beast_http::field, BeastText name, BeastText value, BeastError& error) override {
    head_bytes_ += name.size() + value.size() + 4;
    if (head_bytes_ > plan_.limits.head_bytes_max) return stop(head_flood(), error);
    auto& joined = fields_[std::string(to_view(name))];
    if (!joined.empty()) joined += ", ";
    joined += to_view(value);
  }
  void on_header_impl(BeastError& error) override {
    for (auto& [name, value] : fields_) head.headers.add(name, std::move(value));
    const bool is_http_1 = true;  // Beast refuses all others
    if (auto flaw = find_flaw(head, is_http_1, plan_.limits.head_bytes_max))
      return stop(call_error(ErrorKind::kInvalid, plan_.request, plan_.url, *flaw), error);
    if (auto accepted = plan_.sink.on_head(head); !accepted) stop(accepted.error(), error);
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, BeastError&) override {}
  std::size_t on_body_impl(BeastText bytes, BeastError& error) override {
    hand_over(bytes, error);
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastText, BeastError&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastText bytes, BeastError& error) override {
    hand_over(bytes, error);
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  const CallPlan& plan_;
  std::map<std::string, std::string, IgnoringCase> fields_;
  std::size_t head_bytes_ = 0;
  std::optional<Error> problem_;
};

ReplyParser::ReplyParser(const CallPlan& plan) : parts_(std::make_unique<Parts>(plan)) {}
ReplyParser::~ReplyParser() = default;

Result<std::size_t> ReplyParser::feed(std::string_view bytes) {
  return parts_->feed(bytes);
}

bool ReplyParser::ends_with_connection() {
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
