// Laws of DataLoader, for any data, plan, world and threads.
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/data_loader.h>

#include "tests/support/loader_run.h"
#include "tests/support/numbers_dataset.h"

namespace ratoon::loader_property_test {
namespace {

namespace gen = rc::gen;
using test::NumbersDataset;
using test::SeenRow;

StreamOptions any_options() {
  return {.samples = *gen::inRange<std::uint64_t>(1, 200),
          .global_batch = *gen::inRange<std::uint64_t>(1, 40),
          .seed = *gen::arbitrary<std::uint64_t>(),
          .source = "s",
          .epoch_end = *gen::element(EpochEnd::kCarry, EpochEnd::kShort)};
}

LoaderOptions any_loading() {
  return {.threads = *gen::inRange<std::uint32_t>(0, 6),
          .prefetch_batches = *gen::inRange<std::uint32_t>(1, 5),
          .expect_batches = *gen::inRange<std::uint32_t>(0, 10),
          .augment = test::add_draws};
}

// The batches of one process of a canonical run without threads.
std::vector<SeenRow> unbroken(const StreamOptions& options, std::uint64_t batches) {
  Stream stream(options);
  DataLoader loader(std::make_shared<NumbersDataset>(options.samples), stream,
                    {.threads = 0, .augment = test::add_draws});
  return test::train(loader, batches);
}

// Each rank is a process: it goes on from a state, fetches more than it trains, and ends.
void run_world(const StreamOptions& options, std::uint32_t world, std::uint64_t batches, std::string& state,
               std::map<std::uint64_t, SeenRow>& committed, std::size_t& rows) {
  std::string after;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    Stream stream(options);
    LoaderOptions loading = any_loading();
    loading.rank = rank;
    loading.world_size = world;
    DataLoader loader(std::make_shared<NumbersDataset>(options.samples), stream, loading);
    if (*gen::arbitrary<bool>()) static_cast<void>(loader.next());  // loaded late
    if (!state.empty())
      stream.load_state(state);
    else
      loader.rewind();
    for (SeenRow& row : test::train(loader, batches)) {
      committed[row.slot.number] = std::move(row);
      ++rows;
    }
    for (int i = *gen::inRange(0, 3); i > 0; --i) static_cast<void>(loader.next());
    after = stream.save_state();
  }
  state = after;
}

RC_GTEST_PROP(DataLoader, TheCommittedHistoryIsThatOfAnUnbrokenRun, ()) {
  const StreamOptions options = any_options();
  std::string state;
  std::map<std::uint64_t, SeenRow> committed;
  std::size_t rows = 0;
  std::uint64_t batches = 0;
  for (int worlds = *gen::inRange(1, 6); worlds > 0; --worlds) {
    const auto more = *gen::inRange<std::uint64_t>(0, 5);
    run_world(options, *gen::inRange<std::uint32_t>(1, 9), more, state, committed, rows);
    batches += more;
  }
  const std::vector<SeenRow> expected = unbroken(options, batches);
  RC_ASSERT(rows == expected.size());
  for (const SeenRow& row : expected) RC_ASSERT(committed.at(row.slot.number) == row);
}

// Any mix of calls leaves the next batch at the stream's position.
RC_GTEST_PROP(DataLoader, TheNextBatchIsTheStreams, ()) {
  const StreamOptions options = any_options();
  Stream stream(options);
  DataLoader loader(std::make_shared<NumbersDataset>(options.samples), stream, any_loading());
  std::vector<Batch> in_hand;
  std::string saved = stream.save_state();
  std::uint32_t rank = 0, world = 1;
  for (int calls = *gen::inRange(1, 60); calls > 0; --calls) {
    switch (*gen::inRange(0, 8)) {
      case 0:
        saved = stream.save_state();
        break;
      case 1:
        stream.load_state(saved);
        in_hand.clear();
        break;
      case 2:
        loader.rewind();
        in_hand.clear();
        break;
      case 3:
        world = *gen::inRange<std::uint32_t>(1, 9);
        rank = *gen::inRange<std::uint32_t>(0, world);
        loader.set_share(rank, world);
        loader.rewind();
        in_hand.clear();
        break;
      case 4:
        stream.change_global_batch(*gen::inRange<std::uint64_t>(1, 40));
        in_hand.clear();
        break;
      case 5:
        if (!in_hand.empty()) {
          loader.advance(in_hand.front());
          in_hand.erase(in_hand.begin());
        }
        break;
      default: {
        const Batch batch = loader.next();
        RC_ASSERT(batch.index() == stream.batches() + in_hand.size());
        RC_ASSERT(batch.range() == stream.reader().batch(batch.index()));
        RC_ASSERT(batch.share() == share_of(batch.range(), rank, world));
        RC_ASSERT(test::slots_of(test::rows_of(batch)) ==
                  test::canonical(stream, batch.share().first, batch.share().last));
        in_hand.push_back(batch);
      }
    }
  }
}

}  // namespace
}  // namespace ratoon::loader_property_test
