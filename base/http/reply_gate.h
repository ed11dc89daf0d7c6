// What stands behind a Responder: it fills the outbox of one request and wakes the connection. It may outlive
// both the connection and the server.
#pragma once

#include <memory>

#include "base/http/outbox.h"
#include "base/http/reply_text.h"
#include "base/http/server.h"

namespace ratoon::http {

// The connection, as a reply sees it. Safe from any thread.
class ReplyCarrier {
 public:
  virtual ~ReplyCarrier() = default;
  virtual void flush_soon() = 0;
  virtual void cut_soon() = 0;
  virtual void vouch(const std::string& owner, std::size_t connections_max) = 0;
  // Around a wait for room in the outbox, in case it happens on one of the server's own threads.
  virtual void begin_blocking() = 0;
  virtual void end_blocking() = 0;
};

[[nodiscard]] Responder make_responder(std::shared_ptr<Outbox> outbox, std::weak_ptr<ReplyCarrier> carrier,
                                       ReplyForm form, bool knows_chunks);

}  // namespace ratoon::http
