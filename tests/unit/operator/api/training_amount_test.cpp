#include "operator/api/training_amount.h"

#include <gtest/gtest.h>

#include <ratoon/amount.h>

namespace ratoon::api::training_amount_test {
namespace {

// tests/charts/crd_source_test.py holds the definition's pattern against both lists.
constexpr const char* kTrainingAmountFormat[] = {"90ep",
                                                 "0.25ep",
                                                 "5000st",
                                                 "500ba",
                                                 "1000sp",
                                                 "999999999999st",
                                                 "999999999999.999999ep",
                                                 "0.000001ep",
                                                 "45s",
                                                 "10m",
                                                 "2h",
                                                 "1d",
                                                 "1h30m",
                                                 "1d2h3m4.5s",
                                                 "1d4s",
                                                 "1.1h",
                                                 "0.5d",
                                                 "9999d99999h9999999m999999999.999999s",
                                                 "007ep",
                                                 "0h1m"};
constexpr const char* kNone[] = {"",
                                 "500",
                                 "ep",
                                 "0ep",
                                 "0s",
                                 "0.0ep",
                                 "0h0m",
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
                                 "1/3ep",
                                 "nan",
                                 "300000000000s",
                                 "1h30",
                                 "1st2",
                                 "12",
                                 "1h.5m",
                                 "1..5ep"};

TEST(TrainingAmount, IsWhatTheAgentTakes) {
  for (const char* text : kTrainingAmountFormat) {
    EXPECT_TRUE(is_training_amount(text)) << text;
    EXPECT_TRUE(parse_amount(text)) << text << " would end every process with exit code 82";
  }
}

TEST(TrainingAmount, IsNothingThatTheAgentRefuses) {
  for (const char* text : kNone) {
    EXPECT_FALSE(is_training_amount(text)) << text;
    EXPECT_FALSE(parse_amount(text)) << text;
  }
}

}  // namespace
}  // namespace ratoon::api::training_amount_test
