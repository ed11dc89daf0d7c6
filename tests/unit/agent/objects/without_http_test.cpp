// The errors of a build without HTTP about stores that need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/object_store.h"

namespace ratoon::objects::without_http_test {
namespace {

TEST(WithoutHttpTest, RemoteStoresAreRefusedWithASentence) {
  for (const std::string uri : {"s3://bucket/x", "https://host/x", "http://host/x"}) {
    const auto store = open_store(uri, {});
    ASSERT_FALSE(store) << uri;
    EXPECT_EQ(store.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(store.error().message(), testing::StartsWith("the store " + uri +
                                                             " cannot be reached: this program was built "
                                                             "without HTTP"));
  }
  EXPECT_TRUE(open_store("folder", {}));
}

}  // namespace
}  // namespace ratoon::objects::without_http_test
