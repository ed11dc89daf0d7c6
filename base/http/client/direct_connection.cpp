#include "base/http/client/direct_connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/http/client/direct_stream.h"
#include "base/http/client/reply_parser.h"
#include "base/http/syntax.h"

namespace ratoon::http {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;            // of a body that is read from a source
constexpr std::size_t kReadBytes = 16 * 1024;             // the most that TLS returns at once
constexpr std::size_t kJoinedWriteBytesMax = 256 * 1024;  // up to this size head and body are sent together

std::string write_head(const Request& request, const Url& url) {
  std::string head = request.method + " " + url.target + " HTTP/1.1\r\n";
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  if (!request.headers.contains("Host")) add("Host", url.host_header);
  if (!request.headers.contains("User-Agent")) add("User-Agent", "ratoon");
  for (const auto& [name, value] : request.headers)
    if (!equals_ignoring_case(name, "Content-Length")) add(name, value);
  if (has_content_length(request)) add("Content-Length", std::to_string(body_size_of(request)));
  return head.append("\r\n");
}

class DirectCall {
 public:
  DirectCall(DirectStream& stream, const CallPlan& plan)
      : stream_(stream),
        plan_(plan),
        sent_before_(stream.sent_bytes()),
        received_before_(stream.received_bytes()) {}

  CallOutcome run(const std::shared_ptr<const TlsClient>& tls, const std::string& expected_name) {
    const bool is_secured =
        !tls || stream_.is_secured() || note(stream_.do_tls_handshake(tls, expected_name));
    if (is_secured && send()) {
      receive();
    } else if (is_secured && is_broken()) {
      // Read a reply, because a server that closes the connection may have sent an error reply first.
      const auto first = std::exchange(interruption_, std::nullopt);
      receive();
      if (interruption_ && tls_reason(interruption_->code).empty()) interruption_ = first;
    }
    CallOutcome outcome{};
    outcome.error = error();
    if (outcome.error) {
      outcome.was_never_sent = is_broken() && stream_.sent_bytes() == sent_before_;
      outcome.has_had_no_reply =
          is_broken() && !has_read_source_ && stream_.received_bytes() == received_before_;
      return outcome;
    }
    outcome.head = parser_.take_head();
    outcome.is_reusable = is_clean_ && parser_.keeps_alive();
    return outcome;
  }

 private:
  bool is_broken() const {
    return !problem_ && interruption_ && interruption_->cause == Interruption::Cause::kBroken;
  }

  // Records why a call was interrupted; returns false if an earlier reason is recorded already.
  bool note(std::optional<Interruption> interruption) {
    if (interruption && !interruption_) interruption_ = std::move(interruption);
    return !interruption_;
  }

  bool send() {
    std::string head = write_head(plan_.request, plan_.url);
    if (plan_.request.body_source != nullptr) return note(stream_.write(head)) && send_source();
    const std::string_view body =
        plan_.request.body_view.empty() ? plan_.request.body : plan_.request.body_view;
    if (body.size() > kJoinedWriteBytesMax) return note(stream_.write(head)) && note(stream_.write(body));
    return note(stream_.write(head.append(body)));
  }

  bool send_source() {
    std::string piece(kPieceBytes, '\0');
    const std::size_t size = body_size_of(plan_.request);
    for (std::size_t sent = 0; sent < size;) {
      has_read_source_ = true;
      const auto count =
          plan_.request.body_source->read(std::span(piece).first(std::min(size - sent, piece.size())));
      if (!count || *count == 0) {
        problem_ = count ? short_body_error(plan_, sent) : count.error();
        return false;
      }
      stream_.restart_idle_timer();  // a slow source is not silence of the server
      if (!note(stream_.write(std::string_view(piece).substr(0, *count)))) return false;
      sent += *count;
    }
    return true;
  }

  void receive() {
    std::string unread;
    while (!parser_.is_done()) {
      const std::size_t kept = unread.size();
      unread.resize(kept + kReadBytes);
      const auto read = stream_.read(std::span(unread).subspan(kept));
      unread.resize(kept + read.size);
      if (read.interruption) {
        note(read.interruption);
        return;
      }
      if (read.size == 0) {
        is_clean_ = false;
        if (!parser_.end_at_connection_close()) note(Interruption{.problem = "the connection ended"});
        return;
      }
      const auto used = parser_.feed(unread);
      if (!used) {
        problem_ = used.error();
        return;
      }
      stream_.restart_idle_timer();  // a slow sink is not silence of the server either
      unread.erase(0, *used);
    }
    is_clean_ = unread.empty() && !stream_.has_unread_bytes();
  }

  std::optional<Error> error() const {
    if (problem_) return problem_;
    if (!interruption_ || parser_.is_done()) return std::nullopt;
    switch (interruption_->cause) {
      case Interruption::Cause::kStopped:
        return cancelled_error(plan_);
      case Interruption::Cause::kLate:
        return deadline_error(plan_);
      case Interruption::Cause::kSilent:
        return idle_timeout_error(plan_);
      case Interruption::Cause::kBroken:
        break;
    }
    return broken_connection_error(plan_, {.problem = interruption_->problem,
                                           .code = interruption_->code,
                                           .certificate_problem = stream_.certificate_problem(),
                                           .expected_name = stream_.expected_name()});
  }

  DirectStream& stream_;
  const CallPlan& plan_;
  const std::uint64_t sent_before_;
  const std::uint64_t received_before_;
  ReplyParser parser_{plan_};
  std::optional<Interruption> interruption_;  // the first one
  std::optional<Error> problem_;
  bool has_read_source_ = false;
  bool is_clean_ = true;  // the connection can carry another exchange
};

class DirectConnection final : public ClientConnection {
 public:
  DirectConnection(UniqueFd connected, std::string expected_name, std::shared_ptr<const TlsClient> tls)
      : stream_(std::move(connected)), expected_name_(std::move(expected_name)), tls_(std::move(tls)) {}

  CallOutcome run(const CallPlan& plan) override {
    const std::stop_callback notify(plan.stop, [this] { stream_.notify(); });
    stream_.set_bounds({.deadline = plan.deadline, .silence = plan.limits.silence, .stop = plan.stop});
    return DirectCall(stream_, plan).run(tls_, expected_name_);
  }

  int socket() const override { return stream_.socket(); }
  [[nodiscard]] bool is_usable() const { return stream_.is_usable(); }

 private:
  DirectStream stream_;
  const std::string expected_name_;
  const std::shared_ptr<const TlsClient> tls_;
};

}  // namespace

Result<std::unique_ptr<ClientConnection>> make_direct_connection(const Url& url, std::string expected_name,
                                                                 UniqueFd connected,
                                                                 std::shared_ptr<const TlsClient> tls) {
  auto connection =
      std::make_unique<DirectConnection>(std::move(connected), std::move(expected_name), std::move(tls));
  if (!connection->is_usable()) return system_error(EMFILE, "waiting for " + url.shown);
  return std::unique_ptr<ClientConnection>(std::move(connection));
}

}  // namespace ratoon::http
