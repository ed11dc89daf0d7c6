#include "base/http/reply_gate.h"

#include <utility>

namespace ratoon::http {

class Responder::Connection {
 public:
  Connection(std::shared_ptr<Outbox> outbox, std::weak_ptr<ReplyCarrier> carrier, ReplyForm form,
             bool knows_chunks)
      : outbox_(std::move(outbox)), carrier_(std::move(carrier)), form_(form), knows_chunks_(knows_chunks) {}

  void send(const Response& response) {
    outbox_->put(write_reply(response, form_), true);
    if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  }
  std::unique_ptr<StreamWriter> stream(int status, const Headers& headers);
  bool is_abandoned() const { return outbox_->is_abandoned(); }
  void vouch(const std::string& owner, std::size_t connections_max) const {
    if (const auto carrier = carrier_.lock()) carrier->vouch(owner, connections_max);
  }

 private:
  std::shared_ptr<Outbox> outbox_;
  std::weak_ptr<ReplyCarrier> carrier_;
  ReplyForm form_;
  bool knows_chunks_;
};

namespace {

class OutboxWriter final : public StreamWriter {
 public:
  OutboxWriter(std::shared_ptr<Outbox> outbox, std::weak_ptr<ReplyCarrier> carrier, BodyForm form,
               bool is_silent)
      : outbox_(std::move(outbox)), carrier_(std::move(carrier)), form_(form), is_silent_(is_silent) {}
  ~OutboxWriter() override {
    const auto carrier = carrier_.lock();
    if (!is_finished_ && carrier) carrier->cut_soon();
  }

  Result<void> write(std::string_view bytes) override {
    const auto carrier = carrier_.lock();
    if (!carrier || is_finished_) return gone();
    if (bytes.empty() || is_silent_) return {};  // an empty chunk would end the reply
    carrier->begin_blocking();
    const bool is_taken =
        outbox_->put_when_room(form_ == BodyForm::kChunked ? write_chunk(bytes) : std::string(bytes));
    carrier->end_blocking();
    if (!is_taken) return gone();
    carrier->flush_soon();
    return {};
  }

  void finish() override {
    if (std::exchange(is_finished_, true)) return;
    const bool has_last_chunk = form_ == BodyForm::kChunked && !is_silent_;
    outbox_->put(has_last_chunk ? std::string(kLastChunk) : std::string(), true);
    if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  }

 private:
  static Error gone() {
    return {ErrorKind::kUnavailable,
            "writing a streamed reply failed: the connection has ended; stop writing"};
  }

  std::shared_ptr<Outbox> outbox_;
  std::weak_ptr<ReplyCarrier> carrier_;
  BodyForm form_;
  bool is_silent_;  // a reply without a body (HEAD, 204): what is written goes nowhere
  bool is_finished_ = false;
};

}  // namespace

std::unique_ptr<StreamWriter> Responder::Connection::stream(int status, const Headers& headers) {
  const BodyForm body = knows_chunks_ ? BodyForm::kChunked : BodyForm::kUntilClose;
  const bool is_silent = form_.is_for_head_request || !has_body(status);
  outbox_->put(write_stream_head(status, headers, body, form_), false);
  if (const auto carrier = carrier_.lock()) carrier->flush_soon();
  return std::make_unique<OutboxWriter>(outbox_, carrier_, body, is_silent);
}

Responder make_responder(std::shared_ptr<Outbox> outbox, std::weak_ptr<ReplyCarrier> carrier, ReplyForm form,
                         bool knows_chunks) {
  return Responder(
      std::make_shared<Responder::Connection>(std::move(outbox), std::move(carrier), form, knows_chunks));
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

void Responder::vouch(const std::string& owner, std::size_t connections_max) const {
  if (connection_) connection_->vouch(owner, connections_max);
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
