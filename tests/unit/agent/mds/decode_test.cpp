#include "agent/src/mds/format/values/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/utf8.h"

namespace ratoon::mds::decode_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <class... T>
std::string packed(T... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  return bytes;
}

std::string u8(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

std::uint32_t length(const std::string& text) {
  return static_cast<std::uint32_t>(text.size());
}

Columns one(const std::string& encoding) {
  auto columns = Columns::make({"c"}, {encoding}, {std::nullopt});
  EXPECT_TRUE(columns) << encoding;
  return std::move(*columns);
}

// A sample of one column that varies.
Result<void> decode(const std::string& encoding, const std::string& value, Sample& into) {
  const auto columns = std::make_shared<const Columns>(one(encoding));  // shapes that the name says lie in it
  const auto sample = std::make_shared<const std::string>(packed(length(value)) + value);
  into.begin(0);
  into.keep_alive(columns);
  into.keep_alive(sample);
  return decode_sample(*columns, bytes_in(*sample), into);
}

void expect_refused(const std::string& encoding, const std::string& value, const std::string& sentence) {
  SCOPED_TRACE(encoding + ": " + sentence);
  Sample sample;
  const auto decoded = decode(encoding, value, sample);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(decoded.error().message(), HasSubstr("column 'c': "));
  EXPECT_THAT(decoded.error().message(), HasSubstr(sentence));
}

TEST(Encoding, SizesAndShapesComeFromTheName) {
  EXPECT_EQ(parse_encoding("int")->size_bytes, 8u);
  EXPECT_EQ(parse_encoding("float16")->size_bytes, 2u);
  EXPECT_EQ(parse_encoding("float16")->shape, std::vector<std::uint64_t>());
  EXPECT_EQ(parse_encoding("ndarray:float32:3,4")->size_bytes, 48u);
  EXPECT_THAT(*parse_encoding("ndarray:float32:3,4")->shape, ElementsAre(3, 4));
  EXPECT_EQ(parse_encoding("ndarray:int8")->type, ElementType::kInt8);
  EXPECT_EQ(parse_encoding("ndarray:int8")->shape, std::nullopt);
  EXPECT_EQ(parse_encoding("ndarray:")->kind, EncodingKind::kArray);
  for (const char* name : {"", "Int", "int:", "ndarrays", "ndarray:complex64", "ndarray::3", "ndarray:int8:",
                           "ndarray:int8:0", "ndarray:int8:-1", "ndarray:int8:3,", "ndarray:int8:,3",
                           "ndarray:int8:3,4:5", "ndarray:int8:3 4", "ndarray:int8:65536,65536",
                           "ndarray:int8:4294967296", "ndarray:bytes", "ndarray:text", "list[str]", "pkl"})
    EXPECT_FALSE(parse_encoding(name)) << name;
}

TEST(Sample, SizesMustMakeUpTheLengthExactly) {
  const Columns columns =
      Columns::make({"a", "b", "c"}, {"str", "uint16", "bytes"}, {std::nullopt, 2, std::nullopt}).value();
  const std::string sound =
      packed(std::uint32_t{2}, std::uint32_t{3}) + "hi" + packed(std::uint16_t{7}) + "xyz";
  Sample sample;
  ASSERT_TRUE(decode_sample(columns, bytes_in(sound), sample));
  EXPECT_EQ(sample.field(0).text(), "hi");
  EXPECT_EQ(sample.field(1).as<std::uint16_t>(), 7);
  EXPECT_EQ(sample.field(2).text(), "xyz");
  for (std::size_t size = 0; size < sound.size(); ++size) {
    sample.begin(0);
    const auto decoded = decode_sample(columns, bytes_in(sound.substr(0, size)), sample);
    ASSERT_FALSE(decoded) << size;
    EXPECT_THAT(decoded.error().message(), HasSubstr("do not match its " + std::to_string(size) + " bytes"));
  }
  EXPECT_FALSE(decode_sample(columns, bytes_in(sound + "!"), sample));
  std::string huge = sound;
  huge.replace(0, 4, packed(0xffffffffU));
  EXPECT_FALSE(decode_sample(columns, bytes_in(huge), sample));
}

// An index may say that a number varies; Streaming would read it.
TEST(Sample, ANumberOfAnotherLengthIsRefused) {
  Sample sample;
  ASSERT_TRUE(decode("uint32", packed(std::uint32_t{9}), sample));
  EXPECT_EQ(sample.field(0).as<std::uint32_t>(), 9u);
  expect_refused("uint32", "123", "'uint32' takes 4 bytes, but there are 3");
  expect_refused("uint32", "12345", "'uint32' takes 4 bytes, but there are 5");
}

TEST(Array, SaysItsTypeAndShape) {
  Sample sample;
  ASSERT_TRUE(decode("ndarray", u8({17, 2 << 2, 1, 2}) + packed(std::int16_t{-3}, std::int16_t{4}), sample));
  EXPECT_EQ(sample.field(0).type, ElementType::kInt16);
  EXPECT_THAT(sample.field(0).shape, ElementsAre(1, 2));
  for (int code = 0; code < 4; ++code) {
    std::string value = u8({1 << 2 | code, 3});
    value.append((1U << code) - 1, '\0');
    ASSERT_TRUE(decode("ndarray:uint8", value + "abc", sample)) << code;
    EXPECT_THAT(sample.field(0).shape, ElementsAre(3));
    EXPECT_EQ(sample.field(0).text(), "abc");
  }
}

TEST(Array, IsRefusedWithWhatIsWrong) {
  expect_refused("ndarray", "", "the array has no byte for its type");
  expect_refused("ndarray", u8({7, 4, 1, 0}), "there is no type 7");
  expect_refused("ndarray", u8({8}), "the array has no byte for its number of dimensions");
  expect_refused("ndarray:uint8", "", "the array has no byte for its number of dimensions");
  expect_refused("ndarray:uint8", u8({0, 1}), "the array has no dimension");
  expect_refused("ndarray:uint8", u8({2 << 2, 1}), "the array ends inside its shape");
  expect_refused("ndarray:uint8", u8({63 << 2 | 3, 1}), "the array ends inside its shape");
  expect_refused("ndarray:uint8", u8({1 << 2, 0}), "does not match its 0 bytes");
  expect_refused("ndarray:uint8", u8({1 << 2, 2, 9}), "does not match its 1 bytes");
  expect_refused("ndarray:uint8", u8({1 << 2, 2, 9, 9, 9}), "does not match its 3 bytes");
  expect_refused("ndarray:uint64", u8({1 << 2, 1}) + "1234567", "does not match its 7 bytes");
  // 2^32 times 2^32 times 1 wraps around to 0, 2^63 times 2 as well.
  expect_refused("ndarray:uint8", u8({2 << 2 | 3}) + packed(1ULL << 32, 1ULL << 32),
                 "does not match its 0 bytes");
  expect_refused("ndarray:uint16", u8({1 << 2 | 3}) + packed(1ULL << 63), "does not match its 0 bytes");
}

std::string pil(std::uint32_t width, std::uint32_t height, const std::string& mode, std::size_t pixels) {
  return packed(width, height, length(mode)) + mode + std::string(pixels, 'p');
}

TEST(Pil, ShapeComesFromItsHeader) {
  const struct {
    const char* mode;
    std::size_t bytes;
    std::vector<std::uint64_t> shape;
  } cases[] = {{"L", 6, {2, 3}},        {"P", 6, {2, 3}},      {"RGB", 18, {2, 3, 3}},
               {"RGBA", 24, {2, 3, 4}}, {"LA", 12, {2, 3, 2}}, {"I;16", 12, {2, 3, 2}},
               {"I", 24, {2, 3, 4}},    {"F", 24, {2, 3, 4}},  {"CMYK", 24, {2, 3, 4}},
               {"1", 2, {2, 1}}};
  Sample sample;
  for (const auto& c : cases) {
    ASSERT_TRUE(decode("pil", pil(3, 2, c.mode, c.bytes), sample)) << c.mode;
    EXPECT_EQ(sample.field(0).type, ElementType::kUint8);
    EXPECT_THAT(sample.field(0).shape, testing::ElementsAreArray(c.shape)) << c.mode;
    EXPECT_EQ(sample.field(0).bytes.size(), c.bytes);
  }
}

TEST(Pil, IsRefusedWithWhatIsWrong) {
  expect_refused("pil", "12345678901", "the image has only 11 bytes");
  expect_refused("pil", packed(1U, 1U, 4U) + "RGB", "the image's mode extends beyond");
  expect_refused("pil", packed(1U, 1U, 0xffffffffU), "the image's mode extends beyond");
  expect_refused("pil", pil(1, 1, "XYZ", 3), "the mode 'XYZ' is unknown");
  expect_refused("pil", pil(3, 2, "RGB", 17), "3 x 2 pixels of mode RGB do not make up 17 bytes");
  expect_refused("pil", pil(3, 2, "RGB", 19), "do not make up 19 bytes");
  expect_refused("pil", pil(3, 0, "RGB", 9), "do not make up 9 bytes");
  expect_refused("pil", pil(0x80000000, 0x80000000, "RGBA", 0), "do not make up 0 bytes");
  expect_refused("pil", pil(0xffffffff, 0xffffffff, "RGBA", 4), "do not make up 4 bytes");
}

std::string list(std::initializer_list<std::string> elements) {
  std::string sizes, bytes;
  for (const auto& element : elements) {
    sizes += packed(length(element));
    bytes += element;
  }
  return packed(0U, static_cast<std::uint32_t>(elements.size())) + sizes + bytes;
}

TEST(List, GivesItsElements) {
  Sample elements;
  const std::string files = list({"one", "", "three"});
  ASSERT_TRUE(decode_elements(*parse_encoding("list[png]"), bytes_in(files), elements));
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements.field(2).text(), "three");
  elements.begin(0);
  const std::string images = list({pil(1, 1, "L", 1), pil(1, 2, "RGB", 6)});
  ASSERT_TRUE(decode_elements(*parse_encoding("list[pil]"), bytes_in(images), elements));
  EXPECT_THAT(elements.field(1).shape, ElementsAre(2, 1, 3));
  elements.begin(0);
  EXPECT_FALSE(decode_elements(*parse_encoding("list[pil]"), bytes_in(files), elements));
}

TEST(List, IsRefusedWithWhatIsWrong) {
  expect_refused("list[png]", "123", "the list has only 3 bytes");
  expect_refused("list[png]", packed(0U) + "123",
                 "the list ends within the 4 bytes of its number of elements");
  expect_refused("list[png]", packed(1U, 0U),
                 "the list's first word is 1, and Streaming 0.13 writes 0 there");
  expect_refused("list[png]", packed(0U, 2U, 0U), "the sizes of the list's 2 elements extend beyond");
  expect_refused("list[png]", packed(0U, 0xffffffffU),
                 "sizes of the list's 4294967295 elements extend beyond");
  expect_refused("list[png]", packed(0U, 1U, 3U) + "ab",
                 "the list's elements take 3 bytes, but the list has 2");
  expect_refused("list[png]", packed(0U, 1U, 1U) + "ab",
                 "the list's elements take 1 bytes, but the list has 2");
  expect_refused("list[png]", packed(0U, 2U, 0xffffffffU, 3U) + "ab",
                 "the list's elements take 4294967298 bytes");
  expect_refused("jpeg_array", packed(1U, 3U) + "ab", "the list's elements take 3 bytes, but the list has 2");
}

TEST(Text, IsUtf8) {
  for (const char* text :
       {"", "a", "12345678", "gr\xc3\xbcn 123456789", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"})
    EXPECT_TRUE(is_utf8(bytes_in(text))) << text;
  for (const char* text :
       {"\x80", "1234567\x80", "12345678\xff", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
        "\xe2\x82", "\xe2(\xac", "\xe2\x82(", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f\x99",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xfe"})
    EXPECT_FALSE(is_utf8(bytes_in(text))) << text;
  for (const char* encoding : {"str", "json", "str_int", "str_float", "str_decimal"})
    expect_refused(encoding, "\xff", "the text is not UTF-8");
}

}  // namespace
}  // namespace ratoon::mds::decode_test
