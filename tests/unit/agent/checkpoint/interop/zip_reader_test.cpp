// Zip files with false values.
#include "agent/src/checkpoint/interop/zip/zip_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::zip_reader_test {
namespace {

using testing::HasSubstr;
using namespace test;  // NOLINT

// Of two records: "f/one" with the bytes "first" and "f/two" with "second".
std::string two_records() {
  TextSink sink;
  ZipWriter zip(sink, "f");
  EXPECT_TRUE(zip.add("one", "first").has_value());
  EXPECT_TRUE(zip.add("two", "second").has_value());
  EXPECT_TRUE(zip.finish().has_value());
  return std::move(sink.text);
}

std::size_t nth(const std::string& file, std::string_view mark, int which) {
  std::size_t at = file.find(mark);
  while (which-- > 0) at = file.find(mark, at + 1);
  return at;
}

const std::string kLocal = "PK\x03\x04";
const std::string kCentral = "PK\x01\x02";
const std::string kDescriptor = "PK\x07\x08";
const std::string kEnd64(std::string("PK\x06\x06"));
const std::string kLocator(std::string("PK\x06\x07"));
const std::string kEnd(std::string("PK\x05\x06"));

template <class T>
std::string with(std::string file, std::size_t at, T value) {
  std::string number;
  put(number, value);
  return file.replace(at, number.size(), number);
}

std::string refusal_of(const std::string& file) {
  const auto records = read_zip(bytes_in(file));
  return records ? "read" : records.error().message();
}

TEST(ZipReader, ReadsWhatWasWritten) {
  const std::string file = two_records();
  const auto records = read_zip(bytes_in(file));
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(records->at(1).name, "f/two");
  EXPECT_EQ(records->at(1).bytes.size(), 6u);
  EXPECT_EQ((records->at(1).bytes.data() - bytes_in(file).data()) % 64, 0);
  EXPECT_TRUE(verify(records->at(0)).has_value());
  EXPECT_THAT(refusal_of(""), HasSubstr("only 0 bytes"));
}

// Each case is one changed field.
TEST(ZipReader, WhatIsSaidTwiceIsSaidTheSame) {
  const std::string file = two_records();
  const auto local = nth(file, kLocal, 1), central = nth(file, kCentral, 1), first = nth(file, kCentral, 0);
  const auto descriptor = nth(file, kDescriptor, 1);
  const auto end64 = nth(file, kEnd64, 0), locator = nth(file, kLocator, 0), end = nth(file, kEnd, 0);
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  const std::vector<std::pair<std::string, std::string>> cases{
      {with(file, local + 6, U16{0x0800}), "set of flags"},
      {with(file, local + 8, U16{8}), "method"},
      {with(file, local + 14, U32{7}), "checksum"},
      {with(file, local + 18, U32{7}), "size"},
      {with(file, local + 22, U32{7}), "size"},
      {with(file, local + 26, U16{4}), "another name"},
      {with(file, local + 26, U16{0xFFFF}), "reaches into"},
      {with(file, local + 28, U16{0xFFFF}), "reaches into"},
      {with(file, local + 30, U16{0x7878}), "another name"},
      {with(file, local, U32{0}), "is not at the offset"},
      {with(file, descriptor, U32{0}), "neither its data descriptor"},
      {with(file, descriptor + 4, U32{0}), "neither its data descriptor"},
      {with(file, descriptor + 8, U32{5}), "neither its data descriptor"},
      {with(file, descriptor + 12, U32{5}), "neither its data descriptor"},
      {with(file, central, U32{0}), "fewer entries"},
      {with(file, central + 8, U16{0x0809}), "encrypted"},
      {with(file, central + 10, U16{8}), "compressed"},
      {with(file, central + 20, U32{5}), "stored in 5 bytes"},
      {with(file, central + 24, U32{5}), "stored in 6 bytes"},
      {with(with(file, central + 24, U32{5}), central + 20, U32{5}), "neither its data descriptor"},
      {with(with(file, central + 24, U32{7}), central + 20, U32{7}), "neither its data descriptor"},
      {with(with(file, central + 24, U32{600}), central + 20, U32{600}), "reaches into"},
      {with(file, central + 24, U32{0xFFFFFFFF}), "too short"},
      {with(file, central + 28, U16{4}), "directory"},
      {with(file, central + 30, U16{1}), "longer than the directory"},
      {with(file, central + 32, U16{1}), "longer than the directory"},
      {with(file, central + 34, U16{1}), "another part"},
      {with(file, central + 42, U32{0}), "overlaps another"},
      {with(file, central + 42, U32{1}), "is not at the offset"},
      {with(file, central + 42, U32{0x7FFFFFFF}), "overlaps another"},
      {with(file, first + 42, U32{1}), "before the first"},
      {with(file, end64, U32{0}), "zip64 end record has another"},
      {with(file, end64 + 4, U64{45}), "zip64 end record has another"},
      {with(file, end64 + 16, U32{1}), "two end records differ"},
      {with(file, end64 + 24, U64{1}), "two end records differ"},
      {with(file, end64 + 32, U64{1}), "two end records differ"},
      {with(file, end64 + 40, U64{1}), "two end records differ"},
      {with(file, end64 + 48, U64{1}), "two end records differ"},
      {with(file, locator + 4, U32{1}), "several parts"},
      {with(file, locator + 8, U64{0}), "not where its locator says"},
      {with(file, locator + 16, U32{2}), "several parts"},
      {with(file, end, U32{0}), "does not end"},
      {with(file, end + 4, U16{1}), "several parts"},
      {with(file, end + 8, U16{1}), "several parts"},
      {with(with(file, end + 8, U16{3}), end + 10, U16{3}), "two end records differ"},
      {with(file, end + 12, U32{1}), "two end records differ"},
      {with(file, end + 16, U32{1}), "two end records differ"},
      {with(file, end + 20, U16{1}), "does not end"},
      {"x" + file, "not where its locator says"},
      {file + "x", "does not end"},
  };
  for (const auto& [changed, word] : cases) {
    const auto at =
        static_cast<std::size_t>(&word - &cases[0].second) / (sizeof cases[0] / sizeof(std::string));
    EXPECT_THAT(refusal_of(changed), HasSubstr(word)) << at;
  }
}

TEST(ZipReader, CountsOfEntriesAreKept) {
  const std::string file = two_records();
  const auto end64 = nth(file, kEnd64, 0), end = nth(file, kEnd, 0);
  for (const std::uint16_t entries : std::initializer_list<std::uint16_t>{1, 3, 60000}) {
    std::string changed = with(with(file, end + 8, entries), end + 10, entries);
    changed = with(with(changed, end64 + 24, std::uint64_t{entries}), end64 + 32, std::uint64_t{entries});
    EXPECT_THAT(refusal_of(changed), HasSubstr(entries == 1 ? "more entries" : "fewer entries"));
  }
}

// Eight more bytes before the record or the directory at `at`, with every offset corrected.
std::string with_hole(const std::string& file, std::size_t at) {
  const std::size_t directory = nth(file, kCentral, 0), second = nth(file, kLocal, 1);
  const auto end64 = nth(file, kEnd64, 0), end = nth(file, kEnd, 0), locator = nth(file, kLocator, 0);
  std::string changed = with(file, end + 16, static_cast<std::uint32_t>(directory + 8));
  changed = with(changed, end64 + 48, std::uint64_t{directory + 8});
  changed = with(changed, locator + 8, std::uint64_t{end64 + 8});
  if (at == second)
    changed = with(changed, nth(file, kCentral, 1) + 42, static_cast<std::uint32_t>(second + 8));
  return changed.insert(at, "12345678");
}

TEST(ZipReader, NoByteIsOutsideOfTheRecords) {
  TextSink empty;
  ZipWriter zip(empty, "f");
  ASSERT_TRUE(zip.add("one", "").has_value());  // nothing follows its data
  ASSERT_TRUE(zip.add("two", "").has_value());
  ASSERT_TRUE(zip.finish().has_value());
  for (const std::string& file : {two_records(), empty.text}) {
    EXPECT_EQ(refusal_of(file), "read");
    EXPECT_THAT(refusal_of(with_hole(file, nth(file, kLocal, 1))),
                HasSubstr("neither its data descriptor nor the next"));
    EXPECT_THAT(refusal_of(with_hole(file, nth(file, kCentral, 0))),
                HasSubstr("neither its data descriptor nor the next"));
  }
}

TEST(ZipReader, NamesAreUnique) {
  TextSink sink;
  ZipWriter zip(sink, "f");
  ASSERT_TRUE(zip.add("one", "a").has_value());
  ASSERT_TRUE(zip.add("one", "b").has_value());
  ASSERT_TRUE(zip.finish().has_value());
  EXPECT_THAT(refusal_of(sink.text), HasSubstr("two records of the name 'f/one'"));
}

TEST(ZipReader, Zip64FieldsHoldWhatIsAskedForAndNoMore) {
  const std::string file = two_records();
  const std::size_t central = nth(file, kCentral, 1), name_end = central + 46 + 5;
  const auto end64 = nth(file, kEnd64, 0), end = nth(file, kEnd, 0), locator = nth(file, kLocator, 0);
  const auto grown = [&](std::string extra, std::string changed) {
    const auto more = extra.size();
    changed = with(changed, central + 30, static_cast<std::uint16_t>(more));
    changed = with(changed, end + 12, static_cast<std::uint32_t>(end64 - nth(file, kCentral, 0) + more));
    changed = with(changed, end64 + 40, std::uint64_t{end64 - nth(file, kCentral, 0) + more});
    changed = with(changed, locator + 8, std::uint64_t{end64 + more});
    return changed.insert(name_end, extra);
  };
  const auto field = [](std::initializer_list<std::uint64_t> numbers) {
    std::string extra;
    put(extra, std::uint16_t{1});
    put(extra, static_cast<std::uint16_t>(8 * numbers.size()));
    for (const std::uint64_t number : numbers) put(extra, number);
    return extra;
  };
  const std::string in_64 = with(with(file, central + 20, 0xFFFFFFFFu), central + 24, 0xFFFFFFFFu);
  EXPECT_EQ(refusal_of(grown(field({6, 6}), in_64)), "read");
  EXPECT_THAT(refusal_of(grown(field({6, 6}), file)), HasSubstr("more numbers than the entry refers to"));
  EXPECT_THAT(refusal_of(grown(field({6}), in_64)), HasSubstr("too short"));
  EXPECT_THAT(refusal_of(grown(field({6, 6, 0}), in_64)), HasSubstr("more numbers than the entry refers to"));
  EXPECT_THAT(refusal_of(grown(field({6, 7}), in_64)), HasSubstr("stored in 7 bytes"));
  EXPECT_THAT(refusal_of(grown(field({~0ull, ~0ull}), in_64)), HasSubstr("reaches into"));
  EXPECT_THAT(refusal_of(grown(field({6, 6}) + field({6, 6}), in_64)), HasSubstr("two zip64 fields"));
  EXPECT_THAT(refusal_of(grown("abc", file)), HasSubstr("cut off"));
  EXPECT_EQ(refusal_of(grown(std::string("xy\1\0z", 5), file)), "read");
}

// No flip of a bit and no truncation gives other tensors.
TEST(PtReader, EveryFlippedBitIsSeenOrChangesNothing) {
  for (const std::string& name : {std::string("one.pt"), std::string("rezipped.pt")}) {
    const std::string whole = golden(name);
    const std::string bytes = contents(read_pt(bytes_in(whole))->tensors.at(0).stored);
    std::size_t unseen = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string flipped = whole;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      const auto file = read_pt(bytes_in(flipped));
      if (!file) continue;
      ++unseen;
      ASSERT_EQ(file->tensors.size(), 1u) << bit;
      EXPECT_EQ(file->tensors[0].name, "layer.weight");
      EXPECT_EQ(file->tensors[0].stored.shape(), (TensorShape{2, 3}));
      EXPECT_EQ(contents(file->tensors[0].stored), bytes) << bit;
    }
    EXPECT_LT(unseen, 8 * whole.size() / 2);  // padding, times, versions, attributes
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(read_pt(bytes_in(whole).first(size)).has_value()) << size;
  }
}

TEST(PtReader, FlippedDataIsAWrongChecksum) {
  std::string file = golden("one.pt");
  const auto stored = read_pt(bytes_in(file))->tensors.at(0).stored;
  const auto at = static_cast<std::size_t>(stored.bytes().data() - bytes_in(file).data());
  file[at] = static_cast<char>(file[at] ^ 1);
  const auto read = read_pt(bytes_in(file));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(read.error().message(), HasSubstr("record 'one/data/0' has the checksum"));
}

}  // namespace
}  // namespace ratoon::checkpoint::zip_reader_test
