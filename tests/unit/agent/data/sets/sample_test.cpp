#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/sample.h>

namespace ratoon::sample_test {
namespace {

using testing::ElementsAre;

void fill(std::span<std::byte> bytes, int value) {
  std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(value));
}

TEST(Sample, OwnsWhatItIsAskedToAndKeepsItUntilTheNextOne) {
  Sample sample;
  sample.begin(7);
  const std::uint64_t shape[] = {100, 3};
  for (int i = 0; i < 50; ++i) fill(sample.add(ElementType::kFloat32, shape), i);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_THAT(sample.field(i).shape, ElementsAre(100u, 3u));
    EXPECT_EQ(sample.field(i).bytes.size(), 1200u);
    EXPECT_THAT(sample.field(i).bytes, testing::Each(static_cast<std::byte>(i)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sample.field(i).bytes.data()) % 16, 0u);
  }
  sample.begin(8);
  EXPECT_EQ(sample.size(), 0u);
  EXPECT_THROW(static_cast<void>(sample.field(0)), std::out_of_range);
}

TEST(Sample, WhatAFieldHeldBeforeStaysReadable) {
  Sample sample;
  sample.begin(0);
  const std::uint64_t few[] = {4}, many[] = {100000};
  fill(sample.add(ElementType::kUint8, few), 1);
  const Field before = sample.field(0);
  fill(sample.scratch(5000), 9);
  fill(sample.replace(0, ElementType::kUint8, many), 2);
  EXPECT_THAT(before.bytes, testing::Each(std::byte{1}));
  EXPECT_THAT(before.shape, ElementsAre(4u));
  EXPECT_EQ(sample.field(0).bytes.size(), 100000u);
}

TEST(Sample, HoldsItsOwnersUntilTheNextOne) {
  const auto owner = std::make_shared<int>(1);
  Sample sample;
  sample.begin(0);
  sample.keep_alive(owner);
  EXPECT_EQ(owner.use_count(), 2);
  sample.begin(1);
  EXPECT_EQ(owner.use_count(), 1);
}

// Many samples, each a little larger than the one before, take no more memory than the largest.
TEST(Sample, ReusesItsMemory) {
  Sample sample;
  const std::byte* last = nullptr;
  for (std::uint64_t size = 1; size < 5000; ++size) {
    sample.begin(size);
    last = sample.add(ElementType::kBytes, {&size, 1}).data();
    sample.add(ElementType::kBytes, {&size, 1});
  }
  sample.begin(0);
  const std::uint64_t size = 4000;
  last = sample.add(ElementType::kBytes, {&size, 1}).data();
  sample.begin(0);
  EXPECT_EQ(sample.add(ElementType::kBytes, {&size, 1}).data(), last) << "the same memory for the same wish";
}

TEST(Sample, BeginsEachArrayWhereAnyTypeMayLie) {
  Sample sample;
  sample.begin(0);
  for (std::uint64_t size = 0; size < 40; ++size) {
    const std::uint64_t shape[] = {size};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sample.add(ElementType::kBytes, shape).data()) % 16, 0u)
        << size;
  }
}

TEST(Sample, LiesInOnePieceOnceItsSizeIsKnown) {
  Sample sample;
  const std::uint64_t shape[] = {4000};
  for (int round = 0; round < 3; ++round) {
    sample.begin(0);
    const auto first = sample.add(ElementType::kBytes, shape);
    const auto second = sample.add(ElementType::kBytes, shape);
    const auto third = sample.add(ElementType::kBytes, shape);
    if (round == 0) continue;
    EXPECT_EQ(second.data() - first.data(), 4000 + 16) << "a shape lies between";
    EXPECT_EQ(third.data() - second.data(), 4000 + 16);
  }
}

TEST(Sample, AFieldOfAnotherSizeIsNotReadAsANumber) {
  Sample sample;
  sample.begin(0);
  sample.add(ElementType::kInt32, {});
  EXPECT_EQ(sample.field(0).bytes.size(), 4u);
  EXPECT_NO_THROW(static_cast<void>(sample.field(0).as<std::int32_t>()));
  EXPECT_THROW(static_cast<void>(sample.field(0).as<std::int64_t>()), std::invalid_argument);
}

TEST(BytesOf, SaysHowLargeAnArrayIsOrThatItIsTooLarge) {
  const std::uint64_t shape[] = {3, 5};
  EXPECT_EQ(bytes_of(ElementType::kFloat16, shape), 30u);
  EXPECT_EQ(bytes_of(ElementType::kFloat64, {}), 8u);
  const std::uint64_t huge[] = {std::uint64_t{1} << 61, 4};
  EXPECT_THROW(static_cast<void>(bytes_of(ElementType::kUint8, huge)), std::overflow_error);
  const std::uint64_t empty[] = {std::uint64_t{1} << 61, 0};
  EXPECT_EQ(bytes_of(ElementType::kUint8, empty), 0u);
}

}  // namespace
}  // namespace ratoon::sample_test
