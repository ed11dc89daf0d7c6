// LogLines: prints the lines of one container's log that the API server streams, without the timestamp in
// front of each line. It prints a line without a timestamp as it is. If a stream is cut off, the next stream
// begins at the time of the newest printed line, and LogLines does not print the repeated lines again.
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
  // Call end_stream() after each stream: it prints the last line if this line has no newline.
  Result<void> end_stream();

  // Returns the HTTP status, or 0 if the server has not answered.
  [[nodiscard]] int status() const { return status_; }
  // Returns the body of a reply whose HTTP status is not 200.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // Returns the timestamp of the newest line as the server wrote it, or an empty text.
  [[nodiscard]] const std::string& newest() const { return newest_timestamp_; }

 private:
  Result<void> take(std::string_view line);

  const Print print_;
  int status_ = 0;
  std::string refusal_;
  std::string partial_line_;  // the beginning of a line
  std::string newest_timestamp_;
  std::size_t lines_at_newest_timestamp_ = 0;  // lines with that time
  // Earlier streams printed the lines before this time, and so many lines with this time.
  std::string printed_until_;
  std::size_t repeats_left_ = 0;
};

}  // namespace ratoon::cli
