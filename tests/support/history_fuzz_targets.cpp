// Files of a history, as attempts, kills and power cuts leave them.
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/src/history/join.h"
#include "agent/src/history/last_row.h"
#include "agent/src/history/line.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using history::FirstLine;
using history::HistoryPosition;
using history::Row;

// Bit for bit: a NaN is a number of the history like any other.
bool is_same_row(const Row& a, const Row& b) {
  const auto is_same_value = [](const auto& x, const auto& y) {
    const bool are_nan = x.second != x.second && y.second != y.second;
    return x.first == y.first &&
           (are_nan || std::bit_cast<std::uint64_t>(x.second) == std::bit_cast<std::uint64_t>(y.second));
  };
  return a.kind == b.kind && a.step == b.step && a.at == b.at &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), is_same_value);
}

std::string_view without_newline(std::string_view line) {
  require(line.ends_with('\n') && line.find('\n') == line.size() - 1);
  return line.substr(0, line.size() - 1);
}

void check_line(std::string_view line) {
  if (const auto beginning = history::decode_first_line(line)) {
    const std::string again = history::encode(*beginning);
    require(history::decode_first_line(without_newline(again)).value() == *beginning);
    require(!beginning->after || beginning->after->attempt < beginning->attempt);
  } else {
    require_sentence(beginning.error());
  }
  if (const auto row = history::decode_row(line)) {
    const std::string again = history::encode(*row);
    require(is_same_row(history::decode_row(without_newline(again)).value(), *row));
  } else {
    require_sentence(row.error());
  }
}

// Whole lines, each without its newline; text behind the last newline is no line.
std::vector<std::string_view> lines_of(std::string_view file) {
  std::vector<std::string_view> lines;
  for (auto end = file.find('\n'); end != std::string_view::npos; end = file.find('\n')) {
    lines.push_back(file.substr(0, end));
    file.remove_prefix(end + 1);
  }
  return lines;
}

std::optional<Row> newest_by_reading_all(std::string_view file, std::string_view kind) {
  std::optional<Row> newest;
  for (const auto& line : lines_of(file))
    if (auto row = history::decode_row(line); row && row->kind == kind) newest = *std::move(row);
  return newest;
}

// The intact file is read whole, row by row, after the file from which it goes on.
void check_join(std::string_view sound) {
  const auto lines = lines_of(sound);
  const FirstLine first = history::decode_first_line(lines.front()).value();
  const Row row{.kind = "step", .step = 7, .at = {}, .values = {{"loss", 0.5}}};
  const auto before = [&](Attempt attempt) {
    return history::encode(FirstLine{.attempt = attempt, .after = std::nullopt}) + history::encode(row);
  };
  const auto read = [&](Attempt attempt) -> Result<std::string> {
    return attempt == first.attempt ? std::string(sound) : before(attempt);
  };
  std::size_t visited = 0;
  std::size_t of_before = 0;
  const auto visit = [&](Attempt attempt, const Row& seen) {
    if (attempt != first.attempt) {
      ++of_before;
      return require(visited == 0 && is_same_row(seen, row));
    }
    ++visited;
    require(is_same_row(seen, history::decode_row(lines.at(visited)).value()));
  };
  const auto joined = history::join({.attempt = first.attempt, .bytes = sound.size()}, read, visit);
  const std::size_t whole = first.after ? before(first.after->attempt).size() : 0;
  const std::size_t head = whole - (first.after ? history::encode(row).size() : 0);
  const bool is_there = !first.after || first.after->bytes == whole || first.after->bytes == head;
  require(joined.has_value() == is_there);
  if (!joined) return require(joined.error().kind() == ErrorKind::kCorrupted);
  require(visited + 1 == lines.size() && of_before == (first.after && first.after->bytes == whole ? 1 : 0));
  const auto place = history::newest_position({first.attempt, Attempt(0)}, read);
  require(place.has_value() && place->has_value() && (**place).attempt == first.attempt);
}

}  // namespace

void history(std::string_view bytes) {
  for (const auto& line : lines_of(bytes)) check_line(line);
  const std::uint64_t sound = history::count_intact_bytes(bytes);
  require(sound <= bytes.size() && history::count_intact_bytes(bytes.substr(0, sound)) == sound);
  if (sound > 0) check_join(bytes.substr(0, sound));
  // Reading begins at any place: the end of a long file is read first.
  for (const std::size_t from : {std::size_t{0}, bytes.size() / 2}) {
    const auto newest = history::last_row_in(bytes.substr(from), "save");
    const auto expected = newest_by_reading_all(bytes.substr(from), "save");
    require(newest.has_value() == expected.has_value() && (!newest || is_same_row(*newest, *expected)));
  }
}

}  // namespace ratoon::fuzz
