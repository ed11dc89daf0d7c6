// Relayed output has a program's standard output, standard error and exit code as lines of one log. Each line
// is marked, because the log of a container mixes the two streams and may be cut off. `ratoon relay` writes
// the lines in a pod; RelayedOutput reads them on the user's machine. Pure.
//
//   1TEXT   a line of standard output       +TEXT   a piece of it, without a newline
//   2TEXT   a line of standard error        -TEXT   a piece of it, without a newline
//   =CODE BYTES   the last line: the exit code, and the number of bytes of standard output
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/result.h>

namespace ratoon::cli {

enum class RelayedStream { kOutput, kErrors };

// Converts a stream to lines of at most kLineBytesMax bytes. A container runtime may split longer lines.
class RelayLines {
 public:
  static constexpr std::size_t kLineBytesMax = 8192;

  explicit RelayLines(RelayedStream stream) : stream_(stream) {}
  // Returns the lines that `bytes` completes, each with its newline.
  [[nodiscard]] std::string add(std::string_view bytes);
  // Returns the line for the bytes after the last newline, or an empty text.
  [[nodiscard]] std::string end();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  const RelayedStream stream_;
  std::string partial_line_;
  std::uint64_t bytes_ = 0;
};

// Returns the last line of the log: the exit code and the number of bytes of output.
[[nodiscard]] std::string make_end_line(int exit_code, std::uint64_t output_bytes);

class RelayedOutput {
 public:
  using Take = std::function<Result<void>(RelayedStream stream, std::string_view text)>;
  explicit RelayedOutput(Take take) : output_callback_(std::move(take)) {}

  // Reads one line of the log, without its newline. A line that `ratoon relay` did not write, such as a
  // message of the container's runtime, counts as standard error.
  [[nodiscard]] Result<void> read(std::string_view line);
  // Returns the exit code, once the last line was read.
  [[nodiscard]] std::optional<int> exit_code() const { return exit_code_; }

 private:
  Result<void> read_end(std::string_view text);

  const Take output_callback_;
  std::optional<int> exit_code_;
  std::uint64_t output_bytes_ = 0;
};

}  // namespace ratoon::cli
