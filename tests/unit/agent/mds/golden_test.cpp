#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::golden_test {
namespace {

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, IsReadAsItWasWritten) {
  const auto folder = kGolden / GetParam();
  const auto data = MdsDataset::open(folder.string());
  expect_content(*data, expected_of(folder));
}

TEST_P(Golden, IsTheSameReadIntoMemory) {
  const auto folder = kGolden / GetParam();
  const auto data = MdsDataset::open(folder.string(), {.maps_files = false, .memory_bytes_max = 1});
  expect_content(*data, expected_of(folder));
}

INSTANTIATE_TEST_SUITE_P(Streaming, Golden, testing::ValuesIn(golden_names()), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

// Of Streaming's 27, only pickles are missing among the folders.
TEST(Golden, CoversEveryEncoding) {
  const auto encodings = expected_of(kGolden / "every")["encodings"];
  std::set<std::string> covered;
  for (const auto& [column, encoding] : encodings.items())
    covered.insert(encoding.get<std::string>().substr(0, encoding.get<std::string>().find(':')));
  EXPECT_EQ(covered,
            (std::set<std::string>{
                "bytes",     "str",     "int",   "ndarray",   "uint8",       "uint16",   "uint32",
                "uint64",    "int8",    "int16", "int32",     "int64",       "float16",  "float32",
                "float64",   "str_int", "pil",   "str_float", "str_decimal", "jpeg",     "jpeg_array",
                "jpegarray", "png",     "json",  "list[pil]", "list[jpeg]",  "list[png]"}));
}

}  // namespace
}  // namespace ratoon::mds::golden_test
