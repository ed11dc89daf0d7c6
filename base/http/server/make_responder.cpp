#include "base/http/server/make_responder.h"

#include <utility>

namespace ratoon::http {

class Responder::Connection {
 public:
  Connection(std::shared_ptr<ReplyBuffer> buffer, std::weak_ptr<ReplyConnection> carrier, ReplyForm form,
             bool knows_chunks)
      : buffer_(std::move(buffer)), carrier_(std::move(carrier)), form_(form), knows_chunks_(knows_chunks) {}

  void send(const Response& response) {
    buffer_->put(write_reply(response, form_), true);
    if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  }
  std::unique_ptr<StreamWriter> stream(int status, const Headers& headers);
  bool is_abandoned() const { return buffer_->is_abandoned(); }
  [[nodiscard]] bool mark_authenticated(const ConnectionOwner& owner) const {
    const auto carrier = carrier_.lock();
    return carrier == nullptr || carrier->mark_authenticated(owner);
  }

 private:
  std::shared_ptr<ReplyBuffer> buffer_;
  std::weak_ptr<ReplyConnection> carrier_;
  ReplyForm form_;
  bool knows_chunks_;
};

namespace {

class ReplyBufferWriter final : public StreamWriter {
 public:
  ReplyBufferWriter(std::shared_ptr<ReplyBuffer> buffer, std::weak_ptr<ReplyConnection> carrier,
                    BodyForm form, bool is_silent)
      : buffer_(std::move(buffer)), carrier_(std::move(carrier)), form_(form), is_silent_(is_silent) {}
  ~ReplyBufferWriter() override {
    const auto carrier = carrier_.lock();
    if (!is_finished_ && carrier) carrier->abort_connection_soon();
  }

  Result<void> write(std::string_view bytes) override {
    const auto carrier = carrier_.lock();
    if (!carrier || is_finished_) return gone();
    if (bytes.empty() || is_silent_) return {};  // an empty chunk would end the reply
    carrier->begin_blocking();
    const bool is_taken =
        buffer_->put_when_space(form_ == BodyForm::kChunked ? write_chunk(bytes) : std::string(bytes));
    carrier->end_blocking();
    if (!is_taken) return gone();
    carrier->flush_soon();
    return {};
  }

  void finish() override {
    if (std::exchange(is_finished_, true)) return;
    const bool has_last_chunk = form_ == BodyForm::kChunked && !is_silent_;
    buffer_->put(has_last_chunk ? std::string(kLastChunk) : std::string(), true);
    if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  }

 private:
  static Error gone() {
    return {ErrorKind::kUnavailable,
            "writing a streamed reply failed: the connection has ended; stop writing"};
  }

  std::shared_ptr<ReplyBuffer> buffer_;
  std::weak_ptr<ReplyConnection> carrier_;
  BodyForm form_;
  bool is_silent_;  // a reply without a body (HEAD, 204): written bytes are dropped
  bool is_finished_ = false;
};

}  // namespace

std::unique_ptr<StreamWriter> Responder::Connection::stream(int status, const Headers& headers) {
  const BodyForm body = knows_chunks_ ? BodyForm::kChunked : BodyForm::kUntilClose;
  const bool is_silent = form_.is_for_head_request || !has_body(status);
  buffer_->put(write_stream_head(status, headers, body, form_), false);
  if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  return std::make_unique<ReplyBufferWriter>(buffer_, carrier_, body, is_silent);
}

Responder make_responder(std::shared_ptr<ReplyBuffer> buffer, std::weak_ptr<ReplyConnection> carrier,
                         ReplyForm form, bool knows_chunks) {
  return Responder(
      std::make_shared<Responder::Connection>(std::move(buffer), std::move(carrier), form, knows_chunks));
}

Responder::Responder(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
Responder::Responder(Responder&&) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  Responder(std::move(other)).connection_.swap(connection_);
  return *this;
}

Responder::~Responder() {
  if (connection_)
    send({500, {{"Content-Type", "text/plain"}}, "The request was dropped without an answer.\n"});
}

bool Responder::mark_authenticated(const ConnectionOwner& owner) const {
  return connection_ == nullptr || connection_->mark_authenticated(owner);
}

void Responder::send(Response response) {
  if (const auto connection = std::exchange(connection_, nullptr)) connection->send(response);
}

std::unique_ptr<StreamWriter> Responder::stream(int status, Headers headers) {
  const auto connection = std::exchange(connection_, nullptr);
  return connection ? connection->stream(status, headers) : nullptr;
}

bool Responder::is_abandoned() const {
  return connection_ && connection_->is_abandoned();
}

}  // namespace ratoon::http
