#include "agent/src/mds/format/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/src/mds/format/digest.h"

namespace ratoon::mds::index_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kSha1 = {{"sha1", "52e19daa386daeff05b95e5c8edb3e97e538b9b2"}};

json shard(const std::string& basename = "shard.00000.mds", std::uint64_t samples = 3) {
  return {{"column_names", {"a", "b"}},
          {"column_encodings", {"int", "bytes"}},
          {"column_sizes", {8, nullptr}},
          {"compression", nullptr},
          {"format", "mds"},
          {"hashes", json::array()},
          {"raw_data", {{"basename", basename}, {"bytes", 242}, {"hashes", json::object()}}},
          {"samples", samples},
          {"size_limit", 67108864},
          {"version", 2},
          {"zip_data", nullptr}};
}

json with(json value, const std::string& pointer, const json& other) {
  value[json::json_pointer(pointer)] = other;
  return value;
}

json without(json value, const std::string& key) {
  value.erase(key);
  return value;
}

std::string index_of(const std::vector<json>& shards) {
  return json{{"shards", shards}, {"version", 2}}.dump();
}

TEST(Index, SaysWhatIsThere) {
  json zipped = with(with(shard("b/shard.00000.mds", 4294967295), "/compression", "zstd:7"), "/zip_data",
                     {{"basename", "b/shard.00000.mds.zstd"}, {"bytes", 99}, {"hashes", kSha1}});
  zipped = with(with(zipped, "/hashes", {"sha1"}), "/raw_data/hashes", kSha1);
  const auto index = parse_index(index_of({shard(), zipped}));
  ASSERT_TRUE(index) << index.error().message();
  const FileHash sha1{"sha1", kSha1["sha1"].get<std::string>()};
  EXPECT_EQ(index->shards[0], (ShardInfo{.samples = 3, .raw = {"shard.00000.mds", 242, {}}}));
  EXPECT_EQ(index->shards[1], (ShardInfo{.samples = 4294967295,
                                         .raw = {"b/shard.00000.mds", 242, {sha1}},
                                         .zip = FileInfo{"b/shard.00000.mds.zstd", 99, {sha1}},
                                         .compression = CompressionKind::kZstd}));
  EXPECT_EQ(index->columns.dataset_columns()[1].name, "b");
  EXPECT_EQ(index->columns.sizes()[0], 8u);
}

TEST(Index, AShardThatIsListedTwiceIsRefused) {
  const auto index = parse_index(index_of({shard("a.mds"), shard("b.mds"), shard("a.mds")}));
  ASSERT_FALSE(index);
  EXPECT_THAT(index.error().message(), HasSubstr("a.mds is listed twice"));
}

TEST(Index, MayHaveNoShards) {
  const auto index = parse_index(R"({"version": 2, "shards": []})");
  ASSERT_TRUE(index);
  EXPECT_TRUE(index->shards.empty());
}

TEST(Index, OfAKeyThatComesTwiceTheLastOneCountsAsInPython) {
  const std::string said = index_of({shard()});
  for (const std::string twice : {R"("column_names":["x","y","z"],)", R"("column_encodings":["str"],)",
                                  R"("column_sizes":[1,2,3],)", R"("hashes":["md5"],)", R"("samples":9,)",
                                  R"("raw_data":{"basename":"x","bytes":9,"hashes":{"md5":"0"}},)"}) {
    std::string text = said;
    text.insert(text.find('[') + 2, twice);
    const auto index = parse_index(text);
    ASSERT_TRUE(index) << twice << index.error().message();
    EXPECT_EQ(index->shards, parse_index(said)->shards) << twice;
    EXPECT_EQ(index->columns, parse_index(said)->columns) << twice;
  }
}

TEST(Index, KeysThatAreNotKnownAreLeftOut) {
  json extended = with(shard(), "/note", {{"deep", {1, {{"x", "y"}}, json::array()}}});
  extended["raw_data"]["etag"] = {1.5, true, -3, nullptr};
  const auto index = parse_index(with(json::parse(index_of({extended})), "/made_by", "someone").dump());
  ASSERT_TRUE(index) << index.error().message();
  EXPECT_EQ(index->shards, parse_index(index_of({shard()}))->shards);
}

// Streaming reads a size of 0 as one that varies.
TEST(Index, ASizeOfZeroVaries) {
  const auto index = parse_index(index_of({with(shard(), "/column_sizes", {0, nullptr})}));
  ASSERT_TRUE(index);
  EXPECT_EQ(index->columns.sizes()[0], 0u);
}

TEST(Index, NamesLeadNowhereButBelowTheFolder) {
  for (const char* name :
       {"a", "shard.00000.mds", "sub/shard.mds", "..a", "a..", "...", "a/..b/c", "\xc3\xbc"})
    EXPECT_TRUE(is_safe_basename(name)) << name;
  for (const char* name : {"", "/", "/etc/passwd", "..", "../a", "a/..", "a/../b", "a//b", "a/", ".", "./a",
                           "a/./b", "a\nb", "\x7f"})
    EXPECT_FALSE(is_safe_basename(name)) << name;
  EXPECT_FALSE(is_safe_basename(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_safe_basename(std::string(1025, 'a')));
}

struct Refused {
  std::string text;
  const char* sentence;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto index = parse_index(c.text);
    ASSERT_FALSE(index);
    EXPECT_EQ(index.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(index.error().message(), HasSubstr(c.sentence));
    EXPECT_LT(index.error().message().size(), 1000u);
  }
}

TEST(Index, OfAnotherShapeIsRefused) {
  expect_refused({
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "there is '[' in 'the index'"},
      {"3", "there is '3' in 'the index'"},
      {"{}", "the index has no list 'shards'"},
      {R"({"version": 2})", "the index has no list 'shards'"},
      {R"({"shards": []})", "the version is missing, but only version 2 is supported"},
      {R"({"shards": [], "version": 3})", "the version is 3, but only version 2 is supported"},
      {R"({"shards": [], "version": "2"})", "there is '2' in 'version'"},
      {R"({"shards": {}, "version": 2})", "there is '{' in 'shards'"},
      {R"({"shards": [], "shards": [], "version": 2})", "a second list of shards"},
      {R"({"shards": [3], "version": 2})", "there is '3' in 'shards'"},
      {R"({"shards": [], "version": 2, "x": )" + std::string(100, '[') + std::string(100, ']') + "}",
       "a list nested too deeply"},
      {index_of({shard()}) + "x", "not valid JSON"},
  });
}

TEST(Index, WithFilesThatCannotBeIsRefused) {
  const json sha = with(with(shard(), "/hashes", {"sha1"}), "/raw_data/hashes", kSha1);
  expect_refused({
      {index_of({shard(), with(shard(), "/version", 1)}), "shard 1: the version is 1"},
      {index_of({without(shard(), "version")}), "shard 0: the version is missing"},
      {index_of({with(shard(), "/format", "xsv")}), "the format is 'xsv', and only 'mds' is read"},
      {index_of({without(shard(), "format")}), "the format is ''"},
      {index_of({without(shard(), "samples")}), "'samples' must be a number below 2^32"},
      {index_of({with(shard(), "/samples", 4294967296)}), "'samples' must be a number below 2^32"},
      {index_of({with(shard(), "/samples", -1)}), "there is '-1' in 'samples'"},
      {index_of({with(shard(), "/samples", 1.5)}), "in 'samples', which is not allowed there"},
      {index_of({without(shard(), "raw_data")}), "'raw_data' is missing"},
      {index_of({with(shard(), "/raw_data", nullptr)}), "there is 'null' in 'raw_data'"},
      {index_of({with(shard(), "/raw_data/basename", "../x")}),
       "'raw_data' is called '../x'; a name must be relative"},
      {index_of({with(shard(), "/raw_data/basename", "")}), "'raw_data' is called ''"},
      {index_of({with(shard(), "/raw_data/bytes", 4294967296)}), "is given 4294967296 bytes"},
      {index_of({with(shard(), "/raw_data/hashes", {{"crc32", "00"}})}),
       "the hash 'crc32' is unknown; expected one of: blake2b,"},
      {index_of({with(shard(), "/raw_data/hashes", {{"shake_128", "00"}})}),
       "the hash 'shake_128' is unknown"},
      {index_of({with(shard(), "/raw_data/hashes", {{"xxh32", "0011223"}})}),
       "must be 8 lower-case hexadecimal digits"},
      {index_of({with(shard(), "/raw_data/hashes", {{"xxh32", "0011223G"}})}),
       "must be 8 lower-case hexadecimal digits"},
      {index_of({with(shard(), "/raw_data/hashes", {{"xxh32", 7}})}), "there is '7' in 'hashes'"},
      {index_of({with(sha, "/hashes", {"md5", "sha1"})}),
       "'hashes' lists md5, but shard.00000.mds has no md5"},
  });
}

TEST(Index, WithUnknownContentIsRefused) {
  const json zip = {{"basename", "x.zstd"}, {"bytes", 9}, {"hashes", json::object()}};
  expect_refused({
      {index_of({with(shard(), "/compression", "lz4")}),
       "the compression 'lz4' is unknown; there are br:0 to br:11"},
      {index_of({with(shard(), "/compression", "zstd:23")}), "the compression 'zstd:23' is unknown"},
      {index_of({with(shard(), "/compression", "zstd")}),
       "'compression' and 'zip_data' must both exist, or neither"},
      {index_of({with(shard(), "/zip_data", zip)}),
       "'compression' and 'zip_data' must both exist, or neither"},
      {index_of({with(with(shard(), "/compression", "zstd"), "/zip_data", with(zip, "/basename", "/x"))}),
       "'zip_data' is called '/x'"},
      {index_of({with(shard(), "/column_names", {"a"})}),
       "there are 1 column names, 2 encodings and 2 sizes"},
      {index_of({with(shard(), "/column_sizes", {8})}), "2 encodings and 1 sizes"},
      {index_of({with(shard(), "/column_sizes", {4, nullptr})}), "'int' takes 8 bytes, but the index says 4"},
      {index_of({with(shard(), "/column_sizes", {4294967296, nullptr})}), "a column has 4294967296 bytes"},
      {index_of({with(shard(), "/column_names", {"a", "a"})}), "column 'a': two columns have this name"},
      {index_of({with(shard(), "/column_names", {"a", 3})}), "there is '3' in 'column_names'"},
      {index_of({with(shard(), "/column_encodings", {"int", "pkl"})}),
       "column 'b': the encoding 'pkl' is refused"},
      {index_of({with(shard(), "/column_encodings", {"int", "tiff"})}),
       "column 'b': the encoding 'tiff' is not one"},
      {index_of({shard(), with(shard(), "/column_names", {"a", "c"})}),
       "shard 1: the shard's columns are not those of shard 0"},
      {index_of({shard(), with(shard(), "/column_encodings", {"int", "str"})}), "not those of shard 0"},
      {index_of({shard(), with(shard(), "/column_sizes", {nullptr, nullptr})}), "not those of shard 0"},
  });
}

TEST(Index, FoldersFollowEachOther) {
  Index all;
  ASSERT_TRUE(append_shards(all, *parse_index(index_of({})), 0));
  ASSERT_TRUE(append_shards(all, *parse_index(index_of({shard("x", 1)})), 1));
  ASSERT_TRUE(append_shards(all, *parse_index(index_of({shard("y", 2), shard("z", 3)})), 2));
  ASSERT_TRUE(append_shards(all, *parse_index(index_of({})), 3));
  ASSERT_EQ(all.shards.size(), 3u);
  EXPECT_EQ(all.shards[0].source, 1u);
  EXPECT_EQ(all.shards[2].source, 2u);
  EXPECT_EQ(all.shards[2].samples, 3u);
  EXPECT_FALSE(append_shards(all, *parse_index(index_of({with(shard(), "/column_names", {"a", "c"})})), 4));
}

// The text is that of docs/reference/mds.md, hashed with sha256sum.
TEST(Digest, IsWhatTheFormatSays) {
  const json one = with(with(with(shard("s", 3226), "/raw_data/bytes", 419382), "/raw_data/hashes", kSha1),
                        "/column_names", {"label", "x"});
  const auto narrow = [](json value) {
    value["column_names"] = {"label"};
    value["column_encodings"] = {"int"};
    value["column_sizes"] = {8};
    return value;
  };
  EXPECT_EQ(digest_of(*parse_index(index_of({narrow(one)}))).value(),
            "a413ba61b6f29b0ea9e37b06289b5f3fe70d84d07f6cf2abc550de77728b4f0f");
}

TEST(Digest, NamesContentAndNotPlaces) {
  const json zip = {{"basename", "q.zstd"}, {"bytes", 9}, {"hashes", json::object()}};
  const auto digest = [](const std::vector<json>& shards) {
    return digest_of(*parse_index(index_of(shards))).value();
  };
  const std::string plain = digest({shard()});
  EXPECT_EQ(digest({shard("elsewhere/s")}), plain);
  EXPECT_EQ(digest({with(shard(), "/size_limit", nullptr)}), plain);
  EXPECT_EQ(digest({with(with(shard(), "/compression", "zstd"), "/zip_data", zip)}), plain);
  EXPECT_EQ(digest({shard("empty", 0), shard()}), plain);
  EXPECT_NE(digest({shard("s", 4)}), plain);
  EXPECT_NE(digest({shard(), shard("another")}), plain);
  EXPECT_NE(digest({with(shard(), "/raw_data/bytes", 243)}), plain);
  EXPECT_NE(digest({with(shard(), "/raw_data/hashes", kSha1)}), plain);
  EXPECT_NE(digest({with(shard(), "/column_names", {"a", "c"})}), plain);
  EXPECT_NE(digest({with(shard(), "/column_encodings", {"int64", "bytes"})}), plain);
}

}  // namespace
}  // namespace ratoon::mds::index_test
