// Packs that safetensors itself wrote: golden/make.py.
#include <gtest/gtest.h>

#include "tests/support/sample_pack.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::golden_test {
namespace {

const std::filesystem::path kGolden = "tests/unit/agent/checkpoint/pack/golden";

TEST(PackGolden, OursIsWhatSafetensorsWrites) {
  const std::string expected = test::read_text(kGolden / "pack.safetensors");
  const test::PackFile ours = test::sample_pack();
  EXPECT_EQ(ours.bytes.substr(0, 4096 * 2), expected.substr(0, 4096 * 2));
  EXPECT_TRUE(ours.bytes == expected);
}

TEST(PackGolden, OfFormatTwoIsReadByLaterVersions) {
  const test::PackFile stored{
      .name = "golden", .header = {}, .bytes = test::read_text(kGolden / "pack.safetensors")};
  const PackHeader header = test::read_header(stored).value();
  const test::PackFile ours = test::sample_pack();
  EXPECT_EQ(header.block_crcs, ours.header.block_crcs);
  EXPECT_EQ(header.hashes, ours.header.hashes);
  EXPECT_EQ(header.layout.file_bytes(), ours.bytes.size());
  for (std::size_t i = 0; i < header.layout.tensors.size(); ++i) {
    EXPECT_EQ(header.layout.tensors[i].name, ours.header.layout.tensors[i].name);
    EXPECT_EQ(header.layout.tensors[i].box, ours.header.layout.tensors[i].box);
  }
}

TEST(PackGolden, ForeignFilesAreReadAsTheyLie) {
  const std::string bytes = test::read_text(kGolden / "foreign.safetensors");
  const auto header_bytes = header_bytes_of(bytes, bytes.size()).value();
  const PackLayout layout =
      decode_foreign_header(std::string_view(bytes).substr(0, header_bytes), bytes.size()).value();
  const test::PackFile ours = test::sample_pack();
  ASSERT_EQ(layout.tensors.size(), ours.header.layout.tensors.size());
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const PackedTensor& expected = ours.header.layout.tensors[i];
    EXPECT_EQ(layout.tensors[i].name, expected.name);
    EXPECT_EQ(layout.tensors[i].shape, expected.shape);
    EXPECT_EQ(layout.tensors[i].begin, expected.begin);
  }
  EXPECT_TRUE(bytes.substr(header_bytes) == ours.bytes.substr(ours.header.layout.header_bytes));
  EXPECT_FALSE(decode_header(std::string_view(bytes).substr(0, header_bytes), bytes.size()));
}

}  // namespace
}  // namespace ratoon::checkpoint::golden_test
