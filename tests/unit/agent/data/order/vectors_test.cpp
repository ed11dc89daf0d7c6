// Orders and states compared with a second program, vectors/stream_vectors.py, which was written from
// docs/reference/stream.md alone.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ratoon/stream.h>

namespace ratoon::vectors_test {
namespace {

using nlohmann::json;

json read_vectors() {
  std::ifstream file("tests/unit/agent/data/order/vectors/stream_vectors.json");
  return json::parse(file);
}

SampleOrder order_named(const std::string& name) {
  if (name == "blocks-1") return SampleOrder::kBlocks;
  return name == "in-order-1" ? SampleOrder::kInOrder : SampleOrder::kShuffled;
}

EpochEnd epoch_end_named(const std::string& name) {
  if (name == "short") return EpochEnd::kShort;
  return name == "drop" ? EpochEnd::kDrop : EpochEnd::kCarry;
}

StreamOptions read_options(const json& from) {
  StreamOptions options{.global_batch = from.at("global_batch").get<std::uint64_t>(),
                        .seed = from.at("seed").get<std::uint64_t>(),
                        .order = order_named(from.at("order").get<std::string>()),
                        .window_shards = from.at("window_shards").get<std::uint64_t>(),
                        .epoch_end = epoch_end_named(from.at("epoch_end").get<std::string>())};
  for (const json& source : from.at("sources")) {
    options.sources.push_back({.name = source.at("name").get<std::string>(),
                               .samples = source.at("samples").get<std::uint64_t>(),
                               .weight = source.at("weight").get<double>(),
                               .shards = source.at("shards").get<std::vector<std::uint64_t>>()});
  }
  return options;
}

void apply(Stream& stream, const json& change) {
  const std::string name = change.at(0).get<std::string>();
  const json& argument = change.at(1);
  if (name == "advance") stream.advance(argument.get<std::uint64_t>());
  if (name == "change_global_batch") stream.change_global_batch(argument.get<std::uint64_t>());
  if (name == "change_weights") stream.change_weights(argument.get<std::vector<double>>());
  if (name == "skip_to") stream.skip_to(argument.get<std::uint64_t>());
}

TEST(StreamVectors, OfASecondProgram) {
  const json vectors = read_vectors();
  ASSERT_GE(vectors.size(), 16u);
  for (const json& vector : vectors) {
    const StreamOptions options = read_options(vector.at("options"));
    SCOPED_TRACE(vector.at("options").dump());
    Stream stream(options);
    for (const json& change : vector.at("changes")) apply(stream, change);
    EXPECT_EQ(stream.save_state(), vector.at("state").get<std::string>());
    for (const json& slot : vector.at("slots")) {
      const Slot expected{.number = slot.at(0).get<std::uint64_t>(),
                          .epoch = slot.at(1).get<std::uint64_t>(),
                          .source = slot.at(2).get<std::uint32_t>(),
                          .sample = slot.at(3).get<std::uint64_t>()};
      EXPECT_EQ(stream.at(expected.number), expected) << "slot " << expected.number;
      EXPECT_EQ(stream.reader().slot_of(expected.source, expected.epoch, expected.sample), expected.number);
    }
    Stream loaded(options);
    loaded.load_state(vector.at("state").get<std::string>());
    EXPECT_EQ(loaded.save_state(), stream.save_state());
  }
}

}  // namespace
}  // namespace ratoon::vectors_test
