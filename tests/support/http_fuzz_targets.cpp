// Bytes of a connection: to a server, and to a client.
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include "base/core/unique_fd.h"
#include "base/http/client/reply_parser.h"
#include "base/http/server/reply_text.h"
#include "base/http/server/server_session.h"
#include "base/http/syntax.h"
#include "base/http/url.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using namespace http;  // NOLINT

// Cuts bytes into pieces; 0: no cuts.
std::vector<std::string_view> pieces_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string_view> pieces;
  if (piece == 0) piece = std::max<std::size_t>(bytes.size(), 1);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    pieces.push_back(bytes.substr(0, piece));
  return pieces;
}

// The way in which a handler answers.
enum class Manner { kAtOnce, kInPieces, kNot, kLater };

// One connection to a server without threads: the server works only when the test polls it.
class Talk {
 public:
  explicit Talk(unsigned manners) : manners_(manners) {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
    ours_ = UniqueFd(ends[0]);
    ServerOptions options;
    options.head_bytes_max = 512;
    options.body_bytes_max = 256;
    core_ = std::make_shared<ServerCore>(
        options,
        [this](ServerRequest request, Responder responder) {
          take(std::move(request), std::move(responder));
        },
        nullptr);
    ServerTcp socket(boost::asio::make_strand(core_->io), boost::asio::ip::tcp::v4(), ends[1]);
    const auto session = std::make_shared<ServerSession>(core_, std::move(socket));
    require(core_->add(session));
    session->start();
    work();
  }
  ~Talk() {
    later_.clear();
    streams_.clear();
    core_->stop([] {});
    while (core_->io.poll() > 0) {
    }
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void say(std::string_view bytes) {
    if (::send(ours_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      return;
    work();
  }

  // Runs until the server has nothing to send: delayed replies are sent now, the oldest first.
  void end() {
    answer_later();
    ::shutdown(ours_.get(), SHUT_WR);
    work();
    answer_later();
    require(core_->session_count() == 0);  // a connection that has ended is forgotten
  }

  [[nodiscard]] const std::vector<ServerRequest>& requests() const { return requests_; }
  [[nodiscard]] const std::string& heard() const { return heard_; }
  [[nodiscard]] Manner manner_of(std::size_t request) const {
    return static_cast<Manner>(manners_ >> (2 * (request % 2)) & 3U);
  }

 private:
  void take(ServerRequest request, Responder responder) {
    const std::size_t number = requests_.size();
    requests_.push_back(std::move(request));
    const std::string text = "answer " + std::to_string(number) + "\n";
    switch (manner_of(number)) {
      case Manner::kAtOnce:
        return responder.send(
            {.status = 200, .headers = {{"X-Number", std::to_string(number)}}, .body = text});
      case Manner::kInPieces:  // not on the server's thread, which would start another one to wait here
        streams_.emplace_back(responder.stream(200, {}), text);
        return;
      case Manner::kNot:
        return;
      case Manner::kLater:
        later_.emplace_back(std::move(responder), text);
    }
  }

  void answer_later() {
    while (!later_.empty()) {
      auto [responder, text] = std::move(later_.front());
      later_.erase(later_.begin());
      responder.send({.status = 200, .headers = {}, .body = text});
      work();
    }
  }

  void work() {
    std::array<char, 4096> bytes{};
    bool has_moved = true;
    while (has_moved) {
      has_moved = core_->io.poll() > 0;
      for (const auto& [writer, text] : std::exchange(streams_, {})) {
        static_cast<void>(writer->write(text.substr(0, 3)));
        static_cast<void>(writer->write(text.substr(3)));
        writer->finish();
        has_moved = true;
      }
      const ssize_t size = ::recv(ours_.get(), bytes.data(), bytes.size(), 0);
      if (size <= 0) continue;
      heard_.append(bytes.data(), static_cast<std::size_t>(size));
      has_moved = true;
    }
  }

  const unsigned manners_;
  UniqueFd ours_;
  std::shared_ptr<ServerCore> core_;
  std::vector<ServerRequest> requests_;
  std::vector<std::pair<Responder, std::string>> later_;
  std::vector<std::pair<std::unique_ptr<StreamWriter>, std::string>> streams_;
  std::string heard_;
};

// One reply as sent on the wire, parsed by separate rules.
struct ReadReply {
  int status = 0;
  std::string body;
  bool closes = false;
};

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find("\r\n");
  require(end != std::string_view::npos);
  const auto line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

std::size_t number_in(std::string_view digits, int base) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  require(error == std::errc() && end == digits.data() + digits.size());
  return number;
}

std::string take_bytes(std::string_view& rest, std::size_t size) {
  require(size <= rest.size());
  const std::string bytes(rest.substr(0, size));
  rest.remove_prefix(size);
  return bytes;
}

ReadReply take_reply(std::string_view& rest, bool is_for_head) {
  const auto line = take_line(rest);
  require(line.starts_with("HTTP/1.1 ") && line.size() > 12 && line[12] == ' ');
  ReadReply reply{.status = static_cast<int>(number_in(line.substr(9, 3), 10))};
  std::optional<std::size_t> length;
  bool is_chunked = false;
  for (auto field = take_line(rest); !field.empty(); field = take_line(rest)) {
    if (field.starts_with("Content-Length: ")) length = number_in(field.substr(16), 10);
    is_chunked = is_chunked || field == "Transfer-Encoding: chunked";
    reply.closes = reply.closes || field == "Connection: close";
  }
  if (reply.status < 200 || is_for_head) return reply;
  if (length) {
    reply.body = take_bytes(rest, *length);
  } else if (is_chunked) {
    for (auto size = number_in(take_line(rest), 16); size > 0; size = number_in(take_line(rest), 16)) {
      reply.body += take_bytes(rest, size);
      require(take_line(rest).empty());
    }
    require(take_line(rest).empty());
  } else {
    require(reply.closes);
    reply.body = std::exchange(rest, std::string_view());
  }
  return reply;
}

// Each request has one answer, its own, in order; after the answers there is at most one refusal, and the
// end.
void check_replies(const Talk& talk) {
  std::string_view rest = talk.heard();
  bool is_over = false;
  for (std::size_t i = 0; i < talk.requests().size(); ++i) {
    const bool is_for_head = talk.requests()[i].method == "HEAD";
    ReadReply reply = take_reply(rest, is_for_head);
    while (reply.status == 100) reply = take_reply(rest, is_for_head);
    require(!is_over);
    is_over = reply.closes;
    const bool is_dropped = talk.manner_of(i) == Manner::kNot;
    require(reply.status == (is_dropped ? 500 : 200));
    if (!is_for_head)
      require(reply.body == (is_dropped ? "The request was dropped without an answer.\n"
                                        : "answer " + std::to_string(i) + "\n"));
  }
  while (!rest.empty()) {
    require(!is_over);
    const ReadReply reply = take_reply(rest, false);
    require(reply.status == 100 || (reply.status >= 400 && reply.closes));
    is_over = reply.closes;
  }
}

// No reply contains bytes that two parsers could read in two ways.
void check_request(const ServerRequest& request) {
  require(is_token(request.method) && (request.path.starts_with('/') || request.path == "*"));
  require(request.body.size() <= 256);
  std::size_t bytes = 0;
  std::size_t hosts = 0;
  for (const auto& [name, value] : request.headers) {
    bytes += name.size() + value.size();
    hosts += equals_ignoring_case(name, "Host") ? 1U : 0U;
    require(is_token(name) && value.find_first_of(std::string("\r\n\0", 3)) == std::string::npos);
  }
  require(hosts <= 1 && bytes + request.path.size() <= 512);
  const auto length = request.headers.get("Content-Length");
  require(length.empty() || number_in(length, 10) == request.body.size());
  require(!request.headers.contains("Content-Length") || !request.headers.contains("Transfer-Encoding"));
}

bool is_same_request(const ServerRequest& a, const ServerRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.body == b.body &&
         std::equal(a.headers.begin(), a.headers.end(), b.headers.begin(), b.headers.end());
}

struct HeardReply {
  bool is_done = false;
  bool keeps_alive = false;
  std::optional<ErrorKind> problem;
  std::size_t used = 0;
  ResponseHead head;
  std::string body;
};

class Collector final : public BodySink {
 public:
  explicit Collector(std::string& body) : body_(body) {}
  Result<void> on_head(const ResponseHead&) override { return {}; }
  Result<void> on_bytes(std::string_view bytes) override {
    body_ += bytes;
    return {};
  }

 private:
  std::string& body_;
};

HeardReply hear_reply(const std::string& method, std::string_view bytes, std::size_t piece) {
  HeardReply heard;
  const http::Request request{.method = method, .url = "http://host/path"};
  const Url url = parse_url(request.url).value();
  const Limits limits{.head_bytes_max = 512, .body_bytes_max = 256};
  Collector sink(heard.body);
  const std::stop_token stop;
  const CallPlan plan{
      .request = request, .url = url, .limits = limits, .sink = sink, .deadline = {}, .stop = stop};
  ReplyParser parser(plan);
  std::string unread;
  for (const auto& part : pieces_of(bytes, piece)) {
    unread += part;
    const auto used = parser.feed(unread);
    if (!used) {
      require_sentence(used.error());
      heard.problem = used.error().kind();
      return heard;
    }
    require(*used <= unread.size());
    unread.erase(0, *used);
    heard.used += *used;
    if (parser.is_done()) break;
  }
  heard.is_done = parser.is_done() || parser.end_at_connection_close();
  if (!heard.is_done) return heard;
  heard.keeps_alive = parser.keeps_alive();
  heard.head = parser.take_head();
  return heard;
}

void check_reply(const std::string& method, std::string_view bytes, std::size_t piece) {
  const HeardReply whole = hear_reply(method, bytes, 0);
  const HeardReply cut = hear_reply(method, bytes, piece);
  require(whole.is_done == cut.is_done);  // what is no HTTP is refused at once, or at its end
  if (!whole.is_done) return;
  require(whole.head.status == cut.head.status && whole.body == cut.body &&
          whole.keeps_alive == cut.keeps_alive);
  require(whole.used == cut.used);
  require(std::equal(whole.head.headers.begin(), whole.head.headers.end(), cut.head.headers.begin(),
                     cut.head.headers.end()));
  require(whole.head.status >= 200 && whole.head.status <= 999 && whole.body.size() <= bytes.size());
  const bool may_have_body = method != "HEAD" && has_body(whole.head.status);
  require(may_have_body || whole.body.empty());
  const auto length = whole.head.headers.get("Content-Length");
  const bool is_chunked = whole.head.headers.contains("Transfer-Encoding");
  if (may_have_body && !length.empty() && !is_chunked) require(number_in(length, 10) == whole.body.size());
}

// Our client reads the replies of our server with the intended meaning, and not a byte more.
void check_own_reply(std::string_view bytes, unsigned choice) {
  const std::size_t middle = std::min<std::size_t>(bytes.size(), choice);
  const Response response{.status = 200 + static_cast<int>(choice) * 3,
                          .headers = {{"X-Text", std::string(bytes.substr(0, middle))}},
                          .body = std::string(bytes.substr(middle))};
  const bool is_head = choice % 3 == 0;
  const std::string text =
      write_reply(response, {.keeps_alive = choice % 2 == 0, .is_for_head_request = is_head});
  const HeardReply heard = hear_reply(is_head ? "HEAD" : "GET", text + "HTTP/1.1 200 OK\r\n\r\n", 0);
  if (heard.problem) return require(middle > 300);  // over the client's limit of a head
  require(heard.is_done && heard.used == text.size() && heard.keeps_alive == (choice % 2 == 0));
  const bool is_sent = heard.head.headers.contains("X-Text");
  require(heard.head.status == (is_sent ? response.status : 500));
  if (is_sent && !is_head) require(heard.body == (has_body(response.status) ? response.body : ""));
}

void check_url(std::string_view bytes) {
  const auto url = parse_url(bytes);
  if (!url) return require(url.error().kind() == ErrorKind::kInvalid);
  require(!url->host.empty() && url->port != 0 && url->target.starts_with('/'));
  for (const auto& text : {url->target, url->host_header, url->shown})
    require(std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; }));
  require(url->shown.find('?') == std::string::npos);
  const auto again = parse_url((url->is_https ? "https://" : "http://") + url->host_header + url->target);
  require(again && again->host == url->host && again->port == url->port && again->target == url->target);
}

}  // namespace

void http_server(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const unsigned manners = static_cast<unsigned char>(bytes[0]);
  const auto piece = static_cast<std::size_t>(static_cast<unsigned char>(bytes[1]));
  bytes.remove_prefix(2);
  Talk whole(manners);
  whole.say(bytes);
  whole.end();
  check_replies(whole);
  for (const auto& request : whole.requests()) check_request(request);
  Talk cut(manners);
  for (const auto& part : pieces_of(bytes, piece)) cut.say(part);
  cut.end();
  check_replies(cut);
  // A head that is not HTTP is refused at once or when its end is missing; an accepted head does not change.
  require(std::ranges::equal(whole.requests(), cut.requests(), is_same_request));
}

void http_reply(std::string_view bytes) {
  if (bytes.empty()) return;
  const unsigned choice = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  check_reply(choice % 2 == 0 ? "GET" : "HEAD", bytes, 1 + choice / 2);
  check_own_reply(bytes, choice);
  check_url(bytes);
}

}  // namespace ratoon::fuzz
