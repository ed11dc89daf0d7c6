#include "agent/src/checkpoint/pack/header/header.h"

#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::checkpoint::header_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using enum ElementType;

std::string with_length(std::uint64_t json_bytes, const std::string& rest) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((json_bytes >> (8 * i)) & 0xff);
  return out + rest;
}

std::string page_of(std::string text) {
  text.resize((text.size() + 8 + 4095) / 4096 * 4096 - 8, ' ');
  return with_length(text.size(), text);
}

struct Sample {
  PackLayout layout;
  std::vector<std::uint32_t> crcs;
  std::vector<Hash128> hashes;
  std::string header;
};

Sample sample() {
  const std::vector<TensorSpec> specs = {{"w", kFloat32, {2, 16}, TensorBox{{4, 0}, {8, 16}}},
                                         {"name \"\\/\n\x01\u00e9", kUint8, {kPackBlockBytes}},
                                         {"none", kInt64, {0, 5}},
                                         {"one", kFloat64, {}}};
  Sample made{.layout = plan_pack(specs).value()};
  made.crcs = {0x0123abcd, 0xffffffff};
  for (std::uint64_t i = 0; i < specs.size(); ++i) made.hashes.push_back({i << 60 | 7, ~i});
  made.header = encode_header(made.layout, made.crcs, made.hashes);
  return made;
}

json json_of(const std::string& header) {
  return json::parse(header.substr(8));
}

std::string complaint_about(const std::string& header, std::uint64_t file_bytes,
                            ErrorKind kind = ErrorKind::kCorrupted) {
  const auto decoded = decode_header(header, file_bytes);
  if (decoded) return "";
  EXPECT_EQ(decoded.error().kind(), kind);
  return decoded.error().message();
}

// The message about the sample's header after a change of its JSON.
std::string complaint_after(const std::function<void(json&)>& change,
                            ErrorKind kind = ErrorKind::kCorrupted) {
  const Sample made = sample();
  json header = json_of(made.header);
  change(header);
  const std::string text = page_of(header.dump());
  return complaint_about(text, text.size() + made.layout.data_bytes, kind);
}

// The same without metadata, by the reader of foreign files.
std::string foreign_complaint(const std::string& json_text, std::uint64_t data_bytes) {
  const auto decoded =
      decode_foreign_header(with_length(json_text.size(), json_text), 8 + json_text.size() + data_bytes);
  return decoded ? "" : decoded.error().message();
}

TEST(PackHeader, SurvivesARoundTrip) {
  const Sample made = sample();
  EXPECT_EQ(made.header.size(), made.layout.header_bytes);
  EXPECT_EQ(header_bytes_of(made.header, made.layout.file_bytes()).value(), made.layout.header_bytes);
  const PackHeader decoded = decode_header(made.header, made.layout.file_bytes()).value();
  EXPECT_EQ(decoded.layout, made.layout);
  EXPECT_EQ(decoded.block_crcs, made.crcs);
  EXPECT_EQ(decoded.hashes, made.hashes);
}

TEST(PackHeader, SaysWhoseThePackIs) {
  const std::vector<TensorSpec> specs = {{"one", kFloat64, {}}};
  const PackLayout layout = plan_pack(specs, "team \"a\" of 6f1c").value();
  const std::vector<std::uint32_t> crcs = {7};
  const std::vector<Hash128> hashes = {{1, 2}};
  const std::string header = encode_header(layout, crcs, hashes);
  EXPECT_EQ(json_of(header)["__metadata__"]["ratoon.owner"], "team \"a\" of 6f1c");
  const auto decoded = decode_header(header, layout.file_bytes());
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->layout, layout);
  EXPECT_FALSE(json_of(sample().header)["__metadata__"].contains("ratoon.owner"))
      << "a writer that says nothing";
}

TEST(PackHeader, IsAPlainSafetensorsHeader) {
  const Sample made = sample();
  EXPECT_EQ(made.header.substr(8, 2), "{\"");
  EXPECT_EQ(made.header.back(), ' ');
  EXPECT_EQ(json_of(made.header),
            json::parse(R"({"__metadata__": {
                 "ratoon.box.w": "4,0 of 8,16", "ratoon.crc32c": "0123abcdffffffff", "ratoon.format": "2",
                 "ratoon.xxh3": "0000000000000007ffffffffffffffff1000000000000007fffffffffffffffe)"
                        R"(2000000000000007fffffffffffffffd3000000000000007fffffffffffffffc"},
               "none": {"dtype": "I64", "shape": [0, 5], "data_offsets": [0, 0]},
               "one": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]},
               "w": {"dtype": "F32", "shape": [2, 16], "data_offsets": [8, 136]},
               "name \"\\/\n\u0001\u00e9": {"dtype": "U8", "shape": [32768],
                                             "data_offsets": [136, 32904]}})"));
}

TEST(PackHeader, NeedsOneChecksumABlockAndOneHashATensor) {
  const Sample made = sample();
  const std::vector<std::uint32_t> one_crc(1);
  const std::vector<Hash128> three_hashes(3);
  EXPECT_THROW(static_cast<void>(encode_header(made.layout, one_crc, made.hashes)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(encode_header(made.layout, made.crcs, three_hashes)), std::invalid_argument);
}

TEST(PackHeader, ALengthIsNotTrustedBeforeItIsChecked) {
  EXPECT_THAT(header_bytes_of("1234567", 100).error().message(), HasSubstr("the file has only 7 bytes"));
  EXPECT_THAT(header_bytes_of(with_length(0, ""), 5).error().message(), HasSubstr("only 5 bytes"));
  EXPECT_EQ(header_bytes_of(with_length(92, ""), 100).value(), 100u);
  EXPECT_THAT(header_bytes_of(with_length(93, ""), 100).error().message(), HasSubstr("claims 93 bytes"));
  EXPECT_EQ(header_bytes_of(with_length(100'000'000, ""), 1ULL << 40).value(), 100'000'008u);
  EXPECT_FALSE(header_bytes_of(with_length(100'000'001, ""), 1ULL << 40));
  EXPECT_FALSE(header_bytes_of(with_length(~0ULL, ""), ~0ULL));
}

TEST(PackHeader, IsRefusedWhereLengthsDiffer) {
  const Sample made = sample();
  const std::uint64_t file_bytes = made.layout.file_bytes();
  EXPECT_THAT(complaint_about(made.header, file_bytes - 1),
              HasSubstr("the tensors end at 32904, and the data at"));
  EXPECT_THAT(complaint_about(made.header, file_bytes + 1),
              HasSubstr("the tensors end at 32904, and the data at"));
  EXPECT_THAT(complaint_about(made.header.substr(0, 4095), file_bytes), HasSubstr("and 4095 were read"));
  EXPECT_THAT(complaint_about(made.header + " ", file_bytes), HasSubstr("and 4097 were read"));
  EXPECT_THAT(complaint_about(made.header, 100), HasSubstr("claims"));
}

TEST(PackHeader, MustBeginWithItsBraceAndBeJson) {
  EXPECT_THAT(foreign_complaint("", 0), HasSubstr("does not begin with {"));
  EXPECT_THAT(foreign_complaint(" {}", 0), HasSubstr("does not begin with {"));
  EXPECT_THAT(foreign_complaint("[]", 0), HasSubstr("does not begin with {"));
  EXPECT_EQ(foreign_complaint("{}   ", 0), "");
  EXPECT_THAT(foreign_complaint("{} {}", 0), HasSubstr("not JSON at byte"));
  EXPECT_THAT(foreign_complaint("{\"a\":", 0), HasSubstr("not JSON at byte"));
  EXPECT_THAT(foreign_complaint("{\"\xff\":{}}", 0), HasSubstr("not JSON at byte"));
  for (const char* wrong :
       {"{", "{\"a\"", "{\"a\" 1}", "{,}", "{\"a\":{\"dtype\":\"U8}", "{\"a\":{\"dtype\":\"\n\"",
        "{\"a\":{\"shape\":[1,]", "{\"a\":{\"shape\":[1 2]", "{\"a\":{\"shape\":[x]", "{\"\\x\":1}",
        "{\"\\ud800\":1}", "{\"\\udc00\":1}", "{\"\\ud800\\u0041\":1}", "{\"\\u12\":1}", "{\"\\u-123\":1}",
        "{\"__metadata__\":{},}", "{\"\xed\xa0\x80\":1}", "{\"\\"})
    EXPECT_THAT(foreign_complaint(wrong, 0), HasSubstr("not JSON at byte")) << wrong;
  EXPECT_THAT(foreign_complaint(std::string("{}\0", 3), 0), HasSubstr("not JSON at byte 2"));
}

TEST(PackHeader, MetadataIsCheckedToTheLastKey) {
  const auto metadata = [](const std::string& key, const json& value) {
    return [=](json& header) { header["__metadata__"][key] = value; };
  };
  EXPECT_THAT(complaint_after([](json& h) { h.erase("__metadata__"); }), HasSubstr("lacks ratoon.format"));
  for (const auto* key : {"ratoon.format", "ratoon.crc32c", "ratoon.xxh3"}) {
    EXPECT_THAT(complaint_after([&](json& h) { h["__metadata__"].erase(key); }), HasSubstr(key));
  }
  EXPECT_THAT(complaint_after(metadata("ratoon.format", "3"), ErrorKind::kInvalid),
              HasSubstr("of format '3', and this version reads 2"));
  EXPECT_THAT(complaint_after(metadata("ratoon.crc32c", "0123abcd")), HasSubstr("8 digits for 2 blocks"));
  EXPECT_THAT(complaint_after(metadata("ratoon.crc32c", "0123abcdfffffffff")), HasSubstr("17 digits for 2"));
  for (const auto* wrong : {"0123abcdffffffFf", "0123abcdfffffff ", "0123abcd-fffffff", "0123abcd0xffffff"})
    EXPECT_THAT(complaint_after(metadata("ratoon.crc32c", wrong)),
                HasSubstr("the checksum of block 1 is not"));
  EXPECT_THAT(complaint_after(metadata("ratoon.xxh3", "00")), HasSubstr("2 digits for 4 tensors"));
  EXPECT_THAT(complaint_after(metadata("ratoon.xxh3", std::string(127, '0') + "g")),
              HasSubstr("hash of tensor 3"));
  EXPECT_THAT(complaint_after(metadata("ratoon.xxh3", "G" + std::string(127, '0'))),
              HasSubstr("hash of tensor 0"));
  EXPECT_THAT(complaint_after(metadata("ratoon.other", "1")), HasSubstr("unknown key 'ratoon.other'"));
  EXPECT_THAT(complaint_after(metadata("format", "pt")), HasSubstr("unknown key 'format'"));
  EXPECT_THAT(complaint_after(metadata("ratoon.box.v", "0 of 1")), HasSubstr("unknown key"));
  EXPECT_THAT(complaint_after(metadata("ratoon.format", 2)), HasSubstr("__metadata__: a number is not"));
}

TEST(PackHeader, BoxesMustHoldTheirTensors) {
  for (const auto* wrong :
       {"7,0 of 8,16", "4,0 of 8", "4 of 8,16", "4,0", "", "0,0 of 4611686018427387904,16"}) {
    EXPECT_THAT(complaint_after([&](json& h) { h["__metadata__"]["ratoon.box.w"] = wrong; }),
                HasSubstr("tensor 'w' of shape 2,16 has the box"))
        << wrong;
  }
}

TEST(PackHeader, DataOfOursBeginsWhereAPageDoes) {
  const Sample made = sample();
  const std::string text = json_of(made.header).dump();
  const std::string unpadded = with_length(text.size(), text);
  EXPECT_THAT(complaint_about(unpadded, unpadded.size() + made.layout.data_bytes),
              HasSubstr("the data begins at"));
  EXPECT_TRUE(decode_foreign_header(unpadded, unpadded.size() + made.layout.data_bytes));
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
         offsets + "]}";
}

TEST(ForeignHeader, IsReadInTheOrderOfTheData) {
  const std::string text = "{" + entry("late", "U8", "3", "4,7") + R"(,"__metadata__":{"format":"pt"},)" +
                           entry("early", "F32", "", "0,4") + "," + entry("empty", "BF16", "0", "4,4") + "}";
  const PackLayout layout =
      decode_foreign_header(with_length(text.size(), text), 8 + text.size() + 7).value();
  ASSERT_EQ(layout.tensors.size(), 3u);
  EXPECT_EQ(layout.tensors[0].name, "early");
  EXPECT_EQ(layout.tensors[1].name, "empty");
  EXPECT_EQ(layout.tensors[2].name, "late");
  EXPECT_EQ(layout.tensors[2].end, 7u);
  EXPECT_EQ(layout.header_bytes, 8 + text.size());
}

// The values that the nlohmann library reads, to the last escape and the last space.
TEST(ForeignHeader, NamesAreReadAsAnyJsonIs) {
  for (const char* name : {"plain", "\\u0041\\u00e9\\u20AC", "\\ud83c\\udf31", "\\\"\\\\\\/\\b\\f\\n\\r\\t",
                           "\\u0000", "\u00e9\U0001f331\x7f"}) {
    const std::string text = std::string("{ \"") + name +
                             "\"\t:\n{\"dtype\" : \"U8\", \"shape\":[ 1 ,1\r] ,\"data_offsets\":[0, 1 ] } }";
    const auto layout = decode_foreign_header(with_length(text.size(), text), 8 + text.size() + 1);
    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->tensors.at(0).name, json::parse(text).begin().key());
  }
}

TEST(ForeignHeader, RangesLeaveNoHoleAndFitTheirShapes) {
  const auto two = [](const std::string& first, const std::string& second, std::uint64_t data_bytes) {
    return foreign_complaint("{" + entry("a", "U8", "4", first) + "," + entry("b", "U8", "4", second) + "}",
                             data_bytes);
  };
  EXPECT_EQ(two("0,4", "4,8", 8), "");
  EXPECT_THAT(two("0,4", "5,9", 9), HasSubstr("tensor 'b' begins at 5, and the tensor before it ends at 4"));
  EXPECT_THAT(two("0,4", "3,7", 7), HasSubstr("tensor 'b' begins at 3"));
  EXPECT_THAT(two("0,4", "0,4", 4), HasSubstr("tensor 'b' begins at 0"));
  EXPECT_THAT(two("1,5", "5,9", 9), HasSubstr("tensor 'a' begins at 1, and the tensor before it ends at 0"));
  EXPECT_THAT(two("0,4", "4,8", 9), HasSubstr("the tensors end at 8, and the data at 9"));
  EXPECT_THAT(two("0,4", "8,4", 8), HasSubstr("has data_offsets from 8 to 4, which do not match"));
  EXPECT_THAT(two("0,4", "4,7", 7),
              HasSubstr("tensor 'b' of type U8 and shape 4 has data_offsets from 4 to 7"));
  EXPECT_THAT(foreign_complaint("{" + entry("a", "F32", "4", "0,4") + "}", 4),
              HasSubstr("of type F32 and shape 4"));
  EXPECT_THAT(foreign_complaint("{" + entry("a", "U8", "3", "0,4") + "}", 4),
              HasSubstr("of type U8 and shape 3"));
  EXPECT_THAT(
      foreign_complaint("{" + entry("a", "U8", "1", "0,1") + "," + entry("a", "U8", "1", "1,2") + "}", 2),
      HasSubstr("two tensors are called 'a'"));
}

// No program has a tensor of such strides, and a length of 0 on either side does not help.
TEST(ForeignHeader, LengthsThatNoTensorHasAreRefusedAlsoBesideAZero) {
  const auto empty = [](const std::string& type, const std::string& shape) {
    return foreign_complaint("{" + entry("a", type, shape, "0,0") + "}", 0);
  };
  for (const char* shape : {"4294967296,4294967296", "0,9223372036854775808,4", "9223372036854775808,4,0",
                            "0,4294967296,4294967296", "4294967296,0,4294967296", "0,9223372036854775808",
                            "18446744073709551615,0"}) {
    EXPECT_THAT(empty("U8", shape),
                HasSubstr(std::string("tensor 'a' of type U8 has the shape ") + shape +
                          ", which overflows: its lengths other than 0 give more than 2^63 - 1 bytes"));
  }
  EXPECT_EQ(empty("U8", "0,9223372036854775807"), "");
  EXPECT_EQ(empty("U8", "0,4,0,2305843009213693951"), "");
  EXPECT_THAT(empty("F32", "0,2305843009213693952"), HasSubstr("more than 2^63 - 1 bytes"));
}

TEST(ForeignHeader, TypesThatAreNotReadAreNamed) {
  const std::string text = "{" + entry("scales", "F8_E8M0", "4", "0,4") + "}";
  const auto decoded = decode_foreign_header(with_length(text.size(), text), 12 + text.size());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(decoded.error().message(), HasSubstr("tensor 'scales' is of type 'F8_E8M0'"));
}

TEST(ForeignHeader, EntriesHaveTheirThreeKeysAndNoOther) {
  const auto one = [](const std::string& body) { return foreign_complaint("{\"a\":" + body + "}", 1); };
  EXPECT_EQ(one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})"), "");
  EXPECT_EQ(one(R"({"data_offsets":[0,1],"shape":[1],"dtype":"U8"})"), "");
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"dtype":"U8","shape":[1]})", "tensor 'a': the dtype, shape or data_offsets are missing"},
      {R"({"shape":[1],"data_offsets":[0,1]})", "the dtype, shape"},
      {R"({"dtype":"U8","data_offsets":[0,1]})", "the dtype, shape"},
      {"{}", "the dtype, shape"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1]})", "unknown key 'strides'"},
      {R"({"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]})", "the key shape appears twice"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,2]})", "data_offsets are not two numbers"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[1]})", "data_offsets are not two numbers"},
      {R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "a number is below zero"},
      {R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", "a number is not whole"},
      {R"({"dtype":"U8","shape":[01],"data_offsets":[0,1]})", "a number is not whole"},
      {R"({"dtype":"U8","shape":[1e0],"data_offsets":[0,1]})", "a number is not whole"},
      {R"({"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]})", "a number is not whole"},
      {R"({"dtype":"U8","shape":["1"],"data_offsets":[0,1]})", "a text is not allowed"},
      {R"({"dtype":"U8","shape":"1","data_offsets":[0,1]})", "a text is not allowed"},
      {R"({"dtype":["U8"],"shape":[1],"data_offsets":[0,1]})", "a list is not allowed"},
      {R"({"dtype":"U8","shape":[[1]],"data_offsets":[0,1]})", "a list is not allowed"},
      {R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", "a number is not allowed"},
      {R"({"dtype":"U8","shape":{},"data_offsets":[0,1]})", "an object is not allowed"},
      {R"({"dtype":"U8","shape":[{}],"data_offsets":[0,1]})", "an object is not allowed"},
      {R"({"dtype":null,"shape":[1],"data_offsets":[0,1]})", "a null"},
      {R"({"dtype":"U8","shape":[true],"data_offsets":[0,1]})", "a true or false"},
      {"3", "a number is not allowed"},
      {"[]", "a list is not allowed"},
      {R"("text")", "a text is not allowed"},
  };
  for (const auto& [body, complaint] : wrong) EXPECT_THAT(one(body), HasSubstr(complaint)) << body;
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(foreign_complaint("{" + entry("a", "U8", many, "0,1") + "}", 1),
              HasSubstr("too many dimensions"));
}

TEST(ForeignHeader, MetadataIsAtMostOneObjectOfTexts) {
  EXPECT_EQ(foreign_complaint(R"({"__metadata__":{"a":"b","a":"c"}})", 0), "");
  for (const auto* wrong :
       {R"({"__metadata__":3})", R"({"__metadata__":"x"})", R"({"__metadata__":[]})",
        R"({"__metadata__":{"a":1}})", R"({"__metadata__":{"a":{}}})", R"({"__metadata__":{"a":["b"]}})",
        R"({"__metadata__":{"a":null}})", R"({"__metadata__":{},"__metadata__":{}})"})
    EXPECT_THAT(foreign_complaint(wrong, 0), HasSubstr("__metadata__: ")) << wrong;
}

TEST(PackHeader, RepeatedMetadataIsRefused) {
  const Sample made = sample();
  std::string text = json_of(made.header).dump();
  text.insert(text.find("\"ratoon.crc32c\""), R"("ratoon.crc32c":"0123abcdffffffff",)");
  const std::string header = page_of(text);
  EXPECT_THAT(complaint_about(header, header.size() + made.layout.data_bytes),
              HasSubstr("'ratoon.crc32c' twice"));
}

}  // namespace
}  // namespace ratoon::checkpoint::header_test
