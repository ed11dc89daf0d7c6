// Memory that runs out while threads work: the caller gets the error, and no batch is lost.
#include <optional>

#include <gtest/gtest.h>

#include <ratoon/data_loader.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"
#include "tests/support/scarce_memory.h"

namespace ratoon::loader_memory_test {
namespace {

using test::NumbersDataset;
using test::scarce_memory;

// Lets allocations fail after a number of them, in all threads or in all but this one, and still takes
// batches: in the end they are the stream's batches. How often the caller got the error.
int failures_told(std::uint32_t threads, long after, bool is_everywhere) {
  test::ScarceMemory::is_spared = true;
  const auto set = std::make_shared<NumbersDataset>(64);
  Stream stream({.samples = 64, .global_batch = 8, .seed = 1, .source = "numbers"});
  DataLoader loader(set, stream, {.threads = threads, .prefetch_batches = 3, .augment = test::add_draws});
  std::vector<test::SeenRow> rows = test::train(loader, 1);
  stream.skip_to(16);  // another loader_plan
  int told = 0;
  for (int i = 0; i < 12; ++i) {
    std::optional<Batch> batch;
    while (!batch) {
      if (told == 0) {
        scarce_memory.left = after;
        scarce_memory.failing = 3;
      }
      scarce_memory.is_everywhere = is_everywhere;
      try {
        batch = loader.next();
      } catch (const std::exception&) {
        scarce_memory.failing = 0;
        ++told;
      }
      scarce_memory.is_everywhere = false;
    }
    scarce_memory.failing = 0;
    const auto seen = test::rows_of(*batch);
    rows.insert(rows.end(), seen.begin(), seen.end());
    loader.advance(*batch);
  }
  auto expected = test::canonical(stream, 0, 8);
  const auto others = test::canonical(stream, 16, 16 + 96);
  expected.insert(expected.end(), others.begin(), others.end());
  EXPECT_EQ(test::slots_of(rows), expected) << threads << " threads, after " << after;
  return told;
}

TEST(LoaderMemory, ThatRunsOutInAThreadIsTold) {
  int told = 0;
  for (const std::uint32_t threads : {1u, 4u})
    for (long after = 0; after < 60; ++after) told += failures_told(threads, after, false);
  EXPECT_GT(told, 60);
}

TEST(LoaderMemory, ThatRunsOutAnywhereIsToldAndCostsNoBatch) {
  int told = 0;
  for (const std::uint32_t threads : {0u, 1u, 4u})
    for (long after = 0; after < 60; ++after) told += failures_told(threads, after, true);
  EXPECT_GT(told, 100);
}

}  // namespace
}  // namespace ratoon::loader_memory_test
