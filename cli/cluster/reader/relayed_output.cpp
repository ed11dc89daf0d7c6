#include "cli/cluster/reader/relayed_output.h"

#include <algorithm>
#include <utility>

#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

constexpr char kOutputLineTag = '1';
constexpr char kErrorLineTag = '2';
constexpr char kOutputPieceTag = '+';
constexpr char kErrorPieceTag = '-';
constexpr char kEndTag = '=';
constexpr std::uint64_t kExitCodeMax = 255;

}  // namespace

std::string RelayLines::add(std::string_view bytes) {
  const bool is_output = stream_ == RelayedStream::kOutput;
  bytes_ += bytes.size();
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t room = kLineBytesMax - partial_line_.size();
    const std::size_t newline = bytes.substr(0, room).find('\n');
    const std::size_t taken = newline == std::string_view::npos ? std::min(room, bytes.size()) : newline;
    partial_line_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (newline != std::string_view::npos) {
      bytes.remove_prefix(1);
      lines += (is_output ? kOutputLineTag : kErrorLineTag) + std::exchange(partial_line_, {}) + '\n';
    } else if (partial_line_.size() == kLineBytesMax) {
      lines += end();
    }
  }
  return lines;
}

std::string RelayLines::end() {
  if (partial_line_.empty()) return {};
  return (stream_ == RelayedStream::kOutput ? kOutputPieceTag : kErrorPieceTag) +
         std::exchange(partial_line_, {}) + '\n';
}

std::string make_end_line(int exit_code, std::uint64_t output_bytes) {
  return kEndTag + std::to_string(exit_code) + " " + std::to_string(output_bytes) + "\n";
}

Result<void> RelayedOutput::read(std::string_view line) {
  const char tag = line.empty() ? '\0' : line.front();
  const std::string_view text = line.empty() ? line : line.substr(1);
  const bool is_output = tag == kOutputLineTag || tag == kOutputPieceTag;
  const bool is_piece = tag == kOutputPieceTag || tag == kErrorPieceTag;
  if (tag == kEndTag) return read_end(text);
  if (!is_output && tag != kErrorLineTag && tag != kErrorPieceTag)
    return output_callback_(RelayedStream::kErrors, printable(line) + "\n");
  const std::string whole = std::string(text) + (is_piece ? "" : "\n");
  if (!is_output) return output_callback_(RelayedStream::kErrors, printable(text) + (is_piece ? "" : "\n"));
  output_bytes_ += whole.size();
  return output_callback_(RelayedStream::kOutput, whole);
}

Result<void> RelayedOutput::read_end(std::string_view text) {
  const std::size_t gap = text.find(' ');
  const auto code = kube::parse_unsigned(text.substr(0, gap));
  const auto bytes = kube::parse_unsigned(gap == std::string_view::npos ? "" : text.substr(gap + 1));
  if (!code || *code > kExitCodeMax || !bytes)
    return Error(ErrorKind::kInvalid, "the log of the reader pod ends with '" + std::string(text) +
                                          "'; expected an exit code and a number of bytes");
  if (*bytes != output_bytes_)
    return Error(ErrorKind::kUnavailable, "the log of the reader pod has " + std::to_string(output_bytes_) +
                                              " of " + std::to_string(*bytes) +
                                              " bytes of output, so its kubelet lost a part of it");
  exit_code_ = static_cast<int>(*code);
  return {};
}

}  // namespace ratoon::cli
