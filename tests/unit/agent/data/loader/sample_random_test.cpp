#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ratoon/sample_random.h>

namespace ratoon::sample_random_test {
namespace {

using nlohmann::json;

SampleRandom random_of(const json& of) {
  const auto key = sample_random_key(of.at(0).get<std::uint64_t>(), of.at(1).get<std::string>(),
                                     of.at(2).get<std::string>());
  return sample_random(key, of.at(3).get<std::uint64_t>(), of.at(4).get<std::uint64_t>());
}

json draw(SampleRandom& random, const json& what) {
  const std::string kind = what.at(0).get<std::string>();
  if (kind == "word") return random.next_u32();
  if (kind == "number") return random.next_u64();
  if (kind == "unit") return random.unit_double();
  return random.below(what.at(1).get<std::uint64_t>());
}

// Frozen values: other numbers would change the augmentation of a resumed run.
TEST(SampleRandomVectors, OfASecondProgram) {
  std::ifstream file("tests/unit/agent/data/order/vectors/sample_random_vectors.json");
  const json vectors = json::parse(file);
  ASSERT_GE(vectors.size(), 9u);
  for (const json& vector : vectors) {
    SCOPED_TRACE(vector.at("of").dump());
    SampleRandom random = random_of(vector.at("of"));
    json drawn = json::array();
    for (const json& what : vector.at("draws")) drawn.push_back(draw(random, what));
    EXPECT_EQ(drawn, vector.at("drawn"));
    EXPECT_EQ(random.position(), vector.at("words").get<std::uint64_t>());
  }
}

std::vector<std::uint64_t> draws(std::uint64_t seed, std::string_view purpose, std::string_view source,
                                 std::uint64_t epoch, std::uint64_t sample) {
  SampleRandom random = sample_random(sample_random_key(seed, purpose, source), epoch, sample);
  return {random.next_u64(), random.next_u64(), random.next_u64()};
}

TEST(SampleRandom, NeighboursShareNothing) {
  const auto base = draws(1, "augment", "s", 1, 1);
  EXPECT_NE(draws(2, "augment", "s", 0, 1), base) << "seed and epoch are not added";
  EXPECT_NE(draws(1, "augment", "s", 1, 2), base);
  EXPECT_NE(draws(1, "augment", "s", 2, 1), base);
  EXPECT_NE(draws(1, "augment", "s", 1 + (std::uint64_t{1} << 32), 1), base);
  EXPECT_NE(draws(1, "augments", "", 1, 1), base) << "texts are not joined";
}

}  // namespace
}  // namespace ratoon::sample_random_test
