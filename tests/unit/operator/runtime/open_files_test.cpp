#include "operator/runtime/members/open_files.h"

#include <limits>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ratoon::runtime::open_files_test {
namespace {

TEST(RaiseOpenFiles, AsFarAsItGoes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_open_file_limit(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ConnectionsOfMembers, OfANamespaceAreHalfOfTheFilesAndNoMoreThanTheLargestJobHas) {
  const auto each = [](std::size_t open_files) { return connections_of_members(open_files).each_namespace; };
  EXPECT_EQ(each(1024), 512u);
  EXPECT_EQ(each(262'144), 131'072u);
  EXPECT_EQ(each(1'048'576), 131'072u);
  EXPECT_EQ(each(std::numeric_limits<std::size_t>::max()), 131'072u) << "no limit at all";
}

TEST(ConnectionsOfMembers, LeavePlacesBesideTheLargestNamespace) {
  EXPECT_EQ(connections_of_members(1024).all, 640u);
  EXPECT_EQ(connections_of_members(262'144).all, 163'840u);
}

}  // namespace
}  // namespace ratoon::runtime::open_files_test
