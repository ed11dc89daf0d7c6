// Batches and samples as tensors, samples held on a device, generators that follow from a sample.
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>
#include <ratoon/failure.h>
#include <ratoon/memory_dataset.h>
#include <ratoon/replica_subset.h>
#include <ratoon/subset_dataset.h>
#include <ratoon/torch/batch_tensor.h>
#include <ratoon/torch/device_dataset.h>

namespace {

using ratoon::Batch;
using ratoon::Column;
using ratoon::DataLoader;
using ratoon::ElementType;
using ratoon::Failure;
using ratoon::MemoryColumn;
using ratoon::MemoryDataset;
using ratoon::Sample;
using ratoon::SampleRandom;
using ratoon::Slot;
using ratoon::Stream;
using ratoon::torch::DeviceDataset;
using ratoon::torch::DeviceDatasetOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSamples = 12;

// Sample i has x = {4 i, ..., 4 i + 3} as a matrix, and y = -i.
std::shared_ptr<MemoryDataset> matrices(std::uint64_t samples = kSamples) {
  std::vector<float> x(samples * 4);
  std::vector<std::int64_t> y(samples);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = -static_cast<std::int64_t>(i);
  return MemoryDataset::of({MemoryColumn("x", std::move(x), {2, 2}), MemoryColumn("y", std::move(y))});
}

// Sample i is a text of i letters, and cannot be read while it is `bad`.
class Texts : public ratoon::Dataset {
 public:
  std::uint64_t size() const override { return kSamples; }
  std::span<const Column> columns() const override { return columns_; }
  std::string digest() const override { return "texts"; }
  void read(std::uint64_t id, Sample& into) const override {
    if (id == bad) throw Failure(84, "sample " + std::to_string(id) + " cannot be read");
    into.begin(id);
    const std::uint64_t shape[] = {id};
    std::span<std::byte> text = into.add(ElementType::kText, shape);
    std::fill(text.begin(), text.end(), std::byte('a'));
  }
  std::atomic<std::uint64_t> bad = std::numeric_limits<std::uint64_t>::max();

 protected:
  std::vector<Column> columns_{{.name = "text", .type = ElementType::kText}};
};

// A data set whose samples differ from their declaration.
class Liar : public Texts {
 public:
  Liar() { columns_.front().shape = {std::vector<std::uint64_t>{3}}; }
};

Stream in_order(std::uint64_t samples, std::uint64_t batch) {
  return Stream({.samples = samples, .global_batch = batch, .order = ratoon::SampleOrder::kInOrder});
}

std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// ---- batches

TEST(BatchTensor, HasTheRowsOfTheBatchAndCopiesNothing) {
  Stream stream = in_order(kSamples, 3);
  DataLoader loader(matrices(), stream, {});
  const Batch batch = loader.next();
  const at::Tensor x = ratoon::torch::tensor(batch, "x");
  EXPECT_EQ(x.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(x, at::arange(12, at::kFloat).reshape({3, 2, 2})));
  EXPECT_EQ(x.const_data_ptr(), batch.column("x").bytes().data());
  EXPECT_TRUE(at::equal(ratoon::torch::tensor(batch, "y"), at::tensor({0, -1, -2}, at::kLong)));
  EXPECT_THAT(sentence_of([&] { static_cast<void>(ratoon::torch::tensor(batch, "z")); }),
              AllOf(HasSubstr("no column 'z'"), HasSubstr("x, y")));
}

// The loader uses memory again as soon as no batch holds it.
TEST(BatchTensor, KeepsTheBatchForAsLongAsItLives) {
  Stream stream = in_order(kSamples, 3);
  at::Tensor first;
  std::vector<at::Tensor> others;
  {
    DataLoader loader(matrices(), stream, {.threads = 2});
    first = ratoon::torch::tensor(loader.next(), "x");
    for (int i = 0; i < 20; ++i) others.push_back(ratoon::torch::tensor(loader.next(), "x"));
    others.clear();
    for (int i = 0; i < 20; ++i) static_cast<void>(loader.next());
  }
  EXPECT_TRUE(at::equal(first, at::arange(12, at::kFloat).reshape({3, 2, 2})));
}

TEST(BatchTensor, RowsOfManyShapesAreATensorEach) {
  Stream stream = in_order(kSamples, 5);
  const auto texts = std::make_shared<Texts>();
  std::vector<at::Tensor> rows;
  {
    DataLoader loader(texts, stream, {});
    const Batch batch = loader.next();
    rows = ratoon::torch::tensors(batch, "text");
    EXPECT_THAT(sentence_of([&] { static_cast<void>(ratoon::torch::tensor(batch, "text")); }),
                HasSubstr("differ in shape"));
  }
  ASSERT_EQ(rows.size(), 5u);
  for (std::int64_t i = 0; i < 5; ++i) {
    const at::Tensor& row = rows[static_cast<std::size_t>(i)];
    EXPECT_EQ(row.scalar_type(), at::kByte);
    EXPECT_THAT(row.sizes(), ElementsAre(i));
    EXPECT_TRUE(
        at::equal(row, at::tensor(std::vector<std::uint8_t>(static_cast<std::size_t>(i), 'a'), at::kByte)));
  }
}

TEST(BatchTensor, AnEmptyShareIsAnEmptyTensor) {
  Stream stream = in_order(kSamples, 1);
  DataLoader loader(matrices(), stream, {.rank = 0, .world_size = 2});
  EXPECT_THAT(ratoon::torch::tensor(loader.next(), "x").sizes(), ElementsAre(0, 2, 2));
}

TEST(BatchTensor, EveryElementTypeHasItsOwn) {
  for (const ElementType type :
       {ElementType::kBytes, ElementType::kText, ElementType::kUint8, ElementType::kInt8,
        ElementType::kUint16, ElementType::kInt16, ElementType::kUint32, ElementType::kInt32,
        ElementType::kUint64, ElementType::kInt64, ElementType::kFloat16, ElementType::kFloat32,
        ElementType::kFloat64}) {
    const std::string name(name_of(type));
    const at::ScalarType scalar = ratoon::torch::scalar_type_of(type);
    EXPECT_EQ(c10::elementSize(scalar), size_of(type)) << name;
    EXPECT_EQ(c10::isFloatingType(scalar), name.starts_with("float")) << name;
    EXPECT_EQ(c10::isSignedType(scalar), name.starts_with("float") || name.starts_with("int")) << name;
  }
}

TEST(ToDevice, OnTheCpuIsTheTensorItself) {
  const ratoon::torch::ToDevice to_device(at::kCPU);
  Stream stream = in_order(kSamples, 3);
  DataLoader loader(matrices(), stream, {.allocate = ratoon::torch::pinned_memory()});
  const Batch batch = loader.next();
  EXPECT_EQ(to_device(batch, "x").const_data_ptr(), batch.column("x").bytes().data());
}

// ---- samples

TEST(SampleTensor, GoesThroughLibTorchAndBack) {
  Sample sample;
  const auto data = matrices();
  data->read(2, sample);
  const at::Tensor x = ratoon::torch::tensor(sample.field(0));
  EXPECT_TRUE(at::equal(x, at::tensor({8, 9, 10, 11}, at::kFloat).reshape({2, 2})));
  ratoon::torch::replace(sample, 0, x.t().to(at::kDouble));
  EXPECT_EQ(sample.field(0).type, ElementType::kFloat64);
  EXPECT_TRUE(at::equal(ratoon::torch::tensor(sample.field(0)),
                        at::tensor({8, 10, 9, 11}, at::kDouble).reshape({2, 2})));
  ratoon::torch::replace(sample, 1, at::tensor(3, at::kShort));
  EXPECT_EQ(sample.field(1).as<std::int16_t>(), 3);
  EXPECT_THAT(sentence_of([&] { ratoon::torch::replace(sample, 0, x.to(at::kBFloat16)); }),
              HasSubstr("BFloat16"));
}

TEST(SampleGenerator, FollowsFromTheSampleAlone) {
  const auto drawn = [](std::uint64_t sample, std::uint64_t epoch) {
    SampleRandom random = ratoon::sample_random(ratoon::sample_random_key(17, "augment", "s"), epoch, sample);
    at::Generator generator = ratoon::torch::generator(random);
    return at::randn({16}, generator);
  };
  EXPECT_TRUE(at::equal(drawn(5, 0), drawn(5, 0)));
  EXPECT_FALSE(at::equal(drawn(5, 0), drawn(6, 0)));
  EXPECT_FALSE(at::equal(drawn(5, 0), drawn(5, 1)));
}

// Seeds of LibTorch have 32 bits: two of this many samples would draw the same.
TEST(SampleGenerator, IsAnotherOneForEverySample) {
  const auto random_of = [](std::uint64_t sample) { return ratoon::sample_random(1, 0, sample); };
  const auto first_of = [](const at::Generator& generator) {
    return generator.get<at::CPUGeneratorImpl>()->random();
  };
  std::map<std::uint32_t, std::uint64_t> seen;  // the low half of a seed: the sample
  int pairs = 0;
  for (std::uint64_t sample = 0; sample < 300'000; ++sample) {
    const auto [twin, is_new] = seen.emplace(random_of(sample).next_u32(), sample);
    if (is_new) continue;
    ++pairs;
    SampleRandom one = random_of(sample);
    SampleRandom two = random_of(twin->second);
    const at::Generator of_one = ratoon::torch::generator(one);
    const at::Generator of_two = ratoon::torch::generator(two);
    EXPECT_EQ(first_of(at::detail::createCPUGenerator(of_one.current_seed())),
              first_of(at::detail::createCPUGenerator(of_two.current_seed())));
    EXPECT_NE(first_of(of_one), first_of(of_two));
  }
  EXPECT_GE(pairs, 3);
}

TEST(SampleGenerator, AugmentationByLibTorchIsTheSameForAnyThreads) {
  const auto run = [](std::uint32_t threads, std::uint32_t world) {
    Stream stream({.samples = kSamples, .global_batch = 4, .seed = 17, .source = "s"});
    const auto augment = [](Sample& sample, SampleRandom& random) {
      at::Generator generator = ratoon::torch::generator(random);
      const at::Tensor x = ratoon::torch::tensor(sample.field(0));
      ratoon::torch::replace(sample, 0, x.add(at::randn({2, 2}, generator)));
    };
    DataLoader loader(matrices(), stream, {.world_size = world, .threads = threads, .augment = augment});
    std::map<std::uint64_t, std::string> bits;  // of each slot
    for (int i = 0; i < 9; ++i) {
      const Batch batch = loader.next();
      for (std::size_t row = 0; row < batch.size(); ++row)
        bits[batch.slots()[row].number] = std::string(batch.column("x").row(row).text());
    }
    return bits;
  };
  const auto alone = run(0, 1);
  EXPECT_EQ(alone.size(), 36u);
  EXPECT_EQ(run(4, 1), alone);
  for (const auto& [slot, bits] : run(2, 2)) EXPECT_EQ(bits, alone.at(slot));
}

// ---- samples that are held

TEST(DeviceDataset, HoldsAllAndGivesRows) {
  for (const std::uint32_t threads : {1u, 3u, 50u}) {
    const DeviceDataset held(*matrices(), {.threads = threads});
    EXPECT_TRUE(at::equal(held.column("x"), at::arange(48, at::kFloat).reshape({12, 2, 2})));
    EXPECT_EQ(held.size(), kSamples);
    const at::Tensor index = held.index(std::vector<std::uint64_t>{7, 0, 7});
    EXPECT_TRUE(at::equal(held.rows("y", index), at::tensor({-7, 0, -7}, at::kLong)));
  }
}

TEST(DeviceDataset, LoadsMoreThanOnePiece) {
  const std::uint64_t wide = 3 << 20;  // bytes of a sample: 64 MiB are a piece
  std::vector<std::uint8_t> values(wide * 24);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::uint8_t>(i / wide * 3 + i % wide);
  const MemoryDataset data({MemoryColumn(Column{"x", ElementType::kUint8, std::vector{wide}},
                                         std::as_bytes(std::span(values)), nullptr)});
  const DeviceDataset held(data, {});
  const at::Tensor expected = at::from_blob(values.data(), {24, 3 << 20}, at::kByte);
  EXPECT_TRUE(at::equal(held.column("x"), expected));
}

TEST(DeviceDataset, HoldsARanksSubsetInAnOrderThatResumes) {
  const auto all = matrices(40);
  const ratoon::ReplicaSubset mine(
      {.samples = 40, .rank = 1, .world_size = 3, .fraction = 0.5, .shuffle_seed = 3});
  const DeviceDataset held(*ratoon::SubsetDataset::of_ids(all, mine.ids()), {});
  EXPECT_EQ(held.size(), 20u);
  const auto options = mine.stream({.global_batch = 6, .seed = 17, .source = all->digest()});
  Stream unbroken(options);
  std::string state = unbroken.save_state();
  for (int step = 0; step < 10; ++step) {  // each step in a new process
    Stream stream(options);
    stream.load_state(state);
    const std::vector<Slot> slots = unbroken.take(0, 1);
    const at::Tensor y = held.rows("y", held.index(stream.take(0, 1)));
    for (std::size_t i = 0; i < slots.size(); ++i)
      EXPECT_EQ(y[static_cast<std::int64_t>(i)].item<std::int64_t>(),
                -static_cast<std::int64_t>(mine[slots[i].sample]));
    state = stream.save_state();
  }
}

TEST(DeviceDataset, SaysWhatItTakesBeforeAnythingIsRead) {
  const auto data = matrices();
  std::string said;
  DeviceDatasetOptions options{.say = [&](const std::string& sentence) { said = sentence; }};
  const auto need = DeviceDataset::need_of(*data, options);
  EXPECT_EQ(need.bytes, kSamples * (16 + 8));
  EXPECT_TRUE(need.fits());
  const DeviceDataset held(*data, options);
  EXPECT_THAT(said, HasSubstr("12 samples of 24 bytes on cpu takes 288 bytes, but "));
  EXPECT_EQ(held.column("x").nbytes() + held.column("y").nbytes(), need.bytes);
  options.columns = {"y"};
  EXPECT_EQ(DeviceDataset::need_of(*data, options).bytes, kSamples * 8);
  EXPECT_THAT(sentence_of([&] { static_cast<void>(DeviceDataset(*data, options).column("x")); }),
              AllOf(HasSubstr("column 'x' is not held"), HasSubstr("the columns are: y")));
}

// Larger than any memory: if loading had begun, this test would not end.
class Endless : public Texts {
 public:
  Endless() { columns_.front().shape = {std::vector<std::uint64_t>{1000}}; }
  std::uint64_t size() const override { return std::uint64_t{1} << 50; }
  void read(std::uint64_t, Sample&) const override { ++reads; }
  mutable std::atomic<int> reads = 0;
};

TEST(DeviceDataset, WhatDoesNotFitIsNotBegun) {
  const Endless data;
  EXPECT_THAT(sentence_of([&] { DeviceDataset(data, {}); }),
              AllOf(HasSubstr("takes 1125899906842624000 bytes"), HasSubstr("are available"),
                    HasSubstr("hold a smaller part")));
  EXPECT_EQ(data.reads, 0);
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(sentence_of([&] { DeviceDataset(*matrices(), {.spare_bytes = all}); }),
              AllOf(HasSubstr("takes 288 bytes, but 0 are available"), HasSubstr("must stay free")));
}

TEST(DeviceDataset, WhatCannotBeHeldIsRefused) {
  EXPECT_THAT(sentence_of([] { DeviceDataset(Texts(), {}); }), HasSubstr("column 'text' differ in shape"));
  EXPECT_THAT(sentence_of([] { DeviceDataset(Liar(), {}); }),
              AllOf(HasSubstr("sample 0 has 0 bytes of text"), HasSubstr("says 3 of text")));
  EXPECT_THAT(sentence_of([] { DeviceDataset(*matrices(), {.columns = {"z"}}); }), HasSubstr("'z'"));
  Liar liar;
  liar.bad = 0;
  EXPECT_THAT(sentence_of([&] { DeviceDataset(liar, {.threads = 3}); }),
              HasSubstr("sample 0 cannot be read"));
  const DeviceDataset held(*matrices(), {});
  EXPECT_THAT(sentence_of([&] { static_cast<void>(held.index(std::vector<std::uint64_t>{12})); }),
              HasSubstr("sample 12 is not among the 12"));
}

ratoon::StreamOptions two_sources() {
  return {.global_batch = 4,
          .seed = 3,
          .sources = {{.name = "a", .samples = kSamples - 5, .weight = 1, .shards = {}},
                      {.name = "b", .samples = 5, .weight = 1, .shards = {}}}};
}

// The program's values of both sources: the second source follows the first.
TEST(Index, OfSeveralSourcesIsThatOfOneSourceBehindTheOther) {
  Stream stream(two_sources());
  const DeviceDataset held(*matrices(), {});
  bool has_second = false;
  for (int batch = 0; batch < 10; ++batch) {
    const std::vector<Slot> slots = stream.take(0, 1);
    const at::Tensor index = ratoon::torch::index(slots, stream.reader());
    EXPECT_TRUE(at::equal(index, held.index(slots, stream.reader())));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      EXPECT_EQ(index.const_data_ptr<std::int64_t>()[i],
                static_cast<std::int64_t>(slots[i].sample + (slots[i].source == 0 ? 0 : kSamples - 5)));
      has_second = has_second || slots[i].source == 1;
    }
  }
  EXPECT_TRUE(has_second);
}

TEST(Index, OfSeveralSourcesIsRefusedWithoutAReader) {
  const DeviceDataset held(*matrices(), {});
  const std::vector<Slot> slots = {{.number = 7, .source = 0, .sample = 2},
                                   {.number = 8, .source = 1, .sample = 3}};
  for (const std::function<void()>& act :
       {std::function([&] { static_cast<void>(ratoon::torch::index(slots)); }),
        std::function([&] { static_cast<void>(held.index(slots)); })})
    EXPECT_THAT(sentence_of(act), testing::AllOf(HasSubstr("slot 8 is sample 3 of source 1"),
                                                 HasSubstr("index(slots, stream.reader())")));
}

TEST(Index, HasTheSamplesOfTheSlots) {
  Stream stream({.samples = kSamples, .global_batch = 5, .seed = 3});
  const std::vector<Slot> slots = Stream(stream).take(0, 2);
  const at::Tensor index = ratoon::torch::index(stream.take(0, 2));
  ASSERT_EQ(slots.size(), 2U);
  ASSERT_EQ(index.sizes(), at::IntArrayRef({2}));
  for (std::size_t i = 0; i < slots.size(); ++i)
    EXPECT_EQ(static_cast<std::uint64_t>(index.const_data_ptr<std::int64_t>()[i]), slots[i].sample);
  EXPECT_EQ(ratoon::torch::index({}).sizes(), at::IntArrayRef({0}));
}

}  // namespace
