#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/session/pointers.h>
#include <ratoon/session/values.h>

#include "tests/support/saved_objects.h"

namespace ratoon::session::pointers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<double>;

TEST(TrackedPointers, SaveTheObjectThatTheyHaveAtTheSave) {
  test::SavedObjects saved;
  auto numbers = std::make_unique<Numbers>(Numbers{1, 2});
  TrackedObjects objects;
  test::track(objects, "numbers", numbers);
  numbers = std::make_unique<Numbers>(Numbers{3, 4});
  const auto point = saved.save(objects);

  auto restored = std::make_shared<Numbers>(2);
  const Numbers* const before = restored.get();
  saved.load(point, "numbers", restored);
  EXPECT_THAT(*restored, ElementsAre(3, 4));
  EXPECT_EQ(restored.get(), before) << "the object is restored in place";
}

TEST(TrackedPointers, HaveTheNamesOfTheirObject) {
  test::SavedObjects saved;
  auto numbers = std::make_unique<Numbers>(Numbers{1, 2});
  Numbers itself;
  saved.load(saved.save("numbers", numbers), "numbers", itself);
  EXPECT_THAT(itself, ElementsAre(1, 2));
}

TEST(TrackedPointers, ThatAreEmptyAreRefused) {
  using Adapter = TrackAdapter<std::unique_ptr<Numbers>>;
  std::unique_ptr<Numbers> empty;
  try {
    Adapter::check(empty, "numbers");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    EXPECT_STREQ(failure.what(),
                 "tracked 'numbers' is an empty pointer: make the object before track() and before steps()");
  }
  test::SavedObjects saved;
  auto numbers = std::make_unique<Numbers>(Numbers{1, 2});
  const auto point = saved.save("numbers", numbers);
  const auto message_of = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "no failure";
  };
  EXPECT_THAT(message_of([&] { saved.load(point, "numbers", empty); }), HasSubstr("is an empty pointer"));
  EXPECT_THAT(message_of([&] { static_cast<void>(saved.save("numbers", empty)); }),
              HasSubstr("is an empty pointer"));
}

static_assert(!HasTrackAdapter<std::unique_ptr<int*>>);
static_assert(!HasTrackAdapter<std::unique_ptr<const Numbers>>);

}  // namespace
}  // namespace ratoon::session::pointers_test
