#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/torch_positions.h>
#include <ratoon/torch_stream.h>

#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_stream_test {
namespace {

using nlohmann::json;
using test::Ids;
using test::torch_vectors;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Ids ids_of(const std::vector<Slot>& slots) {
  Ids ids;
  for (const Slot& slot : slots) ids.push_back(slot.sample);
  return ids;
}

TEST(TorchStream, GivesEachRankADataLoadersBatches) {
  for (const json& c : torch_vectors("loader_batches")) {
    const auto world = c["world"].get<std::uint32_t>();
    const DistributedSamplerOptions python{.samples = c["samples"].get<std::uint64_t>(),
                                           .world_size = world,
                                           .seed = c["seed"].get<std::uint64_t>()};
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      Stream stream(torch_stream(
          python, {.batch_size = c["batch"].get<std::uint64_t>(), .drop_last = c["drop_last"].get<bool>()}));
      begin_at(stream, python, {.epoch = c["epoch"].get<std::uint64_t>(), .consumed = 0});
      json batches = json::array();
      for (std::uint64_t i = 0; i < stream.batches_per_epoch(); ++i)
        batches.push_back(ids_of(stream.take(rank, world)));
      EXPECT_EQ(batches, c["batches"][rank]) << c;
      EXPECT_EQ(stream.index_in_epoch(), 0U) << "the epoch ends with the loader's last batch";
    }
  }
}

// Several epochs of every shape, compared with the sampler, which has its own vectors.
TEST(TorchStream, IsTheSamplerBatchByBatch) {
  for (const std::uint64_t samples : {1U, 5U, 16U, 37U}) {
    for (const std::uint32_t world : {1U, 2U, 3U, 7U}) {
      for (const std::uint64_t batch : {1U, 4U, 6U}) {
        for (const bool shuffle : {false, true}) {
          for (const bool drop_last : {false, true}) {
            if (drop_last && samples < world) continue;
            for (std::uint32_t rank = 0; rank < world; ++rank) {
              DistributedSampler sampler({.samples = samples,
                                          .world_size = world,
                                          .rank = rank,
                                          .seed = 9,
                                          .shuffle = shuffle,
                                          .drop_last = drop_last});
              Stream stream(torch_stream(sampler.options(), {.batch_size = batch}));
              for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
                for (sampler.set_epoch(epoch); sampler.remaining() > 0;) {
                  const Ids expected = sampler.fetch(batch);
                  ASSERT_EQ(stream.epoch(), epoch);
                  ASSERT_EQ(ids_of(stream.take(rank, world)), expected)
                      << samples << " samples, rank " << rank << " of " << world << ", batch " << batch;
                  sampler.advance(expected.size());
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(TorchStream, AnotherWorldTakesTheSameBatches) {
  const DistributedSamplerOptions python{.samples = 37, .world_size = 4, .seed = 3};
  Stream as_there(torch_stream(python, {.batch_size = 3}));
  std::vector<Stream> ranks(3, Stream(torch_stream(python, {.batch_size = 3})));
  for (int step = 0; step < 9; ++step) {
    Ids expected;
    Stream whole = as_there;
    for (const Slot& slot : whole.take(0, 1)) expected.push_back(slot.sample);
    Ids found;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (const std::uint64_t id : ids_of(ranks[rank].take(rank, 3))) found.push_back(id);
    }
    EXPECT_EQ(found, expected);
    static_cast<void>(as_there.take(2, 4));
  }
}

TEST(TorchStream, GoesOnWherePythonStood) {
  for (const json& c : torch_vectors("cycling_utils")) {
    if (c["rest"][0].empty()) continue;
    const auto world = c["world"].get<std::uint32_t>();
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const DistributedSamplerOptions python{.samples = c["samples"].get<std::uint64_t>(),
                                             .world_size = world,
                                             .seed = c["seed"].get<std::uint64_t>(),
                                             .repeat_epoch_0 = c["is_frozen"].get<bool>()};
      Stream stream(torch_stream(python, {.batch_size = 3}));
      begin_at(stream, python, position_of_cycling_utils(c["state"].dump(), python));
      const std::uint64_t epoch = stream.epoch();
      EXPECT_EQ(epoch, c["state"]["epoch"].get<std::uint64_t>());
      Ids rest;
      while (stream.epoch() == epoch) {
        for (const std::uint64_t id : ids_of(stream.take(rank, world))) rest.push_back(id);
      }
      EXPECT_EQ(json(rest), c["rest"][rank]) << c["state"];
    }
  }
}

TEST(TorchStream, AFinishedEpochGoesOnWithTheNext) {
  const DistributedSamplerOptions python{.samples = 10, .world_size = 4};
  Stream stream(torch_stream(python, {.batch_size = 2}));
  begin_at(stream, python, position_of_cycling_utils(R"({"progress":3,"epoch":1})", python));
  EXPECT_EQ(stream.epoch(), 2U);
  EXPECT_EQ(stream.index_in_epoch(), 0U);
  EXPECT_EQ(stream.batches(), 4U) << "two an epoch";
  Stream fresh(torch_stream(python, {.batch_size = 2}));
  begin_at(fresh, python, {.epoch = 0, .consumed = 0});
  EXPECT_EQ(fresh.cursor(), 0U);
}

// PyTorch's loader with drop_last leaves out the rest of an epoch: the run stands behind its last batch.
TEST(TorchStream, AnEpochWhoseRestIsDroppedIsFinished) {
  const DistributedSamplerOptions python{.samples = 10};
  for (const std::uint64_t epoch : {0U, 3U}) {
    Stream stream(torch_stream(python, {.batch_size = 4, .drop_last = true}));
    begin_at(stream, python, {.epoch = epoch, .consumed = 8});
    EXPECT_EQ(stream.epoch(), epoch + 1);
    EXPECT_EQ(stream.index_in_epoch(), 0U);
    EXPECT_EQ(stream.batches(), 2 * (epoch + 1));
  }
  Stream within(torch_stream(python, {.batch_size = 4, .drop_last = true}));
  begin_at(within, python, {.epoch = 1, .consumed = 4});
  EXPECT_EQ(within.epoch(), 1U);
  Stream with_rest(torch_stream(python, {.batch_size = 4}));
  begin_at(with_rest, python, {.epoch = 0, .consumed = 8});
  EXPECT_EQ(with_rest.epoch(), 0U) << "the last two samples are a batch";
}

std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

TEST(TorchStream, RefusesAPlaceWhereNoBatchBegins) {
  const DistributedSamplerOptions python{.samples = 37, .world_size = 4};
  Stream stream(torch_stream(python, {.batch_size = 3}));
  EXPECT_THAT(sentence_of([&] { begin_at(stream, python, {.epoch = 2, .consumed = 16}); }),
              AllOf(HasSubstr("16 samples of epoch 2"), HasSubstr("a batch has 12")));
  EXPECT_EQ(stream.cursor(), 0U);
}

TEST(TorchStream, ResumedAtAnyStepItGoesOnAsIfUnbroken) {
  const test::TemporaryFolder folder;
  const StreamOptions options = torch_stream(
      {.samples = 23, .world_size = 2, .seed = 4, .list_folder = folder.path().string()}, {.batch_size = 5});
  Stream unbroken(options);
  for (int step = 0; step < 12; ++step) {
    Stream resumed(options);
    resumed.load_state(unbroken.save_state());
    Stream copy = unbroken;
    for (int more = 0; more < 5; ++more) ASSERT_EQ(resumed.take(1, 2), copy.take(1, 2)) << step;
    EXPECT_EQ(resumed.save_state(), copy.save_state());
    static_cast<void>(unbroken.take(0, 2));
  }
}

TEST(TorchStream, TellsWhenASampleIsSeen) {
  for (const bool drop_last : {false, true}) {
    for (const bool shuffle : {false, true}) {
      const Stream stream(torch_stream(
          {.samples = 23, .world_size = 4, .shuffle = shuffle, .drop_last = drop_last}, {.batch_size = 2}));
      std::uint64_t left_out = 0;
      for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        for (std::uint64_t sample = 0; sample < 23; ++sample) {
          const auto slot = stream.slot_of(epoch, sample);
          if (!slot) {
            ++left_out;
            continue;
          }
          EXPECT_EQ(stream.at(*slot).sample, sample);
          EXPECT_EQ(stream.at(*slot).epoch, epoch);
        }
      }
      EXPECT_EQ(left_out, drop_last ? 6U : 0U);
    }
  }
}

TEST(TorchStream, ItsStateNamesTheOrderAndRefusesAnother) {
  const DistributedSamplerOptions python{.samples = 40, .world_size = 4, .seed = 1};
  const std::string state = Stream(torch_stream(python, {.batch_size = 2})).save_state();
  EXPECT_THAT(state, HasSubstr(R"("order":"torch-2.6+ world_size=4 batch_size=2")"));
  const auto load = [&](DistributedSamplerOptions options, TorchLoader loader) {
    options.samples = 40;
    Stream stream(torch_stream(options, loader));
    return sentence_of([&] { stream.load_state(state); });
  };
  const std::string was =
      "the order is torch-2.6+ world_size=4 batch_size=2, epoch end short, but in the program it is ";
  EXPECT_THAT(load({.world_size = 8, .seed = 1}, {.batch_size = 1}),
              HasSubstr(was + "torch-2.6+ world_size=8"));
  EXPECT_THAT(load({.world_size = 4, .seed = 1, .shuffle = false}, {.batch_size = 2}),
              HasSubstr("shuffle=false"));
  EXPECT_THAT(load({.world_size = 4, .seed = 1, .drop_last = true}, {.batch_size = 2}),
              HasSubstr("drop_last=true"));
  EXPECT_THAT(load({.world_size = 4, .seed = 1, .repeat_epoch_0 = true}, {.batch_size = 2}),
              HasSubstr("repeat_epoch_0=true"));
  EXPECT_THAT(load({.world_size = 4, .seed = 1, .release = TorchRelease::kBefore2_6}, {.batch_size = 2}),
              HasSubstr("torch-legacy"));
  EXPECT_THAT(load({.world_size = 4, .seed = 1}, {.batch_size = 2, .drop_last = true}),
              HasSubstr("epoch end drop"));
  EXPECT_THAT(load({.world_size = 4, .seed = 2}, {.batch_size = 2}), HasSubstr("seed"));
}

TEST(TorchStream, RefusesOptionsThatMakeNone) {
  const StreamOptions good = torch_stream({.samples = 10, .world_size = 4}, {.batch_size = 2});
  const auto why = [&](const std::function<void(StreamOptions&)>& spoil) -> std::string {
    StreamOptions options = good;
    spoil(options);
    try {
      const Stream stream(options);
    } catch (const std::invalid_argument& refusal) {
      return refusal.what();
    }
    return "taken";
  };
  EXPECT_EQ(why([](StreamOptions&) {}), "taken");
  EXPECT_THAT(why([](StreamOptions& o) { o.epoch_end = EpochEnd::kCarry; }), HasSubstr("else to short"));
  EXPECT_THAT(why([](StreamOptions& o) { o.torch.lists = nullptr; }), HasSubstr("torch.lists"));
  EXPECT_THAT(why([](StreamOptions& o) { o.torch.world_size = 0; }), HasSubstr("world size"));
  EXPECT_THAT(why([](StreamOptions& o) { o.torch.batch_size = 0; }), HasSubstr("batch size"));
  EXPECT_THAT(why([](StreamOptions& o) {
                o.torch.drop_last = true;
                o.torch.world_size = 11;
              }),
              HasSubstr("10 samples are too few for 11 ranks"));
  EXPECT_THAT(why([](StreamOptions& o) {
                o.samples = 0;
                o.sources = {{.name = "a", .samples = 5}, {.name = "b", .samples = 5}};
                o.epoch_end = EpochEnd::kCarry;
              }),
              HasSubstr("has one source"));
}

}  // namespace
}  // namespace ratoon::torch_stream_test
