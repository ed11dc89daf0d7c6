// The implementation of a Responder: it fills the reply buffer of one request and wakes the connection. A
// Responder may outlive both the connection and the server.
#pragma once

#include <memory>

#include "base/http/server.h"
#include "base/http/server/reply_buffer.h"
#include "base/http/server/reply_text.h"

namespace ratoon::http {

// ReplyConnection: the functions of a connection that a Responder and a StreamWriter call. Any thread may
// call these functions.
class ReplyConnection {
 public:
  virtual ~ReplyConnection() = default;
  virtual void flush_soon() = 0;
  virtual void abort_connection_soon() = 0;
  virtual bool mark_authenticated(const ConnectionOwner& owner) = 0;
  // A reply calls begin_blocking() and end_blocking() around a wait for space in its buffer, because the wait
  // may block one of the server's own threads.
  virtual void begin_blocking() = 0;
  virtual void end_blocking() = 0;
};

[[nodiscard]] Responder make_responder(std::shared_ptr<ReplyBuffer> buffer,
                                       std::weak_ptr<ReplyConnection> carrier, ReplyForm form,
                                       bool knows_chunks);

}  // namespace ratoon::http
