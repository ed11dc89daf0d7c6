// Shards under damage: each flipped bit and each lost byte of hashed data is noticed; data without a hash
// never does harm. Written data is also read again.
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/mds_dataset.h>
#include <ratoon/mds_writer.h>

#include "tests/support/fuzz_targets.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::mds_property_test {
namespace {

namespace fs = std::filesystem;
namespace gen = rc::gen;

void run_corpus(const std::string& name, void (*target)(std::string_view)) {
  int count = 0;
  for (const auto& file : fs::directory_iterator("tests/fuzz/corpus/" + name)) {
    SCOPED_TRACE(file.path().string());
    target(test::read_text(file.path()));
    ++count;
  }
  EXPECT_GT(count, 5);
}

TEST(MdsCorpus, KeepsTheLaws) {
  run_corpus("mds_index", fuzz::mds_index);
  run_corpus("mds_shard", fuzz::mds_shard);
  run_corpus("mds_compressed", fuzz::mds_compressed);
}

enum class Read { kAll, kRefused };

// Opens the folder and reads every sample with every element; any exception but a Failure is a fault of ours.
Read read_all(const fs::path& folder) {
  try {
    const auto data = MdsDataset::open(folder.string());
    Sample sample, elements;
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      data->read(id, sample);
      for (std::size_t i = 0; i < sample.size(); ++i) {
        EXPECT_EQ(bytes_of(sample.field(i).type, sample.field(i).shape), sample.field(i).bytes.size());
        if (data->encoding(i).starts_with("list[")) data->elements(i, sample.field(i), elements);
      }
    }
    return Read::kAll;
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()), "");
    return Read::kRefused;
  }
}

// A small data set, with every kind of column that has a header of its own.
void write_small(const fs::path& folder, const MdsWriterOptions& options) {
  MdsWriter writer(folder, {{"a", "ndarray"}, {"i", "int"}, {"l", "list[pil]"}, {"s", "str"}}, options);
  const std::string pixels = "123456";
  const std::uint64_t shape[] = {2, 3};
  const Field image{ElementType::kUint8, shape, std::as_bytes(std::span(pixels))};
  const Field images[] = {image, image};
  for (int i = 0; i < 2; ++i)
    writer.write({{"a", image}, {"i", i}, {"l", std::span<const Field>(images)}, {"s", "gr\xc3\xbcn"}});
  writer.finish();
}

// Damages the file in its place: the file keeps its inode and its length, and mostly its times.
void flip(const fs::path& file, std::size_t bit, char byte) {
  std::fstream at(file, std::ios::binary | std::ios::in | std::ios::out);
  at.seekp(static_cast<std::streamoff>(bit / 8));
  at.put(static_cast<char>(byte ^ (1 << (bit % 8))));
}

void restore(const fs::path& file, std::size_t bit, char byte) {
  std::fstream at(file, std::ios::binary | std::ios::in | std::ios::out);
  at.seekp(static_cast<std::streamoff>(bit / 8));
  at.put(byte);
}

struct Case {
  const char* name;
  MdsWriterOptions options;
  const char* file;
};

const Case kHashed[] = {{"plain", {.hashes = {"xxh64"}}, "shard.00000.mds"},
                        {"zstd", {.compression = "zstd", .hashes = {"sha1"}}, "shard.00000.mds.zstd"}};

TEST(MdsDamage, EveryFlippedBitOfAHashedShardIsNoticed) {
  for (const Case& c : kHashed) {
    SCOPED_TRACE(c.name);
    const test::TemporaryFolder folder;
    write_small(folder.path(), c.options);
    const std::string whole = test::read_text(folder / c.file);
    ASSERT_EQ(read_all(folder.path()), Read::kAll);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      flip(folder / c.file, bit, whole[bit / 8]);
      ASSERT_EQ(read_all(folder.path()), Read::kRefused) << "bit " << bit;
      restore(folder / c.file, bit, whole[bit / 8]);
    }
    EXPECT_EQ(read_all(folder.path()), Read::kAll);
  }
}

TEST(MdsDamage, EveryLostByteIsNoticed) {
  const Case cases[] = {kHashed[0], kHashed[1], {"no hash", {}, "shard.00000.mds"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const test::TemporaryFolder folder;
    write_small(folder.path(), c.options);
    const std::string whole = test::read_text(folder / c.file);
    for (std::size_t size = whole.size(); size-- > 0;) {
      fs::resize_file(folder / c.file, size);
      ASSERT_EQ(read_all(folder.path()), Read::kRefused) << size;
    }
  }
}

// Without a hash a flip may stay undetected in a sample's own bytes; the sample is read or refused, and no
// other harm is done.
TEST(MdsDamage, AFlippedBitWithoutAHashDoesNoHarm) {
  const test::TemporaryFolder folder;
  write_small(folder.path(), {});
  const std::string whole = test::read_text(folder / "shard.00000.mds");
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    flip(folder / "shard.00000.mds", bit, whole[bit / 8]);
    refused += read_all(folder.path()) == Read::kRefused ? 1 : 0;
    restore(folder / "shard.00000.mds", bit, whole[bit / 8]);
  }
  EXPECT_GT(refused, 8 * 40);  // count, offsets, sizes and headers
}

TEST(MdsDamage, AnIndexThatIsFlippedOrCutDoesNoHarm) {
  const test::TemporaryFolder folder;
  write_small(folder.path(), {.compression = "zstd", .hashes = {"xxh64"}});
  const std::string whole = test::read_text(folder / "index.json");
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += 3) {
    flip(folder / "index.json", bit, whole[bit / 8]);
    static_cast<void>(read_all(folder.path()));
    restore(folder / "index.json", bit, whole[bit / 8]);
  }
  for (std::size_t size = whole.size(); size-- > 0;) {
    fs::resize_file(folder / "index.json", size);
    ASSERT_EQ(read_all(folder.path()), Read::kRefused) << size;
  }
}

// ---- any samples

struct Row {
  std::int64_t number = 0;
  std::string text, bytes;
  std::vector<float> array;
};

std::vector<Row> any_rows() {
  std::vector<Row> rows(*gen::inRange<std::size_t>(0, 30));
  for (Row& row : rows) {
    row.number = *gen::arbitrary<std::int64_t>();
    row.text = *gen::container<std::string>(gen::inRange('a', 'z'));
    row.bytes = *gen::container<std::string>(gen::arbitrary<char>());
    row.array = *gen::nonEmpty(gen::container<std::vector<float>>(gen::arbitrary<float>()));
  }
  return rows;
}

RC_GTEST_PROP(MdsRoundTrip, WhatIsWrittenIsReadAgain, ()) {
  const auto rows = any_rows();
  const MdsWriterOptions options{
      .compression =
          *gen::elementOf(std::vector<std::string>{"", "br:1", "bz2", "gz", "snappy", "zstd", "zstd:1"}),
      .hashes = *gen::elementOf(std::vector<std::vector<std::string>>{{}, {"xxh64"}, {"sha256", "md5"}}),
      .size_limit_bytes = *gen::elementOf(std::vector<std::uint64_t>{0, 1, 350, 500, 2000, 1 << 26})};
  const test::TemporaryFolder folder;
  MdsWriter writer(folder.path(), {{"n", "int"}, {"t", "str"}, {"b", "bytes"}, {"x", "ndarray:float32"}},
                   options);
  for (const Row& row : rows) {
    const std::uint64_t shape[] = {row.array.size()};
    const Field array{ElementType::kFloat32, shape, std::as_bytes(std::span(row.array))};
    const Field bytes{.bytes = std::as_bytes(std::span(row.bytes))};
    writer.write({{"t", row.text}, {"n", row.number}, {"x", array}, {"b", bytes}});
  }
  writer.finish();

  const auto data = MdsDataset::open(folder.path().string());
  RC_ASSERT(data->size() == rows.size());
  for (const std::uint64_t samples : data->shard_sizes()) RC_ASSERT(samples <= rows.size());
  Sample sample;
  for (std::uint64_t id = rows.size(); id-- > 0;) {
    data->read(id, sample);
    RC_ASSERT(sample.field(data->column("n")).as<std::int64_t>() == rows[id].number);
    RC_ASSERT(sample.field(data->column("t")).text() == rows[id].text);
    RC_ASSERT(sample.field(data->column("b")).text() == rows[id].bytes);
    const Field& array = sample.field(data->column("x"));
    RC_ASSERT(array.shape[0] == rows[id].array.size());
    RC_ASSERT(std::memcmp(array.bytes.data(), rows[id].array.data(), array.bytes.size()) == 0);
  }
  // Only a shard of a single sample may be longer than the limit.
  const auto index = nlohmann::json::parse(test::read_text(folder / "index.json"));
  for (const auto& shard : index["shards"]) {
    RC_ASSERT(options.size_limit_bytes == 0 || shard["samples"].get<int>() <= 1 ||
              shard["raw_data"]["bytes"].get<std::uint64_t>() <= options.size_limit_bytes);
  }
}

}  // namespace
}  // namespace ratoon::mds_property_test
