#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ratoon/result.h>

namespace ratoon::result_test {
namespace {

Result<int> parse_digit(const std::string& text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '9')
    return Error(ErrorKind::kInvalid, "not a digit: " + text);
  return text[0] - '0';
}

// The function is not inlined: g++ 12 would warn of an Error that does not exist (-Wmaybe-uninitialized, a
// false alarm).
[[gnu::noinline]] Result<std::unique_ptr<int>> make_owner(int value) {
  return std::make_unique<int>(value);
}

TEST(Result, HoldsAValue) {
  const Result<int> result = parse_digit("7");
  ASSERT_TRUE(result);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(result.value(), 7);
  EXPECT_EQ(result.value_or(1), 7);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = parse_digit("x");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), Error(ErrorKind::kInvalid, "not a digit: x"));
  EXPECT_EQ(result.value_or(1), 1);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result = make_owner(3);
  EXPECT_EQ(**result, 3);
  *result.value() = 4;
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 4);
}

TEST(Result, IsMovedAndReachedInto) {
  Result<std::string> result = std::string("abc");
  EXPECT_EQ(result->size(), 3u);
  result->push_back('d');
  const Result<std::string> moved = std::move(result);
  EXPECT_EQ(moved->size(), 4u);
  EXPECT_EQ(*moved, "abcd");
}

TEST(Result, MayHoldAnErrorLikeTypeAsItsValue) {
  const Result<std::vector<int>> empty = std::vector<int>{};
  EXPECT_TRUE(empty) << "an empty value is no error";
}

TEST(Result, AndThenChainsAndStopsAtTheFirstError) {
  int calls = 0;
  const auto next_digit = [&calls](int digit) -> Result<int> {
    ++calls;
    return parse_digit(std::to_string(digit + 1));
  };
  EXPECT_EQ(*parse_digit("7").and_then(next_digit).and_then(next_digit), 9);
  EXPECT_EQ(calls, 2);
  const Result<int> failed = parse_digit("9").and_then(next_digit).and_then(next_digit);
  EXPECT_EQ(failed.error().message(), "not a digit: 10");
  EXPECT_EQ(calls, 3) << "the second step is not reached";
}

TEST(Result, AndThenMovesTheValueOn) {
  Result<std::unique_ptr<int>> owner = make_owner(3);
  const Result<int> read =
      std::move(owner).and_then([](std::unique_ptr<int> p) -> Result<int> { return *p; });
  EXPECT_EQ(*read, 3);
}

TEST(Result, OfVoid) {
  const Result<void> good;
  EXPECT_TRUE(good);
  const Result<void> bad = Error(ErrorKind::kIo, "disk");
  EXPECT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message(), "disk");
}

TEST(ResultDeathTest, StopsWhereTheWrongSideIsRead) {
  Result<int> failed = Error(ErrorKind::kIo, "disk");
  const Result<int> good = 1;
  EXPECT_DEATH((void)failed.value(), "");
  EXPECT_DEATH((void)*failed, "");
  EXPECT_DEATH((void)*std::as_const(failed), "");
  EXPECT_DEATH((void)*std::move(failed), "");
  EXPECT_DEATH((void)good.error(), "");
  EXPECT_DEATH((void)Result<void>().error(), "");
  Result<std::string> text = Error(ErrorKind::kIo, "disk");
  EXPECT_DEATH((void)text->size(), "");
}

TEST(Error, ContextStandsBeforeTheMessage) {
  const Error error =
      Error(ErrorKind::kNotFound, "no such file").with_context("reading a").with_context("loading b");
  EXPECT_EQ(error.message(), "loading b: reading a: no such file");
  EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
}

TEST(Error, KindsHaveNamesAndSomeAreRetryable) {
  EXPECT_EQ(name_of(ErrorKind::kInvalid), "invalid");
  EXPECT_EQ(name_of(ErrorKind::kIo), "io");
  EXPECT_EQ(static_cast<int>(ErrorKind::kIo), 10) << "the numbers appear in metrics";
  for (const auto kind : {ErrorKind::kUnavailable, ErrorKind::kTimeout, ErrorKind::kConflict}) {
    EXPECT_TRUE(Error(kind, "").is_retryable()) << name_of(kind);
  }
  for (const auto kind :
       {ErrorKind::kInvalid, ErrorKind::kNotFound, ErrorKind::kCorrupted, ErrorKind::kCancelled}) {
    EXPECT_FALSE(Error(kind, "").is_retryable()) << name_of(kind);
  }
}

TEST(Error, OfASystemCall) {
  const Error missing = system_error(ENOENT, "open a.json");
  EXPECT_EQ(missing, Error(ErrorKind::kNotFound, "open a.json: No such file or directory"));
  EXPECT_EQ(system_error(ENOSPC, "").kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(system_error(ECONNREFUSED, "").kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(system_error(EACCES, "").kind(), ErrorKind::kPermissionDenied);
  EXPECT_EQ(system_error(ETIMEDOUT, "").kind(), ErrorKind::kTimeout);
  EXPECT_EQ(system_error(EIO, "").kind(), ErrorKind::kIo);
  for (const int number : {EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(system_error(number, "").kind(), ErrorKind::kUnavailable) << "no disk is bad for it";
}

TEST(Error, OfAVolumeThatTakesNothingSaysTheWayOn) {
  EXPECT_EQ(system_error(ENOSPC, "writing a").message(),
            "writing a: No space left on device; free space on that volume, or use another volume");
  for (const int number : {EDQUOT, EROFS})
    EXPECT_NE(system_error(number, "").message().find("; "), std::string::npos) << number;
}

}  // namespace
}  // namespace ratoon::result_test
