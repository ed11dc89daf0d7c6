#include "cli/cluster/log_lines.h"

#include <algorithm>
#include <utility>

#include "base/core/clock.h"

namespace ratoon::cli {
namespace {

constexpr int kHttpOk = 200;
constexpr std::size_t kRefusalBytesMax = 4096;
// The greatest length of a line; a longer line is printed in pieces.
constexpr std::size_t kLineBytesMax = 1 << 20;

}  // namespace

Result<void> LogLines::on_head(const http::ResponseHead& head) {
  status_ = head.status;
  refusal_.clear();
  partial_line_.clear();
  printed_until_ = newest_timestamp_;
  repeats_left_ = lines_at_newest_timestamp_;
  return {};
}

Result<void> LogLines::on_bytes(std::string_view bytes) {
  if (status_ != kHttpOk) {
    refusal_ += bytes.substr(0, kRefusalBytesMax - std::min(kRefusalBytesMax, refusal_.size()));
    return {};
  }
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_line_ += bytes.substr(0, end);
    if (end == std::string_view::npos && partial_line_.size() < kLineBytesMax) return {};
    if (auto taken = take(std::exchange(partial_line_, {})); !taken) return taken;
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
  }
  return {};
}

Result<void> LogLines::end_stream() {
  return partial_line_.empty() || status_ != kHttpOk ? Result<void>()
                                                     : take(std::exchange(partial_line_, {}));
}

// A line without a time is a message of kubelet or a piece of a long line. It has no place in the order of
// the log, and the API server would refuse to continue the log at its first word. The API server writes all
// timestamps of a container in one format, so comparing texts compares times. The lines of one stream need
// not be in the order of their times: standard output and standard error have times of their own, and the
// clock of a node may be set back.
Result<void> LogLines::take(std::string_view line) {
  const std::size_t gap = line.find(' ');
  const std::string_view time = line.substr(0, gap);
  if (gap == std::string_view::npos || !parse_rfc3339(time)) return print_(line);
  if (time < printed_until_) return {};
  if (time == printed_until_ && repeats_left_ > 0) {
    --repeats_left_;
    return {};
  }
  if (time > printed_until_) printed_until_.clear();  // all lines behind this one are new
  if (time > newest_timestamp_) {
    newest_timestamp_ = time;
    lines_at_newest_timestamp_ = 0;
  }
  if (time == newest_timestamp_) ++lines_at_newest_timestamp_;
  return print_(line.substr(gap + 1));
}

}  // namespace ratoon::cli
