#include "base/contract/exit_code.h"

#include <map>

#include <gtest/gtest.h>

namespace ratoon::exit_code_test {
namespace {

// A cause that may pass has a code after which the operator starts the process again.
TEST(ExitCode, EachKindOfErrorHasItsCodeInEveryProgram) {
  const std::map<ErrorKind, int> table = {
      {ErrorKind::kInvalid, 82},          {ErrorKind::kNotFound, 82},  {ErrorKind::kAlreadyExists, 82},
      {ErrorKind::kConflict, 82},         {ErrorKind::kCorrupted, 83}, {ErrorKind::kIo, 84},
      {ErrorKind::kNoSpace, 84},          {ErrorKind::kTimeout, 84},   {ErrorKind::kUnavailable, 84},
      {ErrorKind::kPermissionDenied, 84}, {ErrorKind::kCancelled, 84},
  };
  for (const auto& [kind, code] : table)
    EXPECT_EQ(static_cast<int>(exit_code_of(kind)), code) << name_of(kind);
}

}  // namespace
}  // namespace ratoon::exit_code_test
