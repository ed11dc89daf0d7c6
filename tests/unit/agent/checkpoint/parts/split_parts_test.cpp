#include "agent/src/checkpoint/parts/split_parts.h"

#include <random>

#include <gmock/gmock.h>

namespace ratoon::checkpoint::split_parts_test {
namespace {

constexpr PartSizes kSizes{.tensor_bytes_min = 1024, .part_bytes_min = 256};
constexpr CheckpointId kFirst{.attempt = Attempt(1), .step = Step(10)};

CommittedParts nothing_known() {
  return {CheckpointId(), {}, kSizes};
}

TensorView view_of(const std::string& bytes, const TensorShape& shape = {}) {
  return {.name = "buffer",
          .shape = shape.empty() ? TensorShape{bytes.size()} : shape,
          .bytes = std::as_bytes(std::span(bytes)),
          .is_saved_in_parts = true};
}

std::string random_bytes(std::size_t count) {
  std::mt19937_64 random(count);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// The records after a save wrote its parts: each has a digest of its own as the name of its file.
std::vector<TensorInParts> written(const SplitState& split, const CheckpointId& id) {
  auto tensors = split.parts.tensors;
  for (const PartToWrite& part : split.parts.to_write)
    for (const auto& [tensor, number] : part.places) {
      tensors[tensor].parts[number].saved_in = id;
      tensors[tensor].parts[number].header_digest = to_hex(tensors[tensor].parts[number].rows_digest);
    }
  return tensors;
}

TEST(SplitParts, WritesOnlyTheChangedPartsOfTheNextSave) {
  std::string bytes = random_bytes(4096);
  const SplitState first = split_into_parts(std::array{view_of(bytes)}, nothing_known());
  EXPECT_TRUE(first.pack_tensors.empty());
  ASSERT_EQ(first.parts.tensors.size(), 1u);
  EXPECT_EQ(first.parts.tensors.front().parts.size(), 16u);
  EXPECT_EQ(first.parts.bytes_to_write(), 4096u);
  EXPECT_EQ(first.parts.base, std::nullopt);

  bytes[300] ^= 1;
  const CommittedParts known(kFirst, written(first, kFirst), kSizes);
  const SplitState second = split_into_parts(std::array{view_of(bytes)}, known);
  ASSERT_EQ(second.parts.to_write.size(), 1u);
  EXPECT_EQ(second.parts.to_write.front().rows.bytes.data(), std::as_bytes(std::span(bytes)).data() + 256);
  EXPECT_EQ(second.parts.base, kFirst);
}

TEST(SplitParts, EqualPartsAreWrittenOnce) {
  const std::string zeros(100'000, '\0');
  const SplitState split = split_into_parts(std::array{view_of(zeros)}, nothing_known());
  EXPECT_EQ(split.parts.to_write.size(), 2u) << "one for all whole parts, one for the shorter last part";
  EXPECT_EQ(split.parts.to_write.front().places.size(), split.parts.tensors.front().parts.size() - 1);
}

TEST(SplitParts, SmallTensorsAndPartsOfSharedTensorsStayInThePack) {
  const std::string bytes = random_bytes(2048);
  TensorView shared = view_of(bytes);
  shared.box = TensorBox{.begin = {0}, .whole_shape = {4096}};
  TensorView usual = view_of(bytes);
  usual.is_saved_in_parts = false;
  const std::string small = random_bytes(1023);
  const SplitState split =
      split_into_parts(std::array{shared, usual, view_of(small), view_of({}, {0, 4})}, nothing_known());
  EXPECT_EQ(split.pack_tensors.size(), 4u);
  EXPECT_TRUE(split.parts.tensors.empty());
}

TEST(SplitParts, PartsHoldWholeRowsAndCoverTheTensor) {
  for (const std::uint64_t rows : {1u, 2u, 7u, 100u, 513u, 40'000u}) {
    for (const std::uint64_t row_bytes : {1u, 3u, 100u, 5000u}) {
      const std::string bytes(rows * row_bytes, 'x');
      if (bytes.size() < kSizes.tensor_bytes_min) continue;
      const SplitState split =
          split_into_parts(std::array{view_of(bytes, {rows, row_bytes})}, nothing_known());
      ASSERT_EQ(split.parts.tensors.size(), 1u) << rows << " rows of " << row_bytes;
      const TensorInParts& tensor = split.parts.tensors.front();
      std::uint64_t covered = 0;
      for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
        EXPECT_EQ(tensor.first_row(part), covered);
        covered += tensor.row_count(part);
      }
      EXPECT_EQ(covered, rows);
      EXPECT_LE(tensor.parts.size(), 1024u) << rows << " rows of " << row_bytes;
    }
  }
}

TEST(SplitParts, OnePercentInOnePlaceIsLessThanTwoPercentOfTheBytes) {
  for (const std::uint64_t mebibytes : {200u, 255u, 256u, 257u, 511u, 1023u, 1024u, 1025u, 5000u, 65'537u}) {
    for (const std::uint64_t row_bytes : {1u, 4u, 28'224u, 100'000u}) {
      const std::uint64_t rows = (mebibytes << 20) / row_bytes;
      const std::uint64_t bytes = rows * row_bytes;
      const std::uint64_t part_bytes = choose_rows_per_part(rows, bytes) * row_bytes;
      const std::uint64_t touched = (bytes / 100 + part_bytes - 2) / part_bytes + 1;
      EXPECT_LE(touched * part_bytes, bytes / 50) << mebibytes << " MiB in rows of " << row_bytes;
    }
  }
}

TEST(SplitParts, AGrowingTensorKeepsTheBoundariesOfItsParts) {
  const std::string bytes = random_bytes(60'000);
  const auto at = [&](std::size_t count) { return bytes.substr(0, count); };
  const std::string before = at(50'000);
  const SplitState first = split_into_parts(std::array{view_of(before)}, nothing_known());
  const CommittedParts known(kFirst, written(first, kFirst), kSizes);
  const std::string after = at(50'500);
  const SplitState second = split_into_parts(std::array{view_of(after)}, known);
  EXPECT_LE(second.parts.bytes_to_write(), 500u + 2 * kSizes.part_bytes_min);
}

TEST(SplitParts, OneRankHasALimitedNumberOfParts) {
  std::vector<std::string> buffers;
  for (int i = 0; i < 20; ++i) buffers.push_back(random_bytes(100'000));
  std::vector<TensorView> views;
  for (const std::string& one : buffers) views.push_back(view_of(one));
  const SplitState split = split_into_parts(views, nothing_known());
  std::size_t parts = 0;
  for (const TensorInParts& tensor : split.parts.tensors) parts += tensor.parts.size();
  EXPECT_LE(parts, kPartsMax);
  EXPECT_EQ(split.parts.tensors.size() + split.pack_tensors.size(), views.size());
  EXPECT_FALSE(split.pack_tensors.empty());
}

}  // namespace
}  // namespace ratoon::checkpoint::split_parts_test
