#include "agent/src/history/last_row.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/history/history_file.h"

namespace ratoon::history {
namespace {

constexpr std::uint64_t kFirstPieceBytes = 64U << 10;
constexpr std::uint64_t kPieceBytesMax = 64U << 20;  // enough: wanted rows are at most a minute apart

Result<std::optional<Row>> find_in_file(const checkpoint::Disk& disk, Attempt attempt,
                                        std::string_view kind) {
  const auto file = disk.open(checkpoint::history_path(attempt));
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  for (std::uint64_t piece = kFirstPieceBytes;; piece *= 4) {
    std::string end(std::min({piece, *size, kPieceBytesMax}), '\0');
    if (auto read = (*file)->read(*size - end.size(), std::as_writable_bytes(std::span(end))); !read)
      return read.error();
    auto row = last_row_in(end, kind);
    if (row || end.size() < piece || piece >= kPieceBytesMax) return row;
  }
}

}  // namespace

std::optional<Row> last_row_in(std::string_view end_of_file, std::string_view kind) {
  while (!end_of_file.empty()) {
    const auto newline = end_of_file.rfind('\n');
    if (newline == std::string_view::npos) return std::nullopt;
    const std::string_view before = end_of_file.substr(0, newline);
    const auto begin = before.rfind('\n');
    const std::string_view line = begin == std::string_view::npos ? before : before.substr(begin + 1);
    // For speed, do not parse lines that do not contain the text of the wanted kind.
    if (line.find(kind) != std::string_view::npos) {
      if (auto row = decode_row(line); row && row->kind == kind) return *std::move(row);
    }
    end_of_file = begin == std::string_view::npos ? std::string_view() : before.substr(0, begin + 1);
  }
  return std::nullopt;
}

Result<std::optional<LastRow>> find_last_row(const checkpoint::Disk& disk, std::string_view kind) {
  auto attempts = list_attempts(disk);
  if (!attempts) return attempts.error();
  std::sort(attempts->begin(), attempts->end(), std::greater<>());
  for (const Attempt attempt : *attempts) {
    auto row = find_in_file(disk, attempt, kind);
    if (!row) return row.error();
    if (*row) return std::optional(LastRow{.attempt = attempt, .row = **std::move(row)});
  }
  return std::optional<LastRow>();
}

}  // namespace ratoon::history
