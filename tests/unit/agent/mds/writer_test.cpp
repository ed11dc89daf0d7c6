#include <cmath>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/mds_writer.h>

#include "agent/src/mds/format/python_text.h"
#include "agent/src/mds/format/values/float16.h"
#include "tests/support/mds_copy.h"
#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::writer_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

Field bytes_field(std::string_view text) {
  return {.bytes = std::as_bytes(std::span(text))};
}

// Reads a folder that Streaming wrote and writes it again.
void write_again(const fs::path& golden, const fs::path& folder) {
  const json index = json::parse(test::read_text(golden / "index.json"));
  const auto data = MdsDataset::open(golden.string());
  test::MdsColumns columns;
  for (std::size_t i = data->columns().size(); i-- > 0;)
    columns.emplace_back(data->columns()[i].name, data->encoding(i));
  MdsWriterOptions options;
  if (!index["shards"].empty()) {
    const json& first = index["shards"][0];
    options = {
        .compression = first["compression"].is_null() ? "" : first["compression"].get<std::string>(),
        .hashes = first["hashes"].get<std::vector<std::string>>(),
        .size_limit_bytes = first["size_limit"].is_null() ? 0 : first["size_limit"].get<std::uint64_t>()};
  } else {
    columns = {{"a", "int"}};
  }
  MdsWriter writer(folder, columns, options);
  test::copy_samples(*data, columns, writer);
}

// The 242 bytes of the worked example, empty shards, the split rule, names that are not ASCII, 17 hashes.
TEST(MdsWriter, MakesTheVeryFilesOfStreaming) {
  for (const char* name : {"worked", "empty_shard", "split", "names", "unlimited", "hashes", "nothing"}) {
    SCOPED_TRACE(name);
    const test::TemporaryFolder scratch;
    write_again(kGolden / name, scratch / "again");
    int files = 0;
    for (const auto& file : fs::directory_iterator(kGolden / name)) {
      if (file.path().filename() == "expected.json") continue;
      EXPECT_EQ(test::read_text(scratch / "again" / file.path().filename().string()),
                test::read_text(file.path()))
          << file.path();
      ++files;
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "again"), fs::directory_iterator()), files);
  }
  EXPECT_EQ(fs::file_size(kGolden / "worked" / "shard.00000.mds"), 242u);
}

TEST(MdsWriter, CompressedFilesUnpackToThoseOfStreaming) {
  for (const char* name : {"compressed/br", "compressed/bz2", "compressed/gz", "compressed/snappy",
                           "compressed/zstd", "compressed/zstd-19", "zstd_hashes"}) {
    SCOPED_TRACE(name);
    const test::TemporaryFolder scratch;
    write_again(kGolden / name, scratch / "again");
    const json theirs = json::parse(test::read_text(kGolden / name / "index.json"));
    const json ours = json::parse(test::read_text(scratch / "again" / "index.json"));
    for (std::size_t i = 0; i < theirs["shards"].size(); ++i) {
      EXPECT_EQ(ours["shards"][i]["raw_data"], theirs["shards"][i]["raw_data"]);  // with its hashes
      EXPECT_EQ(ours["shards"][i]["zip_data"]["basename"], theirs["shards"][i]["zip_data"]["basename"]);
    }
    expect_content(*MdsDataset::open((scratch / "again").string()), expected_of(kGolden / name));
  }
}

// Every encoding from values, not from encoded bytes. Of Pillow's modes, only those that numpy would choose
// are made from arrays.
TEST(MdsWriter, EncodesAsStreamingDoes) {
  const auto data = MdsDataset::open((kGolden / "every").string());
  const test::TemporaryFolder scratch;
  test::MdsColumns columns;
  for (std::size_t i = 0; i < data->columns().size(); ++i) {
    if (data->encoding(i) != "pil") columns.emplace_back(data->columns()[i].name, data->encoding(i));
  }
  MdsWriter writer(scratch.path(), columns);
  test::copy_samples(*data, columns, writer);
  json notes = expected_of(kGolden / "every");
  for (auto& note : notes["samples"]) note.erase("pil");
  expect_content(*MdsDataset::open(scratch.path().string()), notes);
}

TEST(MdsWriter, MakesImagesOfArrays) {
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch.path(), {{"p", "pil"}, {"l", "list[pil]"}});
  const std::string pixels(24, 'p');
  const std::uint64_t gray[] = {4, 6}, colors[] = {2, 4, 3}, one[] = {3, 8, 1}, clear[] = {3, 2, 4};
  const auto image = [&](std::span<const std::uint64_t> shape) {
    return Field{ElementType::kUint8, shape, std::as_bytes(std::span(pixels))};
  };
  const Field all[] = {image(gray), image(colors), image(one), image(clear)};
  for (const Field& each : all) writer.write({{"p", each}, {"l", std::span<const Field>(all)}});
  writer.finish();
  const auto data = MdsDataset::open(scratch.path().string());
  Sample sample, elements;
  const std::vector<std::uint64_t> shapes[] = {{4, 6}, {2, 4, 3}, {3, 8}, {3, 2, 4}};
  for (std::uint64_t id = 0; id < 4; ++id) {
    data->read(id, sample);
    EXPECT_THAT(sample.field(1).shape, testing::ElementsAreArray(shapes[id]));
    EXPECT_EQ(sample.field(1).text(), pixels);
    data->elements(0, sample.field(0), elements);
    EXPECT_THAT(elements.field(id).shape, testing::ElementsAreArray(shapes[id]));
  }
}

void expect_refused(const std::string& encoding, const MdsValue& value, const std::string& sentence) {
  SCOPED_TRACE(encoding);
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch.path(), {{"c", encoding}});
  try {
    writer.write({{"c", value}});
    FAIL() << "was taken";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("MdsWriter: column 'c': "));
    EXPECT_THAT(refusal.what(), HasSubstr(sentence));
  }
}

TEST(MdsWriter, ValuesThatAreNoneOfTheEncodingAreRefused) {
  const std::uint64_t six[] = {6}, two_three[] = {2, 3}, none[] = {0}, five_channels[] = {1, 1, 5};
  const std::string six_bytes = "123456";
  const auto array = [&](ElementType type, std::span<const std::uint64_t> shape) {
    return Field{type, shape, std::as_bytes(std::span(six_bytes))};
  };
  expect_refused("uint8", 256, "256 is out of the range of its type");
  expect_refused("uint8", -1, "-1 is out of the range of its type");
  expect_refused("int8", 128, "128 is out of the range of its type");
  expect_refused("int", ~0ULL, "18446744073709551615 is out of the range of its type");
  expect_refused("int32", 1.5, "'int32' takes a whole number");
  expect_refused("int32", "1", "'int32' takes a whole number");
  expect_refused("int32", bytes_field("123"), "'int32' takes 4 bytes, but these are 3");
  expect_refused("float16", 65520, "65520.0 is out of the range of its type");
  expect_refused("float32", 1e39, "1e+39 is out of the range of its type");
  expect_refused("float64", "1", "'float64' takes a number");
  expect_refused("str", 3, "'str' takes a text");
  expect_refused("str", "\xff", "the text is not UTF-8");
  expect_refused("str_int", 3.0, "'str_int' takes a whole number");
  expect_refused("str_int", "3.0", "'str_int' takes a whole number");
  expect_refused("str_int", "-", "'str_int' takes a whole number");
  expect_refused("str_float", "1", "'str_float' takes a number");
  expect_refused("str_decimal", "one", "'str_decimal' takes a decimal number");
  expect_refused("json", "{", "'json' takes valid JSON");
  expect_refused("bytes", "text", "'bytes' takes bytes");
  expect_refused("jpeg", 3, "'jpeg' takes bytes");
  expect_refused("ndarray", 3, "'ndarray' takes an array");
  expect_refused("ndarray", array(ElementType::kText, six), "'ndarray' takes an array of its type");
  expect_refused("ndarray", array(ElementType::kUint8, {}), "an array of 1 to 63 dimensions");
  expect_refused("ndarray", array(ElementType::kUint8, none), "none of them 0");
  expect_refused("ndarray", array(ElementType::kUint16, six), "an array of 1 to 63 dimensions");
  expect_refused("ndarray:int8", array(ElementType::kUint8, six),
                 "'ndarray:int8' takes an array of its type");
  expect_refused("ndarray:uint8:6", array(ElementType::kUint8, two_three), "an array of its type and shape");
  expect_refused("ndarray:uint8:6", 3, "an array of its type and shape");
  expect_refused("pil", array(ElementType::kUint8, six), "'pil' takes an array of uint8");
  expect_refused("pil", array(ElementType::kInt8, two_three), "'pil' takes an array of uint8");
  expect_refused("pil", array(ElementType::kUint8, five_channels), "'pil' takes an array of uint8");
  const Field numbers[] = {array(ElementType::kUint8, six)};
  expect_refused("list[png]", std::span<const Field>(numbers), "'list[png]' takes bytes as its elements");
  expect_refused("list[png]", array(ElementType::kUint8, six), "'list[png]' takes a list of fields");
}

TEST(MdsWriter, OptionsThatCannotBeAreRefused) {
  const test::TemporaryFolder scratch;
  const auto refusal = [&](std::vector<std::pair<std::string, std::string>> columns,
                           const MdsWriterOptions& options) {
    try {
      const MdsWriter writer(scratch / "new", std::move(columns), options);
    } catch (const std::invalid_argument& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({}, {}), HasSubstr("the data set needs at least one column"));
  EXPECT_THAT(refusal({{"a", "int"}, {"a", "str"}}, {}), HasSubstr("column 'a': two columns have this name"));
  EXPECT_THAT(refusal({{"a", "pkl"}}, {}), HasSubstr("'pkl' is refused"));
  EXPECT_THAT(refusal({{"\xff", "int"}}, {}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal({{"a", "int"}}, {.compression = "lz4"}), HasSubstr("'lz4' is unknown"));
  EXPECT_THAT(refusal({{"a", "int"}}, {.compression = "zstd:99"}), HasSubstr("'zstd:99' is unknown"));
  EXPECT_THAT(refusal({{"a", "int"}}, {.hashes = {"crc32"}}), HasSubstr("'crc32' is unknown"));
  EXPECT_THAT(refusal({{"a", "int"}}, {.hashes = {"sha1", "md5", "sha1"}}), HasSubstr("named twice"));
  EXPECT_THAT(refusal({{"a", "int"}}, {.size_limit_bytes = 1ULL << 32}), HasSubstr("below 2^32"));
  EXPECT_FALSE(fs::exists(scratch / "new"));
}

TEST(MdsWriter, EverySampleHasEveryColumn) {
  const test::TemporaryFolder scratch;
  MdsWriter writer(scratch.path(), {{"a", "int"}, {"b", "int"}});
  EXPECT_THROW(writer.write({{"a", 1}}), std::invalid_argument);
  EXPECT_THROW(writer.write({{"a", 1}, {"b", 2}, {"c", 3}}), std::invalid_argument);
  EXPECT_THROW(writer.write({{"a", 1}, {"b", 2}, {"a", 3}}), std::invalid_argument);
  writer.write({{"b", 2}, {"a", 1}});
  writer.finish();
  EXPECT_THROW(writer.write({{"a", 1}, {"b", 2}}), std::invalid_argument);
  EXPECT_THROW(writer.finish(), std::invalid_argument);
  EXPECT_EQ(MdsDataset::open(scratch.path().string())->size(), 1u);
}

TEST(MdsWriter, WithoutAnEndThereIsNoDataset) {
  const test::TemporaryFolder scratch;
  {
    MdsWriter writer(scratch.path(), {{"a", "int"}}, {.size_limit_bytes = 300});
    for (int i = 0; i < 100; ++i) writer.write({{"a", i}});
  }
  EXPECT_TRUE(fs::exists(scratch / "shard.00001.mds"));
  EXPECT_THROW(MdsDataset::open(scratch.path().string()), Failure);
  MdsWriter again(scratch.path(), {{"a", "int"}});
  again.write({{"a", 7}});
  again.finish();
  EXPECT_EQ(MdsDataset::open(scratch.path().string())->size(), 1u);
  EXPECT_THROW(MdsWriter(scratch.path(), {{"a", "int"}}), Failure);
}

TEST(MdsWriter, AFolderThatCannotBeWrittenIsNamed) {
  const test::TemporaryFolder scratch;
  test::write_text(scratch / "file", "");
  EXPECT_THROW(MdsWriter(scratch / "file", {{"a", "int"}}), Failure);
  MdsWriter writer(scratch / "gone", {{"a", "int"}});
  writer.write({{"a", 1}});
  fs::remove(scratch / "gone");
  EXPECT_THROW(writer.finish(), Failure);
  EXPECT_THROW(writer.finish(), std::invalid_argument);
}

// numpy.float16 of the same numbers.
TEST(Half, RoundsToTheNearestAndEven) {
  const std::pair<double, unsigned> cases[] = {
      {0.0, 0x0000},     {-0.0, 0x8000},         {1.0, 0x3c00},           {-2.0, 0xc000},
      {65504, 0x7bff},   {65519.99, 0x7bff},     {65520, 0x7c00},         {0x1p-24, 0x0001},
      {0x1p-25, 0x0000}, {0x1.8p-25, 0x0001},    {0x3p-25, 0x0002},       {0x1p-14, 0x0400},
      {0.1, 0x2e66},     {1.0009765625, 0x3c01}, {1.00048828125, 0x3c00}, {1.00146484375, 0x3c02},
      {2047.5, 0x6800},  {0x1.ffap-15, 0x03ff},  {0x1.ffcp-15, 0x0400}};
  for (const auto& [number, half] : cases) EXPECT_EQ(to_float16(number), half) << number;
  EXPECT_EQ(to_float16(std::numeric_limits<double>::infinity()), 0x7c00);
  EXPECT_EQ(to_float16(std::nan("")) & 0x7fff, 0x7e00);
}

// Python's repr() and json.dumps() of the same.
TEST(PythonText, IsPythons) {
  const std::pair<double, const char*> cases[] = {{0.0, "0.0"},
                                                  {-0.0, "-0.0"},
                                                  {1.0, "1.0"},
                                                  {0.1, "0.1"},
                                                  {-2.5e300, "-2.5e+300"},
                                                  {1e16, "1e+16"},
                                                  {1e15, "1000000000000000.0"},
                                                  {123456.0, "123456.0"},
                                                  {1e-4, "0.0001"},
                                                  {1e-5, "1e-05"},
                                                  {5e-324, "5e-324"},
                                                  {9007199254740993.0, "9007199254740992.0"},
                                                  {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                  {1e22, "1e+22"},
                                                  {0.00012345, "0.00012345"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(format_python_float(number), text);
  EXPECT_EQ(format_python_json(
                json::parse(R"({"b":[1,null,true,{}],"a":"\u0000\u00fc\ud83d\ude42\"\\/\u007f\n\b"})")),
            R"({"a": "\u0000\u00fc\ud83d\ude42\"\\/\u007f\n\b", "b": [1, null, true, {}]})");
}

}  // namespace
}  // namespace ratoon::mds::writer_test
