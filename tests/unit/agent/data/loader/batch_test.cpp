#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/memory_dataset.h>

#include "agent/src/data/loader/batch_body_pool.h"
#include "agent/src/data/loader/column_maker.h"

namespace ratoon::batch_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Sample i is a text of shape_of(i) letters 'a' + i % 26, in one row or two.
class Texts : public Dataset {
 public:
  explicit Texts(std::function<std::vector<std::uint64_t>(std::uint64_t)> shape_of)
      : shape_of_(std::move(shape_of)) {}
  std::uint64_t size() const override { return 64; }
  std::span<const Column> columns() const override { return columns_; }
  std::string digest() const override { return "texts"; }
  void read(std::uint64_t id, Sample& into) const override {
    into.begin(id);
    const auto bytes = into.add(type, shape_of_(id));
    std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>('a' + id % 26));
  }

  ElementType type = ElementType::kText;

 private:
  std::function<std::vector<std::uint64_t>(std::uint64_t)> shape_of_;
  std::vector<Column> columns_{{.name = "text", .type = ElementType::kText}};
};

StreamOptions in_order(std::uint64_t global_batch) {
  return {.samples = 64, .global_batch = global_batch, .order = SampleOrder::kInOrder};
}

std::shared_ptr<Texts> texts(std::function<std::vector<std::uint64_t>(std::uint64_t)> shape_of) {
  return std::make_shared<Texts>(std::move(shape_of));
}

class BatchColumns : public testing::TestWithParam<std::uint32_t> {
 protected:
  LoaderOptions options() const { return {.threads = GetParam()}; }

  // Reads all samples of two epochs; the loader's estimate improves with every batch.
  void expect_all_rows(DataLoader& loader,
                       const std::function<std::vector<std::uint64_t>(std::uint64_t)>& shape_of) {
    for (std::uint64_t slot = 0; slot < 128;) {
      const Batch batch = loader.next();
      const BatchColumn& column = batch.column("text");
      ASSERT_EQ(column.rows(), batch.size());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column.bytes().data()) % 64, 0u);
      std::size_t bytes = 0;
      for (std::size_t row = 0; row < batch.size(); ++row, ++slot) {
        const Field field = column.row(row);
        const auto shape = shape_of(slot % 64);
        EXPECT_THAT(field.shape, testing::ElementsAreArray(shape));
        EXPECT_EQ(field.text(),
                  std::string(bytes_of(ElementType::kText, shape), static_cast<char>('a' + slot % 64 % 26)));
        EXPECT_EQ(field.bytes.data(), column.bytes().data() + bytes) << "without gaps";
        if (!column.is_stacked()) {
          EXPECT_EQ(column.offsets()[row], bytes);
        }
        bytes += field.bytes.size();
      }
      EXPECT_EQ(column.bytes().size(), bytes);
      if (!column.is_stacked()) {
        EXPECT_EQ(column.offsets().back(), bytes);
      }
      EXPECT_THROW(static_cast<void>(column.row(batch.size())), std::out_of_range);
      loader.advance(batch);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Threads, BatchColumns, testing::Values(0, 1, 4));

TEST_P(BatchColumns, OfRowsThatDifferLieOneAfterTheOther) {
  const auto shape_of = [](std::uint64_t id) { return std::vector<std::uint64_t>{id * 5 % 17}; };
  Stream stream(in_order(10));
  DataLoader loader(texts(shape_of), stream, options());
  const Batch batch = loader.next();
  EXPECT_FALSE(batch.column("text").is_stacked());
  EXPECT_THAT([&] { static_cast<void>(batch.column("text").shape()); },
              ThrowsMessage<std::logic_error>(HasSubstr("'text' differ in shape")));
  EXPECT_THAT(batch.column("text").offsets().first(4), ElementsAre(0u, 0u, 5u, 15u));
  loader.rewind();
  expect_all_rows(loader, shape_of);
}

TEST_P(BatchColumns, OfRowsThatDifferInTheNumberOfDimensions) {
  const auto shape_of = [](std::uint64_t id) {
    return id % 3 == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>(id % 3, id % 5);
  };
  Stream stream(in_order(9));
  DataLoader loader(texts(shape_of), stream, options());
  expect_all_rows(loader, shape_of);
}

TEST_P(BatchColumns, OfRowsThatHappenToBeAlikeAreStacked) {
  const auto shape_of = [](std::uint64_t) { return std::vector<std::uint64_t>{3, 2}; };
  Stream stream(in_order(12));
  DataLoader loader(texts(shape_of), stream, options());
  for (int i = 0; i < 4; ++i) {
    const Batch batch = loader.next();
    EXPECT_TRUE(batch.column("text").is_stacked());
    EXPECT_THAT(batch.column("text").shape(), ElementsAre(12u, 3u, 2u));
    loader.advance(batch);
  }
  loader.rewind();
}

// The loader expects the shape of the last batch, and is wrong again and again.
TEST_P(BatchColumns, OfRowsThatAreAlikeNowAndThen) {
  const auto shape_of = [](std::uint64_t id) {
    return std::vector<std::uint64_t>{id < 40 ? 4 : id < 50 ? 6 : id % 2};
  };
  for (const std::uint64_t global_batch : {1u, 5u, 20u}) {
    Stream stream(in_order(global_batch));
    LoaderOptions one_ahead = options();
    one_ahead.prefetch_batches = 1;
    DataLoader loader(texts(shape_of), stream, one_ahead);
    expect_all_rows(loader, shape_of);
  }
}

// With room for all, rows that are already in their places, and rows that must move others.
TEST_P(BatchColumns, OfRowsOfWhichOneIsLonger) {
  const auto shape_of = [](std::uint64_t id) {
    return std::vector<std::uint64_t>{id < 20 ? 8u : id < 40 || id % 10 != 0 ? 4u : 6u};
  };
  Stream stream(in_order(10));
  LoaderOptions one_ahead = options();
  one_ahead.prefetch_batches = 1;
  DataLoader loader(texts(shape_of), stream, one_ahead);
  expect_all_rows(loader, shape_of);
}

TEST_P(BatchColumns, OfRowsWithoutBytes) {
  const auto shape_of = [](std::uint64_t) { return std::vector<std::uint64_t>{0}; };
  Stream stream(in_order(7));
  DataLoader loader(texts(shape_of), stream, options());
  expect_all_rows(loader, shape_of);
}

TEST_P(BatchColumns, FollowWhatAugmentationMakesOfThem) {
  std::vector<float> values(64 * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  Stream stream(in_order(8));
  LoaderOptions halves = options();
  halves.augment = [](Sample& sample, SampleRandom&) {  // two of four, as doubles
    const Field row = sample.field(0);
    const std::uint64_t shape[] = {2};
    const auto out = sample.replace(0, ElementType::kFloat64, shape);
    for (std::size_t i = 0; i < 2; ++i) {
      float value;
      std::memcpy(&value, row.bytes.data() + 4 * i, 4);
      const double wide = value / 2;
      std::memcpy(out.data() + 8 * i, &wide, 8);
    }
  };
  DataLoader loader(MemoryDataset::of({MemoryColumn::view("x", values, {4})}), stream, halves);
  for (std::uint64_t first = 0; first < 64; first += 8) {
    const Batch batch = loader.next();
    const auto x = batch.column("x").values<double>();
    EXPECT_THAT(batch.column("x").shape(), ElementsAre(8u, 2u));
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(x[i], (static_cast<double>(first + i / 2) * 4 + static_cast<double>(i % 2)) / 2);
    EXPECT_THAT(
        [&] { static_cast<void>(batch.column("x").values<float>()); },
        ThrowsMessage<std::invalid_argument>(HasSubstr("float64, but the program asked for float32")));
    loader.advance(batch);
  }
}

TEST(Batch, NamesTheColumnsThatThereAre) {
  const auto shape_of = [](std::uint64_t) { return std::vector<std::uint64_t>{1}; };
  Stream stream(in_order(7));
  DataLoader loader(texts(shape_of), stream);
  const Batch batch = loader.next();
  EXPECT_EQ(batch.columns().size(), 1u);
  EXPECT_EQ(batch.column("text").values<std::byte>().size(), 7u);
  EXPECT_THAT([&] { static_cast<void>(batch.column("label")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no column 'label'; it has: text")));
}

// ---- memory

std::shared_ptr<MemoryDataset> bytes() {
  std::vector<std::uint8_t> values(64 * 100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i / 100);
  return MemoryDataset::of({MemoryColumn("x", std::move(values), {100})});
}

TEST(Batch, StaysAsItIsWhileSomebodyHoldsIt) {
  std::vector<Batch> held;
  {
    Stream stream(in_order(8));
    DataLoader loader(bytes(), stream, {.threads = 2});
    for (int i = 0; i < 30; ++i) {
      held.push_back(loader.next());
      loader.advance(held.back());
      if (i % 3 == 0) held.erase(held.begin());
    }
  }
  for (const Batch& batch : held) {  // the loader is gone
    for (std::size_t row = 0; row < 8; ++row)
      EXPECT_THAT(batch.column("x").row(row).bytes, Each(static_cast<std::byte>(batch.slots()[row].sample)));
  }
}

// For any number of batches, also if a batch is sometimes held longer.
TEST(Batch, UsesMemoryAgainAndTheUsersOwn) {
  std::atomic<int> allocations = 0, freed = 0;
  {
    Stream stream(in_order(8));
    const auto allocate = [&](std::size_t size) {
      EXPECT_EQ(size, 800u);
      ++allocations;
      const auto memory = data::allocate_aligned(size);
      return std::shared_ptr<std::byte>(memory.get(), [&freed, memory](std::byte*) { ++freed; });
    };
    DataLoader loader(bytes(), stream, {.threads = 2, .prefetch_batches = 2, .allocate = allocate});
    std::optional<Batch> held;
    for (int i = 0; i < 200; ++i) {
      const Batch batch = loader.next();
      if (i % 10 == 0) held = batch;
      loader.advance(batch);
    }
    EXPECT_LE(allocations, 2 + 2 + 1) << "read ahead, in hand and held";
    loader.rewind();
    stream.load_state(stream.save_state());
    static_cast<void>(loader.next());
    EXPECT_LE(allocations, 2 + 2 + 1 + 3)
        << "what was thrown away is used again as well, if threads have left it";
  }
  EXPECT_EQ(freed, allocations);
}

// A data set that declares a field of three letters, and gives as many bytes as it was told.
class Lying : public Dataset {
 public:
  explicit Lying(std::size_t bytes) : bytes_(bytes, 'x') {}
  std::uint64_t size() const override { return 64; }
  std::span<const Column> columns() const override { return columns_; }
  std::string digest() const override { return "lying"; }
  void read(std::uint64_t id, Sample& into) const override {
    into.begin(id);
    into.add(Field{.type = ElementType::kText, .shape = shape_, .bytes = std::as_bytes(std::span(bytes_))});
  }

 private:
  std::string bytes_;
  std::vector<std::uint64_t> shape_{3};
  std::vector<Column> columns_{{.name = "text", .type = ElementType::kText}};
};

TEST(Batch, AFieldHasTheBytesOfItsShapeNoFewerAndNoMore) {
  for (const std::size_t bytes : {2U, 5U}) {
    Stream stream(in_order(8));
    DataLoader loader(std::make_shared<Lying>(bytes), stream);
    EXPECT_THAT([&] { static_cast<void>(loader.next()); },
                testing::Throws<std::exception>(testing::Property(
                    &std::exception::what,
                    HasSubstr("has " + std::to_string(bytes) + " bytes, and its shape says 3"))));
  }
}

class Huge : public Dataset {
 public:
  std::uint64_t size() const override { return 64; }
  std::span<const Column> columns() const override { return columns_; }
  std::string digest() const override { return "huge"; }
  void read(std::uint64_t, Sample&) const override { throw std::logic_error("nothing is to be read"); }

 private:
  std::vector<Column> columns_{
      {.name = "x", .type = ElementType::kUint8, .shape = {{std::uint64_t{1} << 61}}}};
};

TEST(Batch, OfMoreBytesThanThereAreIsRefused) {
  Stream stream(in_order(8));
  DataLoader loader(std::make_shared<Huge>(), stream);
  EXPECT_THAT(
      [&] { static_cast<void>(loader.next()); },
      ThrowsMessage<std::length_error>(HasSubstr("column 'x' of a batch would have over 2^63 bytes")));
}

// A trainer that holds many batches and returns all at once leaves no memory for that many.
TEST(BatchBodyPool, KeepsNoMoreSparesThanItMay) {
  data::BatchBodyPool pool(1);
  auto one = pool.get();
  auto two = pool.get();
  one->index = 1;
  two->index = 2;
  pool.put(std::move(one));
  pool.put(std::move(two));
  EXPECT_EQ(pool.get()->index, 1U);
  EXPECT_EQ(pool.get()->index, data::BatchBody().index) << "a new one";
}

}  // namespace
}  // namespace ratoon::batch_test
