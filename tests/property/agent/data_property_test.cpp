#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/permutation.h>
#include <ratoon/stream.h>

namespace ratoon::data_property_test {
namespace {

namespace gen = rc::gen;

// Sizes of every magnitude, not only those near the bound.
std::uint64_t any_size() {
  const int bits = *gen::inRange(1, 63);
  return *gen::inRange<std::uint64_t>(std::uint64_t{1} << (bits - 1), (std::uint64_t{1} << bits) + 1);
}

RC_GTEST_PROP(Permutation, InverseUndoesForwardAtAnySize, ()) {
  const std::uint64_t size = std::min(any_size(), Permutation::kSizeMax);
  const Permutation order(size, *gen::arbitrary<std::uint64_t>());
  const std::uint64_t place = *gen::inRange<std::uint64_t>(0, size);
  RC_ASSERT(order(place) < size);
  RC_ASSERT(order.inverse(order(place)) == place);
  RC_ASSERT(order(order.inverse(place)) == place);
}

// Any chain of worlds, each cut off after any step with some of its steps lost: the committed samples are the
// canonical order, each slot once.
RC_GTEST_PROP(Stream, TheCommittedHistoryIsTheCanonicalOne, ()) {
  const StreamOptions options{.samples = *gen::inRange<std::uint64_t>(1, 1000),
                              .global_batch = *gen::inRange<std::uint64_t>(1, 100),
                              .seed = *gen::arbitrary<std::uint64_t>(),
                              .source = "s"};
  std::string committed_state = Stream(options).save_state();
  std::vector<Slot> committed;
  for (int worlds = *gen::inRange(1, 8); worlds > 0; --worlds) {
    const auto world = *gen::inRange<std::uint32_t>(1, 20);
    std::vector<Stream> streams(world, Stream(options));
    for (Stream& stream : streams) stream.load_state(committed_state);
    std::vector<Slot> uncommitted;
    for (int steps = *gen::inRange(0, 6); steps > 0; --steps) {
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        for (const Slot& slot : streams[rank].take(rank, world)) uncommitted.push_back(slot);
      }
      if (!*gen::arbitrary<bool>()) continue;
      committed.insert(committed.end(), uncommitted.begin(), uncommitted.end());
      uncommitted.clear();
      committed_state = streams[*gen::inRange<std::size_t>(0, world)].save_state();
    }
  }
  const Stream canonical(options);
  for (std::uint64_t number = 0; number < committed.size(); ++number)
    RC_ASSERT(committed[number] == canonical.at(number));
}

RC_GTEST_PROP(Stream, AnyDamageToItsStateIsTakenWithoutHarm, ()) {
  Stream stream({.samples = 10, .global_batch = 4, .seed = 1, .source = "s"});
  stream.advance(*gen::inRange<std::uint64_t>(0, 1000));
  const std::string good = stream.save_state();
  std::string state = good;
  for (int i = *gen::inRange(1, 4); i > 0; --i)
    state[*gen::inRange<std::size_t>(0, state.size())] = *gen::arbitrary<char>();
  try {
    stream.load_state(state);
    RC_ASSERT(state == good);
  } catch (const Failure& failure) {
    RC_ASSERT(failure.exit_code == 82);
  }
}

}  // namespace
}  // namespace ratoon::data_property_test
