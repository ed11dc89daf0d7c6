// The inputs that a loader refuses before it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/data_loader.h>

#include "tests/support/numbers_dataset.h"

namespace ratoon::loader_refusals_test {
namespace {

using test::number_options;
using test::numbers;
using test::NumbersDataset;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(DataLoader, RefusesDataSetsThatAreNotThoseOfTheStream) {
  Stream stream(number_options());
  EXPECT_THAT([&] { DataLoader loader(std::make_shared<NumbersDataset>(104), stream); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr("'numbers' of the stream has 103 samples"),
                                                         HasSubstr("its data set has 104"))));
  EXPECT_THAT([&] { DataLoader loader({numbers(), numbers()}, stream); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("1 sources, but the loader got 2")));
  EXPECT_THROW(DataLoader(std::vector<std::shared_ptr<const Dataset>>(), stream), std::invalid_argument);
}

TEST(DataLoader, RefusesDataSetsInAnotherOrderThanTheirSources) {
  struct Named : NumbersDataset {
    explicit Named(std::string called) : NumbersDataset(50), name(std::move(called)) {}
    std::string digest() const override { return name; }
    std::string name;
  };
  const auto a = std::make_shared<Named>("a");
  const auto b = std::make_shared<Named>("b");
  Stream stream({.global_batch = 4, .seed = 1, .sources = {source_of(*a), source_of(*b)}});
  EXPECT_NO_THROW(DataLoader({a, b}, stream, {.threads = 0}));
  EXPECT_THAT([&] { DataLoader loader({b, a}, stream, {.threads = 0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("data set 1 is source 0 of the stream, 'a'")));
  Stream of_other_names({.global_batch = 4,
                         .seed = 1,
                         .sources = {{.name = "first", .samples = 50}, {.name = "second", .samples = 50}}});
  EXPECT_NO_THROW(DataLoader({b, a}, of_other_names, {.threads = 0})) << "names of their user's own";
}

TEST(DataLoader, RefusesOptionsThatMakeNoSense) {
  Stream stream(number_options());
  EXPECT_THROW(DataLoader(numbers(), stream, {.rank = 2, .world_size = 2}), std::invalid_argument);
  EXPECT_THROW(DataLoader(numbers(), stream, {.world_size = 0}), std::invalid_argument);
  EXPECT_THROW(DataLoader(numbers(), stream, {.threads = 2000}), std::invalid_argument);
  EXPECT_THROW(DataLoader(numbers(), stream, {.threads = 1, .prefetch_batches = 0}), std::invalid_argument);
  EXPECT_NO_THROW(DataLoader(numbers(), stream, {.threads = 0, .prefetch_batches = 0, .expect_batches = 0}));
  DataLoader loader(numbers(), stream);
  EXPECT_THROW(loader.set_share(1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::loader_refusals_test
