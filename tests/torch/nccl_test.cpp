#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/torch/nccl.h>

namespace ratoon::nccl_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Nccl, IsLoadedAndFitsWhatWeCompiledAgainst) {
  const auto versions = nccl_versions();
  ASSERT_TRUE(versions) << versions.error().message();
  EXPECT_EQ(versions->compiled.major, 2);
  EXPECT_GE(versions->loaded, versions->compiled);
  EXPECT_TRUE(check_nccl(*versions));
}

TEST(Nccl, ReadsBothFormsOfItsVersionNumber) {
  EXPECT_EQ(nccl_version_from_code(22809), (NcclVersion{2, 28, 9}));
  EXPECT_EQ(nccl_version_from_code(20903), (NcclVersion{2, 9, 3}));
  EXPECT_EQ(nccl_version_from_code(2708), (NcclVersion{2, 7, 8}));
  EXPECT_EQ(to_string({2, 28, 9}), "2.28.9");
}

TEST(Nccl, TakesTheSameOrALaterOneOfTheSameMajorVersion) {
  const NcclVersion compiled{2, 28, 9};
  EXPECT_TRUE(check_nccl({compiled, compiled}));
  EXPECT_TRUE(check_nccl({compiled, {2, 28, 10}}));
  EXPECT_TRUE(check_nccl({compiled, {2, 30, 0}}));
  EXPECT_FALSE(check_nccl({compiled, {2, 28, 8}}));
  EXPECT_FALSE(check_nccl({compiled, {2, 27, 12}}));
  EXPECT_FALSE(check_nccl({compiled, {3, 0, 0}}));
  EXPECT_FALSE(check_nccl({compiled, {1, 30, 0}}));

  const auto older = check_nccl({compiled, {2, 27, 3}});
  EXPECT_THAT(older.error().message(),
              AllOf(HasSubstr("NCCL 2.27.3"), HasSubstr("2.28.9"), HasSubstr("LD_LIBRARY_PATH")));
}

}  // namespace
}  // namespace ratoon::nccl_test
