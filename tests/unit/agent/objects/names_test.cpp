// The valid names of stores, objects and files of a cache.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/cache/cache_name.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/store_uri.h"

namespace ratoon::objects::names_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(StoreUriTest, TakesFoldersApart) {
  EXPECT_EQ(parse_store_uri("data/digits/").value(),
            (StoreUri{.path = "data/digits", .shown = "data/digits"}));
  EXPECT_EQ(parse_store_uri("/").value().path, "/");
  EXPECT_EQ(parse_store_uri("file:///data/a%20b/").value(),
            (StoreUri{.path = "/data/a b", .shown = "file:///data/a b"}));
  EXPECT_EQ(parse_store_uri("file://localhost/data").value().path, "/data");
  // Names of folders that only look like something else.
  EXPECT_EQ(parse_store_uri("data:1/x://y").value().path, "data:1/x://y");
}

TEST(StoreUriTest, TakesBucketsApart) {
  EXPECT_EQ(parse_store_uri("s3://my-bucket").value(),
            (StoreUri{.scheme = StoreScheme::kS3, .bucket = "my-bucket", .shown = "s3://my-bucket"}));
  EXPECT_EQ(
      parse_store_uri("s3://my.bucket/a/b/").value(),
      (StoreUri{
          .scheme = StoreScheme::kS3, .path = "a/b", .bucket = "my.bucket", .shown = "s3://my.bucket/a/b"}));
  EXPECT_EQ(parse_store_uri("s3://my-bucket/").value().shown, "s3://my-bucket");
}

TEST(StoreUriTest, NeverShowsWhatMayBeSecret) {
  const auto uri = parse_store_uri("https://host:8443/data/?signature=geheim").value();
  EXPECT_EQ(uri, (StoreUri{.scheme = StoreScheme::kHttp,
                           .path = "https://host:8443/data",
                           .query = "signature=geheim",
                           .shown = "https://host:8443/data"}));
  const auto refused = parse_store_uri("https://user:geheim@host/data");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::Not(HasSubstr("geheim")));
}

TEST(StoreUriTest, RefusesWithASentence) {
  for (const auto& [text, problem] : {std::pair("", "is empty"),
                                      {"gs://bucket/x", "scheme that is not known"},
                                      {"s3://", "does not name a bucket"},
                                      {"s3://a", "does not name a bucket"},
                                      {"s3://bu cket/x", "does not name a bucket"},
                                      {"s3://bucket//x", "is absolute"},
                                      {"s3://bucket/a/../x", "would lead out of the store"},
                                      {"file://elsewhere/data", "names another machine"},
                                      {"file:///a%2", "needs two hexadecimal digits"},
                                      {"file:///a%00b", "needs two hexadecimal digits"},
                                      {"https://", "does not name a host"}}) {
    const auto uri = parse_store_uri(text);
    ASSERT_FALSE(uri) << text;
    EXPECT_EQ(uri.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(uri.error().message(), HasSubstr(problem)) << text;
    EXPECT_THAT(uri.error().message(), HasSubstr("; expected ")) << text;
  }
}

TEST(ObjectKeyTest, LeadsNowhereElse) {
  for (const std::string& good :
       std::vector<std::string>{"a", "a/b.c", "..a/b..", "a b/é", ".hidden", std::string(1024, 'k')})
    EXPECT_TRUE(check_key(good, "s3://b")) << good;
  for (const std::string& bad :
       {std::string(), std::string("/etc/passwd"), std::string("../x"), std::string("a/.."),
        std::string("a/../../x"), std::string("./a"), std::string("a//b"), std::string("a/"),
        std::string("a\0b", 3), std::string("a\nb"), std::string(1025, 'k')}) {
    const auto checked = check_key(bad, "s3://b");
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(checked.error().message(), HasSubstr("s3://b"));
    EXPECT_THAT(checked.error().message(), testing::Not(HasSubstr("\n")));
  }
}

TEST(ObjectKeyTest, PrefixesMayStopAnywhere) {
  for (const std::string good : {"", "a", "a/", "a/b", "a/.", "a/.."})
    EXPECT_TRUE(check_prefix(good, "s3://b")) << good;
  for (const std::string bad : {"/a", "../a", "a//", "a/../b"})
    EXPECT_FALSE(check_prefix(bad, "s3://b")) << bad;
}

TEST(ObjectKeyTest, JoinsWithOneSlash) {
  EXPECT_EQ(join_uri("s3://b", "a/c"), "s3://b/a/c");
  EXPECT_EQ(join_uri("/", "a"), "/a");
}

TEST(CacheNameTest, StaysInItsFolderAndTellsObjectsApart) {
  const std::string name = object_name({"s3://bucket/train/shard.00007.mds", "v1"});
  EXPECT_THAT(name, testing::MatchesRegex("[0-9a-f]{32}-shard.00007.mds.object"));
  EXPECT_NE(name, object_name({"s3://bucket/train/shard.00007.mds", "v2"}));
  EXPECT_NE(name, object_name({"s3://other/train/shard.00007.mds", "v1"}));
  EXPECT_EQ(name, object_name({"s3://bucket/train/shard.00007.mds", "v1"}));
  const std::string long_name = "s3://bucket/" + std::string(70, 'a');  // of which the end is shown
  EXPECT_NE(object_name({long_name, "aaa"}), object_name({long_name + "aaa", ""}));
  for (const std::string& source :
       std::vector<std::string>{"../..", "/", "a/..", "a b\nc", "é", std::string(3000, 'x')}) {
    const std::string other = object_name({source, ""});
    EXPECT_EQ(other.find_first_of(std::string("/\n \0", 4)), std::string::npos) << other;
    EXPECT_LE(other.size(), 120u);
    EXPECT_EQ(parse_cache_name(other), CacheNameKind::kObject);
  }
}

TEST(CacheNameTest, KnowsItsOwn) {
  const std::string name = object_name({"a/b.part", ""});
  EXPECT_EQ(parse_cache_name(name), CacheNameKind::kObject);
  EXPECT_EQ(parse_cache_name(part_name(name)), CacheNameKind::kPart);
  EXPECT_EQ(parse_cache_name(part_name(name, "0123")), CacheNameKind::kPart);
  EXPECT_NE(part_name(name), part_name(name, "0123"));
  for (const std::string strange : {"", "lock", "model.part", "0123-x.object", "holiday.object"})
    EXPECT_EQ(parse_cache_name(strange), std::nullopt) << strange;
}

}  // namespace
}  // namespace ratoon::objects::names_test
