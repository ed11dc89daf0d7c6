// LogLines: the lines of one container's log, as the API server streams them. The server puts the time in
// front of each line; the time is left out. If a stream is cut off, the next one begins at the time of the
// newest line that was printed, and the lines that it repeats are left out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/http/transport.h"

namespace ratoon::cli {

class LogLines final : public http::BodySink {
 public:
  using Print = std::function<Result<void>(std::string_view line)>;
  explicit LogLines(Print print) : print_(std::move(print)) {}

  Result<void> on_head(const http::ResponseHead& head) override;
  Result<void> on_bytes(std::string_view bytes) override;
  // After a stream: prints a last line without its end of line.
  Result<void> end_stream();

  // 0: the server has not answered.
  [[nodiscard]] int status() const { return status_; }
  // The body of an answer other than 200.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // As the server writes it; empty: no line yet.
  [[nodiscard]] const std::string& newest() const { return newest_; }

 private:
  Result<void> take(std::string_view line);

  const Print print_;
  int status_ = 0;
  std::string refusal_;
  std::string rest_;  // the beginning of a line
  std::string newest_;
  std::size_t printed_at_newest_ = 0;   // lines with that time
  std::size_t repeated_at_newest_ = 0;  // of these, in this stream
};

}  // namespace ratoon::cli
