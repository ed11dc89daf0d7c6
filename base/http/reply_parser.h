// Reads one reply out of the bytes of a connection, within limits, and hands it to the sink of the call as it
// comes. Nothing of a body is copied or kept.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <ratoon/result.h>

#include "base/http/lane.h"

namespace ratoon::http {

class ReplyParser {
 public:
  explicit ReplyParser(const CallPlan& plan);  // which outlives it
  ~ReplyParser();
  ReplyParser(const ReplyParser&) = delete;
  ReplyParser& operator=(const ReplyParser&) = delete;

  // How much of `bytes` was understood; the rest is to be given again, together with more.
  [[nodiscard]] Result<std::size_t> feed(std::string_view bytes);
  // The connection ended in order: true where that is the end of the reply as well.
  [[nodiscard]] bool ends_with_connection();

  [[nodiscard]] bool is_done() const;
  // Once it is done.
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] ResponseHead take_head();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ratoon::http
