#include "agent/src/history/join.h"

#include <algorithm>

#include "agent/src/checkpoint/format/file_names.h"

namespace ratoon::history {
namespace {

Error corrupted_error(Attempt attempt, const std::string& what) {
  return {ErrorKind::kCorrupted, checkpoint::history_path(attempt) + ": " + what +
                                     ": only a part of the history can be read; training does not need it"};
}

// Returns the first line of a text, without its newline, or nothing if the text has no newline.
std::optional<std::string_view> first_line(std::string_view text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

struct AttemptSegment {
  FirstLine beginning;
  std::string text;  // the part of the file that counts
};

Result<AttemptSegment> read_segment(const HistoryPosition& end, const ReadFile& read) {
  auto text = read(end.attempt);
  if (!text) return text.error();
  if (text->size() < end.bytes) {
    return corrupted_error(end.attempt, "the file has " + std::to_string(text->size()) +
                                            " bytes, but a checkpoint needs " + std::to_string(end.bytes));
  }
  text->resize(end.bytes);
  const auto line = first_line(*text);
  if (!line || !text->ends_with('\n'))
    return corrupted_error(end.attempt,
                           "the position that the next attempt names is not the end of a line in the file");
  auto beginning = decode_first_line(*line);
  if (!beginning)
    return corrupted_error(end.attempt, "the file begins with a bad line: " + beginning.error().message());
  if (beginning->attempt != end.attempt) {
    return corrupted_error(end.attempt,
                           "the file names attempt " + std::to_string(beginning->attempt.value()));
  }
  return AttemptSegment{.beginning = *beginning, .text = std::move(*text)};
}

Result<void> visit_rows(const AttemptSegment& segment, const Visit& visit) {
  std::string_view rest = segment.text;
  std::uint64_t number = 1;
  for (rest.remove_prefix(rest.find('\n') + 1); !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    ++number;
    const auto row = decode_row(*first_line(rest));
    if (!row) {
      return corrupted_error(segment.beginning.attempt, "the file has a bad line " + std::to_string(number) +
                                                            ": " + row.error().message());
    }
    visit(segment.beginning.attempt, *row);
  }
  return {};
}

}  // namespace

std::uint64_t count_intact_bytes(std::string_view file) {
  std::uint64_t sound = 0;
  while (const auto line = first_line(file.substr(sound))) {
    const bool is_sound = sound == 0 ? decode_first_line(*line).has_value() : decode_row(*line).has_value();
    if (!is_sound) break;
    sound += line->size() + 1;
  }
  return sound;
}

Result<void> join(const HistoryPosition& end, const ReadFile& read, const Visit& visit) {
  // Finds the position at which each attempt's part of the history ends, from the newest attempt to the
  // oldest. Each file is read again for its rows, so that only one file is in memory at a time.
  std::vector<HistoryPosition> places = {end};
  while (true) {
    const auto segment = read_segment(places.back(), read);
    if (!segment) return segment.error();
    if (!segment->beginning.after) break;
    places.push_back(*segment->beginning.after);  // always of an older attempt, so the loop ends
  }
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    const auto segment = read_segment(*place, read);
    if (!segment) return segment.error();
    if (auto visited = visit_rows(*segment, visit); !visited) return visited;
  }
  return {};
}

Result<std::optional<HistoryPosition>> newest_position(std::vector<Attempt> attempts, const ReadFile& read) {
  std::sort(attempts.begin(), attempts.end(), std::greater<>());
  for (const Attempt attempt : attempts) {
    const auto text = read(attempt);
    if (!text) return text.error();
    if (const std::uint64_t bytes = count_intact_bytes(*text); bytes > 0)
      return std::optional(HistoryPosition{.attempt = attempt, .bytes = bytes});
  }
  return std::optional<HistoryPosition>();
}

}  // namespace ratoon::history
