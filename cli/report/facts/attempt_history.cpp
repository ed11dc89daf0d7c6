#include "cli/report/facts/attempt_history.h"

#include <algorithm>
#include <optional>

#include "agent/src/history/join.h"

namespace ratoon::cli {
namespace {

using history::HistoryPosition;

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// Returns how many bytes at the beginning of each attempt's file contain the steps on which the newest
// attempt builds.
std::map<std::uint64_t, std::uint64_t> kept_bytes(const std::vector<AttemptFile>& files) {
  std::map<std::uint64_t, const AttemptFile*> by_attempt;
  for (const auto& file : files) by_attempt[file.attempt] = &file;
  std::map<std::uint64_t, std::uint64_t> kept;
  std::optional<HistoryPosition> place;
  for (auto at = by_attempt.rbegin(); at != by_attempt.rend() && !place; ++at) {
    const std::uint64_t sound = history::count_intact_bytes(at->second->text);
    if (sound > 0) place = HistoryPosition{.attempt = Attempt(at->first), .bytes = sound};
  }
  while (place && by_attempt.contains(place->attempt.value())) {
    kept[place->attempt.value()] = place->bytes;
    std::string_view text = by_attempt[place->attempt.value()]->text;
    const auto beginning = history::decode_first_line(take_line(text));
    place = beginning ? beginning->after : std::nullopt;  // the attempt before, so the loop ends
  }
  return kept;
}

class Reader {
 public:
  void read(const AttemptFile& file, std::uint64_t kept) {
    std::string_view rest = file.text;
    past_.attempts.insert(file.attempt);
    if (!history::decode_first_line(take_line(rest))) {
      past_.complaints.push_back("The history of attempt " + std::to_string(file.attempt) +
                                 " has no first line that can be read.");
      return;
    }
    while (rest.find('\n') != std::string_view::npos) {
      const auto row = history::decode_row(take_line(rest));
      if (!row) {
        past_.complaints.push_back("The history of attempt " + std::to_string(file.attempt) +
                                   " has a line that cannot be read; the lines after it are left out.");
        return;
      }
      add(file.attempt, *row, file.text.size() - rest.size() <= kept);
    }
  }

  AttemptHistory take() { return std::move(past_); }

 private:
  void add(std::uint64_t attempt, const history::Row& row, bool is_kept) {
    HistoryRow history{
        .at = seconds(row.at.since_epoch), .attempt = attempt, .step = row.step, .is_kept = is_kept};
    if (row.kind == "ledger") {
      past_.ledger_rows.push_back(history);
      if (is_kept) past_.ledger = row.values;
    } else if (row.kind == "save") {
      const auto stall = row.values.find("stall_seconds");
      history.value = stall == row.values.end() ? 0 : stall->second;
      past_.saves.push_back(history);
    } else if (row.kind == "step" || row.kind == "validation") {
      if (row.kind == "step") past_.steps.push_back(history);
      for (const auto& [name, value] : row.values) {
        history.value = value;
        past_.values[row.kind == "step" ? name : "validation " + name].push_back(history);
      }
    }
  }

  AttemptHistory past_;
};

}  // namespace

AttemptHistory read_attempt_history(const std::vector<AttemptFile>& files) {
  const auto kept = kept_bytes(files);
  std::vector<const AttemptFile*> in_order;
  for (const auto& file : files) in_order.push_back(&file);
  std::ranges::stable_sort(in_order, {}, &AttemptFile::attempt);
  Reader reader;
  for (const AttemptFile* file : in_order) {
    const auto bytes = kept.find(file->attempt);
    reader.read(*file, bytes == kept.end() ? 0 : bytes->second);
  }
  return reader.take();
}

}  // namespace ratoon::cli
