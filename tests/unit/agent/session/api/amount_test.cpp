#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/amount.h>

namespace ratoon::amount_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;
using testing::HasSubstr;

Amount read(std::string_view text) {
  const auto amount = parse_amount(text);
  if (!amount) ADD_FAILURE() << amount.error().message();
  return amount.value_or(Amount{});
}

Amount time(nanoseconds t) {
  return {.unit = CountedIn::kTime, .period = {.count = static_cast<std::uint64_t>(t.count())}};
}

TEST(Amount, IsANumberAndAUnit) {
  EXPECT_EQ(read("500st"), (Amount{.unit = CountedIn::kSteps, .period = {.count = 500}}));
  EXPECT_EQ(read("500ba"), (Amount{.unit = CountedIn::kBatches, .period = {.count = 500}}));
  EXPECT_EQ(read("90ep"), (Amount{.unit = CountedIn::kEpochs, .period = {.count = 90}}));
  EXPECT_EQ(read("0.25ep"), (Amount{.unit = CountedIn::kEpochs, .period = {.count = 1, .parts = 4}}));
  EXPECT_EQ(read("1.5ep"), (Amount{.unit = CountedIn::kEpochs, .period = {.count = 3, .parts = 2}}));
  EXPECT_EQ(read("1000sp"), (Amount{.unit = CountedIn::kSamples, .period = {.count = 1000}}));
  EXPECT_EQ(read("999999999999st").period.count, 999'999'999'999u);
}

TEST(Amount, OfTimeIsExact) {
  EXPECT_EQ(read("45s"), time(45s));
  EXPECT_EQ(read("10m"), time(10min));
  EXPECT_EQ(read("2h"), time(2h));
  EXPECT_EQ(read("1d"), time(24h));
  EXPECT_EQ(read("1h30m"), time(90min));
  EXPECT_EQ(read("1d2h3m4.5s"), time(26h + 3min + 4500ms));
  EXPECT_EQ(read("0.000001s"), time(1us));
  EXPECT_EQ(read("1.1h"), time(66min));
}

TEST(Amount, IsWrittenAsItIsRead) {
  for (const char* text : {"1st", "500ba", "90ep", "0.25ep", "1.5ep", "0.000001ep", "1000sp", "45s", "10m",
                           "2h", "1d", "1h30m", "1d2h3m4.5s", "0.000001s", "999999999999sp"})
    EXPECT_EQ(text_of(read(text)), text);
  EXPECT_EQ(text_of(read("90m")), "1h30m");
  EXPECT_EQ(text_of(read("0.250ep")), "0.25ep");
  EXPECT_EQ(text_of({.unit = CountedIn::kEpochs, .period = {.count = 1, .parts = 3}}), "1/3ep");
  EXPECT_EQ(text_of(time(0s)), "0s");
}

TEST(Amount, RefusesWhatMayMeanSomethingElse) {
  for (const char* text : {"",
                           "500",
                           "ep",
                           "0ep",
                           "0s",
                           "0.0ep",
                           "-1ep",
                           "+1ep",
                           " 1ep",
                           "1 ep",
                           "1ep ",
                           "1epoch",
                           "1EP",
                           "1.ep",
                           ".5ep",
                           "1e3ba",
                           "0.5ba",
                           "0.5st",
                           "1.5sp",
                           "1ep2ep",
                           "1ep30m",
                           "30m1h",
                           "1h1h",
                           "1.5h30m",
                           "1m2ba",
                           "1.0000001ep",
                           "1000000000000st",
                           "18446744073709551616ba",
                           "1/3ep",
                           "nan",
                           "300000000000s",
                           "1h30",
                           "1s\n"})
    EXPECT_FALSE(parse_amount(text)) << text;
}

TEST(Amount, SaysWhatWasExpected) {
  const auto refused = parse_amount("500 batches");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(refused.error().message(), testing::AllOf(HasSubstr("'500 batches'"), HasSubstr("500ba")));
  EXPECT_LT(parse_amount(std::string(10'000, 'x')).error().message().size(), 400u);
}

TEST(Amount, IsCountedAtAPosition) {
  const RunPosition position{
      .steps = 5, .batches = 10, .samples = 2560, .epoch_samples = 1000, .trained = 90s};
  EXPECT_EQ(count_of(position, CountedIn::kSteps), 5u);
  EXPECT_EQ(count_of(position, CountedIn::kBatches), 10u);
  EXPECT_EQ(count_of(position, CountedIn::kEpochs), 2560u);
  EXPECT_EQ(count_of(position, CountedIn::kSamples), 2560u);
  EXPECT_EQ(count_of(position, CountedIn::kTime), 90'000'000'000u);
  EXPECT_EQ(count_of({.trained = -1s}, CountedIn::kTime), 0u);

  const Period quarter = counts_in(read("0.25ep"), position);
  EXPECT_EQ(quarter.count, 250u);
  EXPECT_EQ(quarter.parts, 1u);
  const Period third = counts_in({.unit = CountedIn::kEpochs, .period = {.count = 2, .parts = 3}}, position);
  EXPECT_EQ(third.count, 2000u);
  EXPECT_EQ(third.parts, 3u);
  EXPECT_EQ(counts_in(read("7ba"), position).count, 7u);
}

TEST(Amount, OfEpochsNeedsThem) {
  EXPECT_THROW(static_cast<void>(counts_in(read("1ep"), RunPosition{})), std::invalid_argument);
  EXPECT_EQ(counts_in(read("1ba"), RunPosition{}).count, 1u);
}

TEST(Amount, BeyondCountingIsNeverReached) {
  const RunPosition position{.epoch_samples = 1ULL << 60};
  EXPECT_EQ(counts_in(read("16ep"), position).count, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(counts_in(read("15ep"), position).count, 15ULL << 60);
}

}  // namespace
}  // namespace ratoon::amount_test
