// Reads one reply from the bytes of a connection, within limits, and passes its parts to the call's sink as
// they arrive. The parser neither copies nor keeps the body.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <ratoon/result.h>

#include "base/http/client/client_connection.h"

namespace ratoon::http {

class ReplyParser {
 public:
  explicit ReplyParser(const CallPlan& plan);  // must outlive this object
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // Returns how many of `bytes` were used. In the next call of feed(), the caller passes the unused bytes
  // again, followed by more bytes.
  [[nodiscard]] Result<std::size_t> feed(std::string_view bytes);
  // Call end_at_connection_close() when the server has closed the connection properly. Returns whether the
  // reply is complete.
  [[nodiscard]] bool end_at_connection_close();

  [[nodiscard]] bool is_done() const;
  // Call keeps_alive() only when is_done() is true.
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] ResponseHead take_head();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::http
