#include "base/core/strong.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace ratoon::strong_test {
namespace {

using Attempt = Strong<struct AttemptTag, std::uint64_t>;
using Step = Strong<struct StepTag, std::uint64_t>;
using Small = Strong<struct SmallTag, std::uint8_t>;
using NodeName = Strong<struct NodeNameTag, std::string>;

static_assert(!std::is_convertible_v<std::uint64_t, Attempt>, "a number becomes an id only on purpose");
static_assert(!std::is_convertible_v<Attempt, std::uint64_t>);
static_assert(!std::is_constructible_v<Attempt, Step>, "ids of different kinds do not mix");
static_assert(sizeof(Attempt) == sizeof(std::uint64_t));
static_assert(Attempt().value() == 0);
static_assert(Attempt(6).next() == Attempt(7));

template <class T>
concept HasNext = requires(T id) { id.next(); };
static_assert(HasNext<Attempt> && !HasNext<NodeName>);

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };
static_assert(Comparable<Attempt, Attempt> && !Comparable<Attempt, Step> && !Comparable<Attempt, int>);

TEST(Strong, OrdersByValue) {
  EXPECT_LT(Attempt(2), Attempt(10));
  EXPECT_GE(Attempt(10), Attempt(10));
  EXPECT_LT(NodeName("a"), NodeName("b"));
  const std::map<NodeName, int> by_name = {{NodeName("b"), 2}, {NodeName("a"), 1}};
  EXPECT_EQ(by_name.begin()->second, 1);
}

TEST(Strong, HashesAsItsValue) {
  EXPECT_EQ(std::hash<NodeName>{}(NodeName("node-1")), std::hash<std::string>{}("node-1"));
  const std::unordered_set<NodeName> names = {NodeName("a"), NodeName("b"), NodeName("a")};
  EXPECT_EQ(names.size(), 2u);
}

TEST(Strong, GivesItsValueAway) {
  using Owner = Strong<struct OwnerTag, std::unique_ptr<int>>;
  Owner owner(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(owner).value();
  EXPECT_EQ(*taken, 5);
}

TEST(StrongDeathTest, NextNeverWrapsAround) {
  EXPECT_EQ(Small(254).next(), Small(255));
  EXPECT_DEATH((void)Small(255).next(), "");
}

}  // namespace
}  // namespace ratoon::strong_test
