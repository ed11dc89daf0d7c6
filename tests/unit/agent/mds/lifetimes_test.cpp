// Views of shards live as long as mds_dataset.h promises; AddressSanitizer checks this.
#include <deque>

#include <gtest/gtest.h>

#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::mds::lifetimes_test {
namespace {

// mds_dataset.h: "They are valid until the next begin() of their sample, which read() calls, while the data
// set exists": the sample holds a shard that the data set releases earlier.
TEST(Lifetimes, FieldsOfAShardLiveUntilTheNextReadOfTheirSample) {
  for (const bool maps_files : {true, false}) {
    const auto data =
        MdsDataset::open((kGolden / "split").string(), {.maps_files = maps_files, .memory_bytes_max = 1});
    ASSERT_GT(data->shard_sizes().size(), 3u);
    std::vector<std::string> expected;
    Sample one;
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      data->read(id, one);
      expected.emplace_back(one.field(1).text());
    }
    std::deque<Sample> samples;  // of all shards, of which one at a time has room
    std::vector<Field> kept;
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      data->read(id, samples.emplace_back());
      kept.push_back(samples.back().field(1));
    }
    for (std::uint64_t id = 0; id < data->size(); ++id) {
      EXPECT_EQ(kept[id].text(), expected[id]);
      EXPECT_EQ(kept[id].shape[0], expected[id].size());
    }
  }
}

// "They lie where `list` does": the elements, however often they are taken apart, live with the list's
// sample.
TEST(Lifetimes, ElementsOfAListLieWhereTheListDoes) {
  const auto data = MdsDataset::open((kGolden / "every").string());
  for (std::size_t column = 0; column < data->columns().size(); ++column) {
    if (!data->encoding(column).starts_with("list")) continue;
    Sample sample, elements;
    data->read(0, sample);
    const Field list = sample.field(column);
    data->elements(column, list, elements);
    const std::vector<Field> kept(elements.fields().begin(), elements.fields().end());
    elements.begin(1);
    for (const Field& field : kept) {
      EXPECT_GE(field.bytes.data(), list.bytes.data()) << data->encoding(column);
      EXPECT_LE(field.bytes.data() + field.bytes.size(), list.bytes.data() + list.bytes.size());
    }
  }
}

}  // namespace
}  // namespace ratoon::mds::lifetimes_test
