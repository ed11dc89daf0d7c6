#include "agent/src/devices/xids.h"

#include <set>

#include <gtest/gtest.h>

namespace ratoon::devices::xids_test {
namespace {

TEST(Xids, ThoseOfBrokenHardwareAreFatal) {
  const std::set<std::uint64_t> fatal = {46,  48,  62,  64,  74,  79,  94,  95,  110, 119, 120, 136, 140, 143,
                                         144, 145, 146, 147, 148, 149, 150, 151, 155, 156, 158, 160, 162};
  for (std::uint64_t xid = 0; xid < 1100; ++xid) EXPECT_EQ(is_fatal_xid(xid), fatal.contains(xid)) << xid;
}

TEST(Xids, ThoseThatAProgramsKernelCausesAreNot) {
  for (const std::uint64_t xid : {13U, 31U, 43U, 45U, 109U}) {
    EXPECT_FALSE(is_fatal_xid(xid)) << xid;
    EXPECT_NE(describe_xid(xid), "") << xid;
  }
}

TEST(Xids, EachFatalOneHasASentence) {
  for (std::uint64_t xid = 0; xid < 1100; ++xid)
    EXPECT_TRUE(!is_fatal_xid(xid) || !describe_xid(xid).empty()) << xid;
  EXPECT_EQ(describe_xid(999), "");
}

}  // namespace
}  // namespace ratoon::devices::xids_test
