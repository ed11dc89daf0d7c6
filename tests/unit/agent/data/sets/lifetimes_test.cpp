// Views live as long as the public headers promise; AddressSanitizer checks this.
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include <ratoon/concat_dataset.h>
#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/record_dataset.h>
#include <ratoon/subset_dataset.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::lifetimes_test {
namespace {

constexpr std::int64_t kSamples = 300;

std::shared_ptr<MemoryDataset> count_with_noun() {
  std::vector<std::int64_t> values(2 * kSamples);
  std::iota(values.begin(), values.end(), 0);
  return MemoryDataset::of({MemoryColumn("pair", std::move(values), {2})});
}

std::vector<std::int64_t> numbers_of(const Field& field) {
  std::vector<std::int64_t> numbers(field.bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), field.bytes.data(), field.bytes.size());
  return numbers;
}

// The field of sample 1, kept while all others are read into the same sample, and after the sample is
// destroyed.
void expect_fields_for_the_life_of(const Dataset& data) {
  std::optional<Sample> sample(std::in_place);
  data.read(1, *sample);
  const Field kept = sample->field(0);
  for (std::uint64_t id = 0; id < data.size(); ++id) data.read(id, *sample);
  sample.reset();
  EXPECT_EQ(kept.shape.size(), 1u);
  EXPECT_EQ(kept.shape[0], 2u);
  EXPECT_EQ(numbers_of(kept), (std::vector<std::int64_t>{2, 3}));
}

// memory_dataset.h: "The fields point into the arrays: they are valid while the data set exists."
TEST(Lifetimes, FieldsInMemoryLiveAsLongAsTheDataSet) {
  const auto data = count_with_noun();
  expect_fields_for_the_life_of(*data);
  expect_fields_for_the_life_of(*SubsetDataset::of(data, {{0, 10}}));
  expect_fields_for_the_life_of(*ConcatDataset::of({data, data}));
}

// record_dataset.h: "The fields point into the file's mapping: they are valid while the data set exists."
TEST(Lifetimes, FieldsOfRecordsLiveAsLongAsTheDataSet) {
  const test::TemporaryFolder folder;
  std::string bytes(2 * kSamples * sizeof(std::int64_t), '\0');
  for (std::int64_t i = 0; i < 2 * kSamples; ++i)
    std::memcpy(&bytes[static_cast<std::size_t>(i) * sizeof i], &i, sizeof i);
  test::write_text(folder / "records", bytes);
  const auto data = RecordDataset::open(
      folder / "records", {.columns = {{.name = "pair", .type = ElementType::kInt64, .shape = {{2}}}}});
  std::filesystem::remove(folder / "records");
  expect_fields_for_the_life_of(*data);
}

// sample.h: a field's former memory stays readable until begin(), memory does not move until then, and owners
// are held until then.
TEST(Lifetimes, WhatASampleGaveStaysUntilBegin) {
  Sample sample;
  sample.begin(1);
  auto owner = std::make_shared<std::vector<std::int64_t>>(std::vector<std::int64_t>{5, 6});
  const std::weak_ptr<const void> held = owner;
  const std::uint64_t two[] = {2};
  sample.add(ElementType::kInt64, two, std::as_bytes(std::span(*owner)));
  sample.keep_alive(std::move(owner));
  const std::span<std::byte> scratch = sample.scratch(8);
  std::memset(scratch.data(), 7, scratch.size());
  const Field first = sample.field(0);
  std::vector<Field> before;
  for (std::int64_t i = 0; i < kSamples; ++i) {  // over many blocks of memory
    before.push_back(sample.field(0));
    const std::int64_t values[] = {i, i + 1};
    std::memcpy(sample.replace(0, ElementType::kInt64, two).data(), values, sizeof values);
  }
  EXPECT_EQ(numbers_of(first), (std::vector<std::int64_t>{5, 6}));
  for (std::int64_t i = 1; i < kSamples; ++i)
    EXPECT_EQ(numbers_of(before[static_cast<std::size_t>(i)]), (std::vector<std::int64_t>{i - 1, i}));
  EXPECT_EQ(scratch[7], std::byte{7});
  EXPECT_FALSE(held.expired());
  sample.begin(2);
  EXPECT_TRUE(held.expired()) << "nothing is kept for longer";
}

// batch.h: "copies share the memory, which does not change while a copy exists."
TEST(Lifetimes, ABatchStaysAsItIsThoughLoaderAndDataSetAreGone) {
  for (const std::uint32_t threads : {0U, 2U}) {
    std::vector<Batch> kept;
    {
      Stream stream({.samples = kSamples, .global_batch = 7, .order = SampleOrder::kInOrder});
      DataLoader loader(count_with_noun(), stream, {.threads = threads});
      for (int i = 0; i < 100; ++i) {
        const Batch batch = loader.next();
        if (i % 10 == 0) kept.push_back(batch);
      }
    }
    for (const Batch& batch : kept) {
      const auto values = batch.column("pair").values<std::int64_t>();
      ASSERT_EQ(values.size(), 2 * batch.size());
      for (std::size_t row = 0; row < batch.size(); ++row) {
        EXPECT_EQ(values[2 * row], static_cast<std::int64_t>(2 * batch.slots()[row].sample));
        EXPECT_EQ(numbers_of(batch.column("pair").row(row))[1], values[2 * row] + 1);
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::lifetimes_test
