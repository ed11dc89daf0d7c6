// The history of a run as values: lines, and the way in which the files of attempts are joined.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/history/join.h"

namespace ratoon::history::history_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Row row(std::uint64_t step) {
  return {.kind = "step",
          .step = step,
          .at = {.since_epoch = std::chrono::seconds(1'700'000'000 + step)},
          .values = {{"loss", 1.0 / static_cast<double>(step)}}};
}

TEST(HistoryLine, IsJsonThatComesBack) {
  EXPECT_EQ(
      encode(row(8)),
      "{\"kind\":\"step\",\"step\":8,\"time\":\"2023-11-14T22:13:28.000Z\",\"values\":{\"loss\":0.125}}\n");
  EXPECT_EQ(
      encode(FirstLine{.attempt = Attempt(3), .after = HistoryPosition{.attempt = Attempt(2), .bytes = 81}}),
      "{\"after\":{\"attempt\":2,\"bytes\":81},\"attempt\":3,\"history\":1}\n");
  const auto line = [](std::string text) { return text.substr(0, text.size() - 1); };
  EXPECT_EQ(decode_row(line(encode(row(7)))).value(), row(7));
  for (const auto& beginning : {FirstLine{.attempt = Attempt(1)},
                                FirstLine{Attempt(9), HistoryPosition{.attempt = Attempt(4), .bytes = 1}}})
    EXPECT_EQ(decode_first_line(line(encode(beginning))).value(), beginning);
}

TEST(HistoryLine, KeepsEveryNumber) {
  Row odd = row(1);
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double large = std::numeric_limits<double>::max();
  odd.values = {{"tiny", tiny},
                {"large", large},
                {"minus zero", -0.0},
                {"third", 1.0 / 3},
                {"inf", std::numeric_limits<double>::infinity()},
                {"minus", -std::numeric_limits<double>::infinity()},
                {"a \"name\"\n", 5.0}};
  std::string text = encode(odd);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  text.pop_back();
  const Row read = decode_row(text).value();
  EXPECT_EQ(read, odd);
  EXPECT_TRUE(std::signbit(read.values.at("minus zero")));
  odd.values = {{"loss", std::numeric_limits<double>::quiet_NaN()}};
  text = encode(odd);
  text.pop_back();
  EXPECT_TRUE(std::isnan(decode_row(text).value().values.at("loss")));
}

TEST(HistoryLine, RefusesWhatIsNone) {
  const std::string sound = encode(row(1));
  for (std::size_t bytes = 0; bytes + 1 < sound.size(); ++bytes)
    EXPECT_FALSE(decode_row(sound.substr(0, bytes))) << bytes;
  for (const char* line :
       {"[]", "1", "{}", R"({"kind":"step","step":-1,"time":"2023-11-14T22:13:28.000Z","values":{}})",
        R"({"kind":"step","step":1,"time":"yesterday","values":{}})",
        R"({"kind":"step","step":1,"time":"2023-11-14T22:13:28.000Z","values":{"loss":"low"}})",
        R"({"kind":"step","step":1,"time":"2023-11-14T22:13:28.000Z","values":[1]})",
        R"({"kind":"step","step":1,"time":"2023-11-14T22:13:28.000Z"})"})
    EXPECT_FALSE(decode_row(line)) << line;
  for (const char* line : {R"({"history":2,"attempt":1})", R"({"attempt":1})",
                           R"({"history":1,"attempt":3,"after":{"attempt":3,"bytes":1}})",
                           R"({"history":1,"attempt":3,"after":{"attempt":2}})"})
    EXPECT_FALSE(decode_first_line(line)) << line;
}

// ---- attempts

using Files = std::map<std::uint64_t, std::string>;

ReadFile reader(const Files& files) {
  return [&files](Attempt attempt) -> Result<std::string> {
    const auto found = files.find(attempt.value());
    if (found == files.end()) return Error(ErrorKind::kNotFound, "no such file");
    return found->second;
  };
}

std::string rows(std::uint64_t first, std::uint64_t last) {
  std::string text;
  for (std::uint64_t step = first; step <= last; ++step) text += encode(row(step));
  return text;
}

std::vector<std::uint64_t> steps_of(const Files& files, const HistoryPosition& end) {
  std::vector<std::uint64_t> steps;
  const auto joined = join(end, reader(files), [&](Attempt, const Row& r) { steps.push_back(r.step); });
  EXPECT_TRUE(joined) << joined.error().message();
  return steps;
}

std::vector<std::uint64_t> up_to(std::uint64_t last) {
  std::vector<std::uint64_t> steps;
  for (std::uint64_t step = 1; step <= last; ++step) steps.push_back(step);
  return steps;
}

// Attempt 1 made 6 steps, 4 of them saved; attempt 2 went on from there to 9, 7 saved; attempt 4 goes on from
// there. Attempt 3 saved nothing: no attempt goes on from it.
class Attempts : public testing::Test {
 protected:
  Attempts() {
    files[1] = encode(FirstLine{.attempt = Attempt(1)}) + rows(1, 4);
    first_end = {.attempt = Attempt(1), .bytes = files[1].size()};
    files[1] += rows(5, 6);
    files[2] = encode(FirstLine{.attempt = Attempt(2), .after = first_end}) + rows(5, 7);
    second_end = {.attempt = Attempt(2), .bytes = files[2].size()};
    files[2] += rows(8, 9);
    files[3] = encode(FirstLine{.attempt = Attempt(3), .after = second_end}) + rows(8, 8);
    files[4] = encode(FirstLine{.attempt = Attempt(4), .after = second_end}) + rows(8, 10);
    end = {.attempt = Attempt(4), .bytes = files[4].size()};
  }
  std::optional<HistoryPosition> newest() {
    std::vector<Attempt> attempts;
    for (const auto& [attempt, text] : files) attempts.emplace_back(attempt);
    return newest_position(attempts, reader(files)).value();
  }

  Files files;
  HistoryPosition first_end, second_end, end;
};

TEST_F(Attempts, AreJoinedWithoutGapsOrRepeats) {
  EXPECT_EQ(steps_of(files, end), up_to(10));
  EXPECT_EQ(steps_of(files, second_end), up_to(7));
  EXPECT_EQ(steps_of(files, first_end), up_to(4));
  EXPECT_EQ(newest(), end);
  EXPECT_EQ(newest_position({}, reader(files)).value(), std::nullopt);
}

TEST_F(Attempts, AKillAtAnyByteLosesNothingThatWasSaved) {
  const std::string whole = files[4];
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    for (const std::string& tail : {std::string(), std::string(40, '\0'), std::string("garbage\n\n")}) {
      files[4] = whole.substr(0, bytes) + tail;
      const auto place = newest();
      ASSERT_TRUE(place);
      const auto steps = steps_of(files, *place);
      if (place->attempt == Attempt(4)) {
        const auto lines =
            std::count(files[4].begin(), files[4].begin() + static_cast<long>(place->bytes), '\n');
        ASSERT_EQ(steps, up_to(7 + static_cast<std::uint64_t>(lines) - 1)) << bytes;
      } else {
        ASSERT_EQ(steps, up_to(8)) << bytes;  // of attempt 3, as if the fourth had never begun
      }
      // The next attempt goes on from the saved state, whatever else exists.
      files[5] = encode(FirstLine{.attempt = Attempt(5), .after = second_end}) + rows(8, 8);
      ASSERT_EQ(steps_of(files, *newest()), up_to(8));
      files.erase(5);
    }
  }
}

TEST_F(Attempts, AKillOfAnOlderOneAfterWhatWasSavedChangesNothing) {
  const std::string whole = files[1];
  for (std::size_t bytes = first_end.bytes; bytes <= whole.size(); ++bytes) {
    files[1] = whole.substr(0, bytes);
    ASSERT_EQ(steps_of(files, end), up_to(10));
  }
  files[1] = whole + rows(7, 20);  // a zombie
  EXPECT_EQ(steps_of(files, end), up_to(10));
}

TEST_F(Attempts, WhatWasVouchedForAndIsGoneIsSaid) {
  const std::string whole = files[1];
  for (std::size_t bytes = 0; bytes < first_end.bytes; ++bytes) {
    files[1] = whole.substr(0, bytes);
    const auto joined = join(end, reader(files), [](Attempt, const Row&) {});
    ASSERT_FALSE(joined) << bytes;
    ASSERT_EQ(joined.error().kind(), ErrorKind::kCorrupted);
    ASSERT_THAT(joined.error().message(), HasSubstr("history/a0001.jsonl"));
  }
  files.erase(1);
  EXPECT_EQ(join(end, reader(files), [](Attempt, const Row&) {}).error().kind(), ErrorKind::kNotFound);
}

TEST_F(Attempts, BadBytesInTheMiddleAreSaid) {
  const auto refused = [&] {
    const auto joined = join(end, reader(files), [](Attempt, const Row&) {});
    return joined ? std::string() : joined.error().message();
  };
  const std::string whole = files[2];
  files[2][whole.find("\"step\"") + 2] = '\n';
  EXPECT_THAT(refused(), HasSubstr("history/a0002.jsonl: the file has a bad line 2"));
  files[2] = whole;
  files[2][0] = 'x';
  EXPECT_THAT(refused(), HasSubstr("begins with a bad line"));
  files[2] = files[4];
  EXPECT_THAT(refused(), HasSubstr("history/a0002.jsonl"));
  files[2] = whole;
  EXPECT_FALSE(
      join({.attempt = Attempt(4), .bytes = end.bytes - 1}, reader(files), [](Attempt, const Row&) {}));
  EXPECT_FALSE(join({.attempt = Attempt(4), .bytes = 0}, reader(files), [](Attempt, const Row&) {}));
}

TEST_F(Attempts, SoundBytesEndBeforeTheFirstBadLine) {
  const std::string text = files[1];
  EXPECT_EQ(count_intact_bytes(text), text.size());
  EXPECT_EQ(count_intact_bytes(""), 0u);
  EXPECT_EQ(count_intact_bytes("\n"), 0u);
  EXPECT_EQ(count_intact_bytes(text + "{}\n" + rows(7, 7)), text.size());
  EXPECT_EQ(count_intact_bytes(rows(1, 1)), 0u);  // no first line
}

}  // namespace
}  // namespace ratoon::history::history_test
