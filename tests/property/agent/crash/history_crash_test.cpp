// Power cuts while attempts write a history: the bytes on which a manifest relies survive every cut.
#include <charconv>

#include <gtest/gtest.h>

#include "agent/src/history/history_file.h"
#include "agent/src/history/join.h"
#include "tests/support/crash/crash_checker.h"

namespace ratoon::test::history_crash_test {
namespace {

using history::HistoryFile;
using history::HistoryPosition;
using history::Row;

Row row(std::uint64_t step) {
  return {.kind = "step", .step = step, .at = {}, .values = {{"loss", 0.5}}};
}

// "attempt bytes last-step", as the manifest would store it.
std::string promise(const HistoryPosition& place, std::uint64_t step) {
  return std::to_string(place.attempt.value()) + " " + std::to_string(place.bytes) + " " +
         std::to_string(step);
}

std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    numbers.push_back(number);
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
  }
  return numbers;
}

std::optional<std::string> judge_place(const ModelDisk& disk, const HistoryPosition& place,
                                       std::optional<std::uint64_t> last) {
  std::uint64_t step = 0;
  bool is_in_order = true;
  const auto joined = history::join(
      place, [&](Attempt attempt) { return history::read_file(disk, attempt); },
      [&](Attempt, const Row& r) { is_in_order = is_in_order && r.step == ++step; });
  if (!joined) return joined.error().message();
  if (!is_in_order) return "a gap or a repeat";
  if (last && step != *last)
    return "ends at " + std::to_string(step) + " instead of " + std::to_string(*last);
  return std::nullopt;
}

std::optional<std::string> judge(const CrashState& state) {
  const ModelDisk disk(state.image);
  for (const std::string& text : state.acknowledged) {
    const auto said = numbers_in(text);
    if (auto bad = judge_place(disk, {.attempt = Attempt(said[0]), .bytes = said[1]}, said[2])) return bad;
  }
  // The bytes that were not promised are whole lines, one after the other.
  const auto attempts = history::list_attempts(disk);
  if (!attempts) return attempts.error().message();
  const auto place =
      history::newest_position(*attempts, [&](Attempt attempt) { return history::read_file(disk, attempt); });
  if (!place) return place.error().message();
  return *place ? judge_place(disk, **place, std::nullopt) : std::nullopt;
}

CrashReport cut_everywhere(bool syncs) {
  ModelDisk disk;
  std::optional<HistoryPosition> saved;
  std::uint64_t saved_step = 0;
  for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
    auto file = HistoryFile::begin(disk, Attempt(attempt), saved).value();
    std::uint64_t step = saved_step;
    for (int saves = 0; saves < 3; ++saves) {
      for (int i = 0; i < 24; ++i) file.append(row(++step));  // over a block and more
      EXPECT_TRUE(file.flush());
      file.append(row(++step));
      if (saves == 2) break;  // lost: what is made after the last save
      if (!syncs) {
        disk.set_faults([](DiskCall call, const std::string&) -> Fault {
          return {.is_swallowed = call == DiskCall::kSync};
        });
      }
      saved = file.sync().value();
      saved_step = step;
      disk.acknowledge(promise(*saved, step));
    }
    EXPECT_TRUE(file.flush());
  }
  return check_crashes({.ops = disk.log(), .chances_a_cut = 25}, judge);
}

TEST(HistoryCrash, EveryCutLeavesWhatWasPromised) {
  const CrashReport report = cut_everywhere(true);
  EXPECT_EQ(report.bad, 0u) << report.first_bad;
  EXPECT_GT(report.distinct, 100u);
}

TEST(HistoryCrash, ASyncThatIsLeftOutIsFound) {
  EXPECT_GT(cut_everywhere(false).bad, 0u);
}

}  // namespace
}  // namespace ratoon::test::history_crash_test
