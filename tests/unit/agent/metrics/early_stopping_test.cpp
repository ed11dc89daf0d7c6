#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/session/early_stopping.h>

#include "tests/support/damaged_state.h"

namespace ratoon::early_stopping_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(EarlyStopping, IsOverAfterSoManyValuesThatAreNotBetter) {
  EarlyStopping patience({.patience = 2});
  EXPECT_FALSE(patience.has_best());
  EXPECT_FALSE(patience.is_over(3));
  EXPECT_FALSE(patience.is_over(4));
  EXPECT_FALSE(patience.is_over(2));
  EXPECT_FALSE(patience.is_over(2)) << "an equal value is not better";
  EXPECT_TRUE(patience.is_over(2.5));
  EXPECT_EQ(patience.best(), 2);
  EXPECT_EQ(patience.values_since_best(), 2U);
  EXPECT_FALSE(patience.is_over(1)) << "a better value begins anew";
}

TEST(EarlyStopping, CountsOnlyChangesThatAreLargeEnough) {
  EarlyStopping patience({.patience = 1, .min_delta = 0.5, .is_lower_better = false});
  EXPECT_FALSE(patience.is_over(1));
  EXPECT_TRUE(patience.is_over(1.5));
  EXPECT_FALSE(patience.is_over(1.75)) << "more than 0.5 above the best";
}

TEST(EarlyStopping, TakesWhatIsNotANumberForNoImprovement) {
  EarlyStopping patience({.patience = 2});
  EXPECT_FALSE(patience.is_over(kNaN));
  EXPECT_FALSE(patience.has_best());
  EXPECT_FALSE(patience.is_over(kInfinity));
  EXPECT_FALSE(patience.is_over(kNaN));
  EXPECT_TRUE(patience.is_over(kNaN));
}

TEST(EarlyStopping, WithoutPatienceEndsAtTheFirstValueThatIsNotBetter) {
  EarlyStopping patience({.patience = 0});
  EXPECT_FALSE(patience.is_over(1));
  EXPECT_TRUE(patience.is_over(1));
}

TEST(EarlyStopping, GoesOnFromItsState) {
  EarlyStopping patience({.patience = 2});
  static_cast<void>(patience.is_over(0.1));
  static_cast<void>(patience.is_over(7));
  EarlyStopping resumed({.patience = 2});
  resumed.load_state(patience.save_state());
  EXPECT_EQ(resumed.best(), 0.1);
  EXPECT_EQ(resumed.save_state(), patience.save_state());
  EXPECT_TRUE(resumed.is_over(8));
}

TEST(EarlyStopping, RefusesStatesThatAreDamaged) {
  EarlyStopping patience({.patience = 2});
  static_cast<void>(patience.is_over(0.1));
  const std::string state = patience.save_state();
  test::expect_that_no_damage_loads(state, [&](const std::string& damaged) { patience.load_state(damaged); });
  EXPECT_THROW(patience.load_state(""), Failure);
  EXPECT_EQ(patience.save_state(), state) << "nothing is taken of them";
}

TEST(EarlyStopping, RefusesADifferenceThatIsNone) {
  EXPECT_THROW(EarlyStopping({.min_delta = -1}), std::invalid_argument);
  EXPECT_THROW(EarlyStopping({.min_delta = kNaN}), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::early_stopping_test
