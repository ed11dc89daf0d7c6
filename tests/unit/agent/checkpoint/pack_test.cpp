#include "agent/src/checkpoint/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::checkpoint {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string with_length(std::uint64_t header_bytes, const std::string& rest) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((header_bytes >> (8 * i)) & 0xff);
  return out + rest;
}

std::string pack_of(const std::string& header, const std::string& data = "") {
  return with_length(header.size(), header + data);
}

std::string tensor(const std::string& name, std::size_t begin, std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(end - begin) +
         "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(Pack, SurvivesARoundTrip) {
  const NamedStates cases[] = {{},
                               {{"sum", std::string("\0\1\2\xff", 4)}},
                               {{"a", ""}, {"b", "x"}, {"c", ""}},
                               {{"large", std::string(100'000, 'q')}, {"name with \"quotes\" \\ /", "1"}}};
  for (const auto& states : cases) EXPECT_EQ(decode_pack(encode_pack(states)).value(), states);
}

// What the safetensors library checks: header length, JSON that begins with '{', offsets without holes; and
// our own promise that data begins where a page does.
TEST(Pack, IsAPlainSafetensorsFile) {
  const std::string pack = encode_pack({{"a", "xyz"}, {"b", std::string(5000, 'b')}});
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 8; i-- > 0;) header_bytes = header_bytes << 8 | static_cast<unsigned char>(pack[i]);
  EXPECT_EQ((8 + header_bytes) % 4096, 0u);
  const std::string header = pack.substr(8, header_bytes);
  EXPECT_EQ(header.front(), '{');
  EXPECT_EQ(header.back(), ' ');
  EXPECT_EQ(json::parse(header), json::parse("{" + tensor("a", 0, 3) + "," + tensor("b", 3, 5003) + "}"));
  EXPECT_EQ(pack.size(), 8 + header_bytes + 5003);
  EXPECT_EQ(pack.substr(8 + header_bytes, 3), "xyz");
}

TEST(Pack, HeadersThatJustFillTheirPageNeedNoMore) {
  for (std::size_t length = 3900; length < 4100; ++length) {
    const NamedStates states = {{std::string(length, 'n'), "data"}};
    const std::string pack = encode_pack(states);
    EXPECT_EQ((pack.size() - 4) % 4096, 0u);
    EXPECT_EQ(decode_pack(pack).value(), states);
  }
}

TEST(Pack, ForeignMetadataIsLeftOut) {
  const auto states =
      decode_pack(pack_of("{\"__metadata__\":{\"format\":\"pt\"}," + tensor("a", 0, 2) + "}", "hi"));
  EXPECT_EQ(states.value(), (NamedStates{{"a", "hi"}}));
}

TEST(Pack, IsRefusedWithWhatIsWrong) {
  const struct {
    const char* name;
    std::string bytes;
    const char* sentence;
  } cases[] = {
      {"nothing", "", "it has only 0 bytes"},
      {"seven bytes", "1234567", "it has only 7 bytes"},
      {"a header longer than the file", with_length(3, "{}"), "its header claims 3 bytes"},
      {"a header as long as can be said", with_length(~0ULL, "{}"),
       "its header claims 18446744073709551615 bytes"},
      {"a header over the limit", with_length(100'000'001, "{}"), "its header claims 100000001 bytes"},
      {"a header cut short", with_length(1, "{}"), "not valid JSON"},
      {"no header", with_length(0, ""), "not valid JSON"},
      {"no JSON", pack_of("hello"), "not valid JSON"},
      {"not an object", pack_of("[1]"), "its header is not an object"},
      {"deep JSON", pack_of("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
       "nested deeper than 6 levels"},
      {"an overlap", pack_of("{" + tensor("a", 0, 3) + "," + tensor("b", 2, 4) + "}", "1234"),
       "tensor 'b' leaves a hole"},
      {"the same bytes twice", pack_of("{" + tensor("a", 0, 4) + "," + tensor("b", 0, 4) + "}", "1234"),
       "tensor 'b' leaves a hole"},
      {"a hole", pack_of("{" + tensor("a", 0, 1) + "," + tensor("b", 2, 4) + "}", "1234"),
       "tensor 'b' leaves a hole"},
      {"a hole at the beginning", pack_of("{" + tensor("a", 1, 4) + "}", "1234"), "tensor 'a' leaves a hole"},
      {"past the end", pack_of("{" + tensor("a", 0, 5) + "}", "1234"), "reaches past the end"},
      {"bytes that nobody claims", pack_of("{" + tensor("a", 0, 3) + "}", "1234"),
       "bytes follow the last tensor"},
      {"backwards", pack_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[4,0]}})", "1234"),
       "tensor 'a'"},
      {"another type", pack_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"),
       "not described as U8"},
      {"a type that is no text", pack_of(R"({"a":{"dtype":5,"shape":[4],"data_offsets":[0,4]}})", "1234"),
       "not described as U8"},
      {"a shape of another size", pack_of(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})", "1234"),
       "not described as U8"},
      {"no shape", pack_of(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", "1234"), "not described as U8"},
      {"no offsets", pack_of(R"({"a":{"dtype":"U8","shape":[4]}})", "1234"), "not described as U8"},
      {"one offset", pack_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", "1234"),
       "not described as U8"},
      {"negative offsets", pack_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", "1234"),
       "not described as U8"},
      {"an offset that wraps around",
       pack_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615]}})", "1234"),
       "tensor 'a'"},
      {"a tensor that is no object", pack_of(R"({"a":4})", "1234"), "not described as U8"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto states = decode_pack(c.bytes);
    ASSERT_FALSE(states);
    EXPECT_EQ(states.error().kind(), ErrorKind::kCorrupted);
    EXPECT_THAT(states.error().message(), testing::StartsWith("not a sound pack: "));
    EXPECT_THAT(states.error().message(), HasSubstr(c.sentence));
  }
}

}  // namespace
}  // namespace ratoon::checkpoint
