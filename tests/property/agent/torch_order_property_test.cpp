#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ratoon/torch_positions.h>
#include <ratoon/torch_stream.h>

namespace ratoon::torch_order_property_test {
namespace {

namespace gen = rc::gen;

using Ids = std::vector<std::uint64_t>;

// One rank that goes through a whole epoch.
Ids list_of(std::uint64_t samples, std::uint64_t seed, std::uint64_t epoch) {
  DistributedSampler alone({.samples = samples, .seed = seed});
  alone.set_epoch(epoch);
  return alone.fetch(samples);
}

// Any chain of worlds, each cut off after some rounds of which some are lost: the committed samples are the
// list, entry by entry, and its front again only behind its end.
RC_GTEST_PROP(DistributedSampler, TheCommittedHistoryIsTheList, ()) {
  const auto samples = *gen::inRange<std::uint64_t>(1, 400);
  const auto seed = *gen::arbitrary<std::uint64_t>();
  const auto epoch = *gen::arbitrary<std::uint32_t>();
  const Ids list = list_of(samples, seed, epoch);
  DistributedSampler first({.samples = samples, .seed = seed});
  first.set_epoch(epoch);
  std::string state = first.save_state();
  Ids committed;
  for (int worlds = *gen::inRange(1, 8); worlds > 0; --worlds) {
    const auto world = *gen::inRange<std::uint32_t>(1, 20);
    std::vector<DistributedSampler> ranks;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ranks.emplace_back(
          DistributedSamplerOptions{.samples = samples, .world_size = world, .rank = rank, .seed = seed});
      ranks.back().load_state(state);
    }
    Ids uncommitted;
    for (int rounds = *gen::inRange(0, 6); rounds > 0 && ranks[0].remaining() > 0; --rounds) {
      const std::uint64_t count = *gen::inRange<std::uint64_t>(1, 5);
      std::vector<Ids> fetched;
      for (DistributedSampler& rank : ranks) {
        fetched.push_back(rank.fetch(count));
        rank.advance(fetched.back().size());
      }
      for (std::size_t i = 0; i < fetched[0].size(); ++i) {
        for (const Ids& of_rank : fetched) uncommitted.push_back(of_rank[i]);
      }
      if (*gen::arbitrary<bool>()) continue;
      committed.insert(committed.end(), uncommitted.begin(), uncommitted.end());
      uncommitted.clear();
      state = ranks[*gen::inRange<std::size_t>(0, world)].save_state();
    }
  }
  RC_ASSERT(committed.size() < samples + 20);
  for (std::size_t i = 0; i < committed.size(); ++i) RC_ASSERT(committed[i] == list[i % samples]);
}

// Batches of any size, with any rank's state after any of them, beside a Stream of the same order.
RC_GTEST_PROP(TorchStream, StandsWhereTheSamplerStands, ()) {
  const DistributedSamplerOptions python{.samples = *gen::inRange<std::uint64_t>(1, 300),
                                         .world_size = *gen::inRange<std::uint32_t>(1, 9),
                                         .rank = 0,
                                         .seed = *gen::arbitrary<std::uint64_t>(),
                                         .shuffle = *gen::arbitrary<bool>()};
  const auto batch = *gen::inRange<std::uint64_t>(1, 20);
  DistributedSampler sampler(python);
  const std::uint64_t epoch = *gen::inRange<std::uint64_t>(0, 1000);
  sampler.set_epoch(epoch);
  for (int batches = *gen::inRange(0, 10); batches > 0; --batches)
    sampler.advance(sampler.fetch(batch).size());
  Stream stream(torch_stream(python, {.batch_size = batch}));
  begin_at(stream, python, sampler.position());
  if (sampler.remaining() == 0) sampler.set_epoch(epoch + 1);
  for (int more = 0; more < 5; ++more) {
    const Ids expected = sampler.fetch(batch);
    sampler.advance(expected.size());
    const std::vector<Slot> slots = stream.take(0, python.world_size);
    RC_ASSERT(slots.size() == expected.size());
    for (std::size_t i = 0; i < slots.size(); ++i) RC_ASSERT(slots[i].sample == expected[i]);
    if (sampler.remaining() == 0) sampler.set_epoch(sampler.epoch() + 1);
  }
}

// For every way in which an epoch is fetched and interrupted, RandomSampler gives the same.
RC_GTEST_PROP(RandomSampler, PiecesMakeTheWhole, ()) {
  RandomSamplerOptions options{.samples = *gen::inRange<std::uint64_t>(1, 80),
                               .replacement = *gen::arbitrary<bool>(),
                               .num_samples = *gen::inRange<std::uint64_t>(0, 200),
                               .loader = static_cast<Loader>(*gen::inRange(0, 4))};
  if (*gen::arbitrary<bool>())
    options.flavour = SamplerFlavour::kTorchdata;
  else
    options.seeds_each_epoch = *gen::arbitrary<bool>();
  RandomSampler whole(options, TorchGenerator(*gen::arbitrary<std::uint64_t>()));
  for (int epochs = *gen::inRange(0, 3); epochs > 0; --epochs) whole.begin_next_epoch();
  RandomSampler sampler = whole;
  const Ids expected = whole.fetch(whole.size());
  Ids found;
  while (sampler.remaining() > 0) {
    const Ids piece = sampler.fetch(*gen::inRange<std::uint64_t>(1, 50));
    const auto trained = *gen::inRange<std::uint64_t>(1, piece.size() + 1);
    found.insert(found.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(trained));
    sampler.advance(trained);
    if (trained == piece.size()) continue;
    if (*gen::arbitrary<bool>()) {
      sampler.rewind();
    } else {
      RandomSampler resumed(options, TorchGenerator());
      resumed.load_state(sampler.save_state());
      sampler = resumed;
    }
  }
  RC_ASSERT(found == expected);
}

}  // namespace
}  // namespace ratoon::torch_order_property_test
