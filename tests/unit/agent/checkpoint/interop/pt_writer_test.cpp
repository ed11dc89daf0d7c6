#include "agent/src/checkpoint/interop/pt_writer.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/interop/pickle/pickle_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/interop/zip/zip_writer.h"
#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::pt_writer_test {
namespace {

using testing::HasSubstr;
using namespace test;  // NOLINT

std::string refusal_of(const std::vector<TensorSource>& sources) {
  TextSink sink;
  const auto written = write_pt(sources, sink);
  return written ? "written" : written.error().message();
}

std::string safetensors_refusal_of(const std::vector<TensorSource>& sources) {
  TextSink sink;
  const auto written = write_safetensors(sources, sink);
  return written ? "written" : written.error().message();
}

// A pack of this size would need a header of 102,543,360 bytes.
TEST(Safetensors, HasNoLimitOfPacks) {
  const TensorSource huge{
      .name = "huge",
      .type = ElementType::kFloat32,
      .shape = {105'000'000'000},
      .write = [](ByteSink&) -> Result<void> { return Error(ErrorKind::kIo, "no bytes"); }};
  EXPECT_THAT(safetensors_refusal_of({huge}), HasSubstr("no bytes"));
}

TEST(PtWriter, RefusesWhatNoTensorOfTorchIs) {
  for (const ElementType type : {ElementType::kBytes, ElementType::kText})
    EXPECT_THAT(refusal_of({source("x", type, {1}, "a")}), HasSubstr("pass it as uint8"));
  EXPECT_THAT(
      refusal_of({source("x", ElementType::kInt8, {1}, "a"), source("x", ElementType::kInt8, {1}, "b")}),
      HasSubstr("two tensors of the name 'x'"));
  EXPECT_THAT(refusal_of({source("\xff", ElementType::kInt8, {1}, "a")}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal_of({source("x", ElementType::kInt8, {std::uint64_t{1} << 63}, "a")}),
              HasSubstr("2^62"));
}

TEST(PtWriter, ATensorHandsOverExactlyItsBytes) {
  for (const auto& refusal : {refusal_of, safetensors_refusal_of}) {
    EXPECT_THAT(refusal({source("short", ElementType::kInt8, {3}, "ab")}),
                testing::AllOf(HasSubstr("'short'"), HasSubstr("1 bytes ")));
    EXPECT_THAT(refusal({source("long", ElementType::kInt8, {1}, "ab")}),
                testing::AllOf(HasSubstr("'long'"), HasSubstr("more")));
    EXPECT_THAT(refusal({source("some", ElementType::kInt8, {0}, "a")}), HasSubstr("more"));
    EXPECT_EQ(refusal({source("fine", ElementType::kInt8, {2}, "ab")}), "written");
  }
}

TEST(ZipWriterOrder, ARecordIsEndedOnceAndBeforeTheNextOne) {
  TextSink sink;
  ZipWriter zip(sink, "archive");
  EXPECT_THAT(zip.end().error().message(), HasSubstr("none was begun"));
  ASSERT_TRUE(zip.begin("first", 0));
  EXPECT_THAT(zip.begin("second", 0).error().message(),
              HasSubstr("'archive/first' of the zip file is not ended"));
  EXPECT_THAT(zip.finish().error().message(), HasSubstr("is not ended"));
  ASSERT_TRUE(zip.end());
  EXPECT_FALSE(zip.end());
  ASSERT_TRUE(zip.add("second", "b"));
  EXPECT_TRUE(zip.finish());
}

TEST(PtWriter, ErrorsOfSourcesAndSinksComeThrough) {
  struct Full final : ByteSink {
    explicit Full(std::size_t room) : room_bytes(room) {}
    Result<void> append(std::span<const std::byte> bytes) override {
      if (bytes.size() > room_bytes) return Error(ErrorKind::kNoSpace, "the disk is full");
      room_bytes -= bytes.size();
      return {};
    }
    std::size_t room_bytes;
  };
  const std::vector sources{source("x", ElementType::kInt8, {2}, "ab")};
  TextSink whole, plain;
  ASSERT_TRUE(write_pt(sources, whole).has_value());
  ASSERT_TRUE(write_safetensors(sources, plain).has_value());
  for (std::size_t room = 0; room < whole.text.size(); ++room) {
    Full sink(room);
    const auto written = write_pt(sources, sink);
    ASSERT_FALSE(written.has_value()) << room;
    EXPECT_EQ(written.error().kind(), ErrorKind::kNoSpace);
  }
  for (std::size_t room = 0; room < plain.text.size(); ++room) {
    Full sink(room);
    EXPECT_FALSE(write_safetensors(sources, sink).has_value()) << room;
  }
  Full enough(whole.text.size());
  EXPECT_TRUE(write_pt(sources, enough).has_value());

  std::vector broken{sources};
  broken[0].write = [](ByteSink&) { return Result<void>(Error(ErrorKind::kIo, "no such disk")); };
  EXPECT_EQ(refusal_of(broken), "writing tensor 'x': no such disk");
}

// As Python 3.11 pickles them in protocol 2.
TEST(PtWriter, WholeNumbersTakeTheFewestBytesThatKeepTheirSign) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::uint64_t, std::string>> cases{
      {255, "K\xff"s},
      {256, "M\0\1"s},
      {65535, "M\xff\xff"s},
      {65536, "J\0\0\1\0"s},
      {0x7fffffff, "J\xff\xff\xff\x7f"s},
      {0x80000000, "\x8a\5\0\0\0\x80\0"s},
      {0x7fffffffff, "\x8a\5\xff\xff\xff\xff\x7f"s},
      {0x8000000000, "\x8a\6\0\0\0\0\x80\0"s}};
  for (const auto& [number, pickled] : cases) {
    const auto pickle = pickle_of(std::vector{source("w", ElementType::kInt8, {number}, "")});
    EXPECT_THAT(pickle.value(), HasSubstr("K\0"s + pickled + "\x85")) << number;
  }
}

TEST(PtWriter, DifferentContentsHaveDifferentIds) {
  std::set<std::string> ids;
  const auto id_of = [](const std::vector<TensorSource>& sources) {
    TextSink sink;
    EXPECT_TRUE(write_pt(sources, sink).has_value());
    const std::size_t at = sink.text.find("PK\x07\x08", sink.text.find(".data/serialization_id"));
    return sink.text.substr(at - 40, 40);
  };
  for (const char* name : {"x", "y"})
    for (const char* bytes : {"ab", "ac"}) ids.insert(id_of({source(name, ElementType::kInt8, {2}, bytes)}));
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_THAT(*ids.begin(), testing::MatchesRegex("[0-9]+"));
  EXPECT_EQ(id_of({source("x", ElementType::kInt8, {2}, "ab")}),
            id_of({source("x", ElementType::kInt8, {2}, "ab")}));
}

TEST(TensorSource, IsAViewOfAWholeTensor) {
  const std::string bytes = "abcdef";
  TensorView view{.name = "w", .type = ElementType::kInt16, .shape = {3}, .bytes = bytes_in(bytes)};
  TextSink sink;
  ASSERT_TRUE(source_of(view)->write(sink).has_value());
  EXPECT_EQ(sink.text, bytes);
  view.box = TensorBox{.begin = {0}, .whole_shape = {6}};
  EXPECT_THAT(source_of(view).error().message(), HasSubstr("a part of a tensor"));
  view.box.reset();
  view.shape = {2};
  EXPECT_THAT(source_of(view).error().message(), HasSubstr("6 bytes where its type and shape say 4"));
}

TEST(Safetensors, BytesAndTextAreU8ToOthers) {
  TextSink sink;
  ASSERT_TRUE(write_safetensors(std::vector{source("b", ElementType::kBytes, {2}, "ab")}, sink).has_value());
  EXPECT_THAT(sink.text, HasSubstr("{\"b\":{\"dtype\":\"U8\",\"shape\":[2]"));
  EXPECT_EQ(read_safetensors(bytes_in(sink.text))->at(0).type, ElementType::kUint8);
}

TEST(Safetensors, EveryTruncationAndAddedByteIsRefused) {
  const std::string whole = golden("every.safetensors");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_safetensors(bytes_in(whole).first(size)).has_value()) << size;
  EXPECT_FALSE(read_safetensors(bytes_in(whole + '\0')).has_value());
}

}  // namespace
}  // namespace ratoon::checkpoint::pt_writer_test
