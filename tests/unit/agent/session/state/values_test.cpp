// Values of the standard library as tracked objects.
#include <cmath>
#include <random>
#include <unordered_map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/random_engine.h>
#include <ratoon/session/child_state.h>
#include <ratoon/session/values.h>

#include "tests/support/saved_objects.h"

namespace ratoon {
namespace {

// An object that consists of others.
struct Player {
  std::vector<double> weights{};
  std::map<std::string, int> explored{};
  std::int64_t games = 0;
  std::mt19937 dice{1};
};
struct Match {
  Player first{};
  Player second{};
};

}  // namespace

template <>
struct TrackAdapter<Player> {
  static void check(Player&, const std::string&) {}
  static void save(Player& player, StateWriter& out) {
    save_child(out, "weights", player.weights);
    save_child(out, "explored", player.explored);
    save_child(out, "games", player.games);
    save_child(out, "dice", player.dice);
  }
  static void load(Player& player, StateReader& in) {
    load_child(in, "weights", player.weights);
    load_child(in, "explored", player.explored);
    load_child(in, "games", player.games);
    load_child(in, "dice", player.dice);
  }
};

template <>
struct TrackAdapter<Match> {
  static void check(Match&, const std::string&) {}
  static void save(Match& match, StateWriter& out) {
    save_child(out, "first", match.first);
    save_child(out, "second", match.second);
  }
  static void load(Match& match, StateReader& in) {
    load_child(in, "first", match.first);
    load_child(in, "second", match.second);
  }
};

}  // namespace ratoon

namespace ratoon::session::values_test {
namespace {

using testing::HasSubstr;

enum class Phase : std::int16_t { kWarm = -3, kCold = 7 };

template <class T>
T restored(const T& value, T other = T()) {
  T saved_value = value;
  test::SavedObjects saved;
  const auto point = saved.save("value", saved_value);
  saved.load(point, "value", other);
  return other;
}

template <class T>
void expect_restored(const T& value, const T& other = T()) {
  EXPECT_EQ(restored(value, other), value) << testing::PrintToString(value);
}

TEST(Values, AreRestoredWithTheirSizes) {
  using Nested = std::map<std::string, std::vector<std::pair<double, std::optional<std::string>>>>;
  expect_restored<std::string>("a\0b\n\xff", "longer than that");
  expect_restored<std::string>("", "not empty");
  expect_restored(Phase::kWarm, Phase::kCold);
  expect_restored<std::vector<float>>({1.5F, -0.0F, 3e-40F}, {1, 2, 3, 4, 5});
  expect_restored<std::vector<float>>({}, {1});
  expect_restored<std::array<std::uint8_t, 3>>({1, 2, 255});
  expect_restored<std::vector<bool>>({true, false, true}, {false});
  expect_restored<std::deque<std::int64_t>>({-1, 1LL << 62});
  expect_restored<std::list<std::string>>({"", "one", "two\n"}, {"x"});
  expect_restored<std::set<std::string>>({"b", "a"});
  expect_restored<std::multimap<int, char>>({{1, 'a'}, {1, 'b'}});
  expect_restored<std::optional<double>>(std::nullopt, 5.0);
  expect_restored<std::optional<std::vector<int>>>(std::vector<int>{}, std::nullopt);
  expect_restored<std::tuple<bool, std::string, std::array<float, 2>>>({true, "t", {1, 2}});
  expect_restored<std::array<std::vector<std::string>, 2>>({{{"a"}, {"b", "c"}}});
  expect_restored<std::vector<std::vector<bool>>>({{}, {true}, {false, true}});
  expect_restored<Nested>({{"", {}}, {"loss", {{0.5, std::nullopt}, {0.25, "kept"}}}}, {{"old", {{1, "x"}}}});
}

// The law: any nested value has the same bits after a resume.
TEST(Values, OfAnyNestedFormAreRestored) {
  using Form =
      std::deque<std::map<std::uint16_t, std::tuple<std::vector<std::string>, std::optional<float>, Phase>>>;
  std::mt19937 dice(11);
  const auto draw = [&] {
    Form form(dice() % 4);
    for (auto& map : form) {
      for (std::uint32_t i = dice() % 4; i > 0; --i) {
        auto& [texts, number, phase] = map[static_cast<std::uint16_t>(dice())];
        texts.resize(dice() % 3, std::string(dice() % 5, static_cast<char>(dice())));
        if (dice() % 2 == 0) number = static_cast<float>(dice());
        phase = dice() % 2 == 0 ? Phase::kWarm : Phase::kCold;
      }
    }
    return form;
  };
  for (int i = 0; i < 50; ++i) expect_restored(draw(), draw());
}

TEST(Values, OfNumbersAreTensorsOfTheirNames) {
  std::vector<std::pair<std::string, double>> best{{"a", 0.5}, {"bc", 0.25}};
  std::vector<std::int32_t> counts{1, 2, 3};
  session::TrackedObjects objects;
  test::track(objects, "best", best);
  test::track(objects, "counts", counts);
  test::SavedObjects saved;
  const auto content = saved.content(saved.save(objects));
  EXPECT_EQ(content.at("counts").type, ElementType::kInt32);
  EXPECT_EQ(content.at("counts").shape, TensorShape({3}));
  EXPECT_EQ(content.at("best.items.1").type, ElementType::kFloat64);
  EXPECT_EQ(content.at("best.items.1").shape, TensorShape({2}));
  EXPECT_TRUE(content.contains("best.sizes"));
  EXPECT_TRUE(content.contains("best.items.0.text"));
}

// Nothing changes where the checkpoint has another type.
TEST(Values, OfAnotherTypeAreRefusedByName) {
  std::vector<float> saved_value{1, 2};
  test::SavedObjects saved;
  const auto point = saved.save("value", saved_value);
  std::vector<double> other{7};
  try {
    saved.load(point, "value", other);
    FAIL() << "it was loaded";
  } catch (const Failure& why) {
    EXPECT_EQ(why.exit_code, 82);
    EXPECT_THAT(why.what(), HasSubstr("'value'"));
  }
  EXPECT_EQ(other, std::vector<double>{7});
}

TEST(ChildState, ObjectsOfObjectsAreRestored) {
  Match match{.first = {.weights = {1, 2}, .explored = {{"a", 1}}, .games = 3, .dice = std::mt19937(5)},
              .second = {.weights = {4}, .explored = {}, .games = -1, .dice = std::mt19937(6)}};
  test::SavedObjects saved;
  const auto point = saved.save("match", match);
  const auto content = saved.content(point);
  EXPECT_EQ(content.at("match.first.weights").shape, TensorShape({2}));
  EXPECT_TRUE(content.contains("match.second.explored.items.0.text"));
  Match other;
  saved.load(point, "match", other);
  EXPECT_EQ(other.first.weights, match.first.weights);
  EXPECT_EQ(other.first.explored, match.first.explored);
  EXPECT_EQ(other.second.weights, match.second.weights);
  EXPECT_EQ(other.second.games, -1);
  EXPECT_EQ(other.first.dice, match.first.dice);
  EXPECT_EQ(other.second.dice, match.second.dice);
}

TEST(ChildState, NamesOfGeneratorsStayThoseOfGenerators) {
  const ChildNames names("net");
  EXPECT_EQ(names.outer(""), "net");
  EXPECT_EQ(names.outer("fc.weight"), "net.fc.weight");
  EXPECT_EQ(names.outer("generator:cpu"), "generator:net.cpu");
  for (const std::string name : {"", "fc.weight", "generator:cpu"})
    EXPECT_EQ(names.inner(names.outer(name)), name);
  EXPECT_EQ(names.inner("net2.weight"), std::nullopt);
  EXPECT_EQ(names.inner("generator:network"), std::nullopt);
}

struct Unknown {};
static_assert(values::Value<std::map<std::string, std::vector<int>>>);
static_assert(!values::Value<std::unordered_map<int, int>>, "its order would be another one");
static_assert(!values::Value<std::vector<int*>>);
static_assert(!values::Value<std::vector<Unknown>>);
static_assert(!values::Value<std::vector<std::pair<int, Unknown>>>);

}  // namespace
}  // namespace ratoon::session::values_test
