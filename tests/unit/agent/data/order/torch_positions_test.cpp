#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/torch_positions.h>

#include "tests/unit/agent/data/golden/torch_vectors.h"

namespace ratoon::torch_positions_test {
namespace {

using nlohmann::json;
using test::Ids;
using test::torch_vectors;
using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

DistributedSamplerOptions options_of(const json& c, std::uint32_t rank) {
  return {.samples = c["samples"].get<std::uint64_t>(),
          .world_size = c["world"].get<std::uint32_t>(),
          .rank = rank,
          .seed = c["seed"].get<std::uint64_t>(),
          .drop_last = c.value("drop_last", false)};
}

Ids rest_after(const DistributedSamplerOptions& options, ListPosition position) {
  DistributedSampler sampler(options);
  sampler.seek(position);
  return sampler.fetch(sampler.remaining());
}

TEST(TorchPositions, CyclingUtilsGoesOn) {
  for (const json& c : torch_vectors("cycling_utils")) {
    for (std::uint32_t rank = 0; rank < c["world"].get<std::uint32_t>(); ++rank) {
      DistributedSamplerOptions options = options_of(c, rank);
      options.repeat_epoch_0 = c["is_frozen"].get<bool>();
      const ListPosition position = position_of_cycling_utils(c["state"].dump(), options);
      EXPECT_EQ(position.epoch, c["state"]["epoch"].get<std::uint64_t>());
      EXPECT_THAT(rest_after(options, position), ElementsAreArray(c["rest"][rank].get<Ids>())) << c["state"];
    }
  }
}

TEST(TorchPositions, TorchdataGoesOnInEveryFormOfItsState) {
  for (const json& c : torch_vectors("torchdata_distributed")) {
    const DistributedSamplerOptions options = options_of(c, c["rank"].get<std::uint32_t>());
    const ListPosition position = position_of_torchdata(
        c["state"].dump(), options, c["epoch"].get<std::uint64_t>(), c["batch"].get<std::uint64_t>());
    EXPECT_THAT(rest_after(options, position), ElementsAreArray(c["rest"].get<Ids>())) << c["state"];
  }
}

RandomSampler random_sampler_of(const json& c) {
  return {{.samples = c["samples"].get<std::uint64_t>(),
           .replacement = c["replacement"].get<bool>(),
           .num_samples = c["num_samples"].get<std::uint64_t>(),
           .flavour = SamplerFlavour::kTorchdata,
           .loader = c["workers"] == 0 ? Loader::kInProcess : Loader::kWorkers},
          TorchGenerator()};
}

TEST(TorchPositions, TorchdatasRandomSamplerGoesOnAndIntoTheNextEpoch) {
  for (const json& c : torch_vectors("torchdata_random")) {
    RandomSampler sampler = random_sampler_of(c);
    seek_to_torchdata(sampler, c["state"].dump(), c["batch"].get<std::uint64_t>());
    EXPECT_THAT(sampler.fetch(sampler.size()), ElementsAreArray(c["rest"].get<Ids>()));
    sampler.begin_next_epoch();
    EXPECT_THAT(sampler.fetch(sampler.size()), ElementsAreArray(c["then"].get<Ids>()));
  }
}

TEST(TorchPositions, AGeneratorMayBeAListOfBytes) {
  RandomSampler sampler({.samples = 10, .flavour = SamplerFlavour::kTorchdata}, TorchGenerator());
  json bytes = json::array();
  for (const char byte : TorchGenerator(3).state()) bytes.push_back(static_cast<unsigned char>(byte));
  seek_to_torchdata(sampler, json{{"yielded", 4}, {"generator", bytes}}.dump());
  EXPECT_TRUE(sampler.generator() == TorchGenerator(3));
  EXPECT_EQ(sampler.progress(), 4U);
}

TEST(TorchPositions, DlroverGoesOnInAnyWorld) {
  for (const json& c : torch_vectors("dlrover")) {
    const ListPosition position = position_of_dlrover(c["state"].dump(), options_of(c, 0));
    const auto world = c["new_world"].get<std::uint32_t>();
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      DistributedSamplerOptions options = options_of(c, rank);
      options.world_size = world;
      EXPECT_THAT(rest_after(options, position), ElementsAreArray(c["rest"][rank].get<Ids>()))
          << c["state"] << world;
    }
  }
}

TEST(TorchPositions, MegatronsCyclicSamplerGoesOn) {
  for (const json& c : torch_vectors("megatron")) {
    for (std::uint32_t rank = 0; rank < c["parallel"].get<std::uint32_t>(); ++rank) {
      const MegatronPosition found = position_of_megatron(
          c["consumed"].get<std::uint64_t>(), {.total_samples = c["total"].get<std::uint64_t>(),
                                               .micro_batch_size = c["micro"].get<std::uint64_t>(),
                                               .data_parallel_size = c["parallel"].get<std::uint32_t>(),
                                               .data_parallel_rank = rank,
                                               .is_cyclic = true,
                                               .has_data_sharding = false});
      DistributedSampler sampler(found.sampler);
      sampler.seek(found.position);
      const BatchRanges batches(sampler.remaining(), c["micro"].get<std::uint64_t>(), true);
      Ids rest;
      for (std::uint64_t i = 0; i < batches.size(); ++i) {
        const Ids batch = sampler.fetch(batches[i].second - batches[i].first);
        rest.insert(rest.end(), batch.begin(), batch.end());
      }
      EXPECT_THAT(rest, ElementsAreArray(c["rest"][rank].get<Ids>())) << c["consumed"];
    }
  }
}

// Its active_total_samples: 96 of 100 where a step takes 8.
TEST(TorchPositions, MegatronsEpochsEndWithItsLastWholeStep) {
  const MegatronSampler sampler{.total_samples = 100,
                                .micro_batch_size = 4,
                                .data_parallel_size = 2,
                                .is_cyclic = true,
                                .has_data_sharding = false};
  const auto position = [&](std::uint64_t consumed) {
    return position_of_megatron(consumed, sampler).position;
  };
  EXPECT_EQ(position(88), (ListPosition{.epoch = 0, .consumed = 88}));
  EXPECT_EQ(position(96), (ListPosition{.epoch = 1, .consumed = 0}));
  EXPECT_EQ(position(96 * 26 + 8), (ListPosition{.epoch = 26, .consumed = 8}));
}

TEST(TorchPositions, MegatronsSingleSamplerIsTheDataSetsOwnOrder) {
  const MegatronPosition found =
      position_of_megatron(24, {.total_samples = 100, .micro_batch_size = 4, .data_parallel_size = 2});
  DistributedSampler sampler(found.sampler);
  sampler.seek(found.position);
  EXPECT_THAT(sampler.fetch(4), ElementsAreArray({24, 26, 28, 30}));
}

TEST(TorchPositions, TheEndOfAnEpochIsTheEndInEveryWorld) {
  const DistributedSamplerOptions saved{.samples = 10, .world_size = 4};
  EXPECT_EQ(position_of_cycling_utils(R"({"progress":3,"epoch":1})", saved).consumed, 10U);
  EXPECT_EQ(position_of_cycling_utils(R"({"progress":2,"epoch":1})", saved).consumed, 8U);
  EXPECT_EQ(position_of_dlrover(R"({"completed_num":12,"epoch":1})", saved).consumed, 10U);
  EXPECT_EQ(position_of_torchdata(R"({"yielded":3})", saved, 1).consumed, 10U);
  const char* finished = R"({"_snapshot":{"_main_snapshot":{"_sampler_iter_state":{"samples_yielded":1}}},)"
                         R"("_steps_since_snapshot":2,"_iterator_finished":true})";
  EXPECT_EQ(position_of_torchdata(finished, saved, 1).consumed, 10U) << "whatever the batch size";
  const DistributedSamplerOptions dropping{.samples = 10, .world_size = 4, .drop_last = true};
  EXPECT_EQ(position_of_cycling_utils(R"({"progress":2,"epoch":1})", dropping).consumed, 10U);
  EXPECT_EQ(position_of_dlrover(R"({"completed_num":10,"epoch":1})", dropping).consumed, 10U)
      << "the whole list, of which 8 are taken";
}

TEST(TorchPositions, TheSamplersOwnCountIsTheOneThatCounts) {
  const DistributedSamplerOptions saved{.samples = 100, .world_size = 4};
  EXPECT_EQ(
      position_of_torchdata(R"({"samples_yielded":8,"sampler_state":{"yielded":7}})", saved, 0).consumed,
      28U);
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

TEST(TorchPositions, RefusesWhatDoesNotFitWithBothValues) {
  const DistributedSamplerOptions saved{.samples = 10, .world_size = 4};
  const auto cycling = [&](const char* text) {
    return sentence_of([&] { static_cast<void>(position_of_cycling_utils(text, saved)); });
  };
  EXPECT_THAT(cycling(R"({"progress":4,"epoch":0})"),
              AllOf(HasSubstr("after 4 samples of each rank"), HasSubstr("for each of 4 ranks, only 3")));
  EXPECT_THAT(cycling(R"({"progress":-1,"epoch":0})"), HasSubstr("found -1"));
  EXPECT_THAT(cycling(R"({"epoch":0})"), HasSubstr("progress must be a whole number"));
  EXPECT_THAT(cycling("progress"), HasSubstr("cannot be read"));

  const auto torchdata = [&](const char* text, std::uint64_t batch) {
    return sentence_of([&] { static_cast<void>(position_of_torchdata(text, saved, 0, batch)); });
  };
  EXPECT_THAT(torchdata(R"({"yielded":4})", 0), HasSubstr("after 4 samples of each rank"));
  EXPECT_THAT(torchdata(R"({})", 0), HasSubstr("samples_yielded must be"));
  const char* since = R"({"_snapshot":{"_main_snapshot":{"_sampler_iter_state":{"samples_yielded":2}}},)"
                      R"("_steps_since_snapshot":1})";
  EXPECT_THAT(torchdata(since, 0), HasSubstr("1 batches after its snapshot at 2 samples: pass batch_size"));
  EXPECT_EQ(position_of_torchdata(since, saved, 0, 2).consumed, 10U) << "the last batch is short";

  const auto dlrover = [&](const char* text) {
    return sentence_of([&] { static_cast<void>(position_of_dlrover(text, saved)); });
  };
  EXPECT_THAT(
      dlrover(R"({"completed_num":13,"epoch":6})"),
      AllOf(HasSubstr("13 samples are completed"), HasSubstr("an epoch has 12"), HasSubstr("epoch 6")));

  RandomSampler sampler({.samples = 10, .flavour = SamplerFlavour::kTorchdata}, TorchGenerator());
  EXPECT_THAT(sentence_of([&] { seek_to_torchdata(sampler, R"({"yielded":11,"generator":[1]})"); }),
              AllOf(HasSubstr("after 11 samples"), HasSubstr("epoch has 10")));
  EXPECT_THAT(sentence_of([&] { seek_to_torchdata(sampler, R"({"yielded":1})"); }),
              HasSubstr("has no generator"));
  EXPECT_THAT(sentence_of([&] { seek_to_torchdata(sampler, R"({"yielded":1,"generator":[256]})"); }),
              HasSubstr("not a list of bytes"));
  EXPECT_THAT(sentence_of([&] { seek_to_torchdata(sampler, R"({"yielded":1,"generator":"zz"})"); }),
              HasSubstr("bytes, found 0"));
  RandomSampler torch({.samples = 10}, TorchGenerator());
  EXPECT_THROW(seek_to_torchdata(torch, R"({"yielded":1})"), std::invalid_argument);
}

TEST(TorchPositions, RefusesMegatronsThatDoNotFit) {
  const auto megatron = [](std::uint64_t consumed, MegatronSampler sampler) {
    return sentence_of([&] { static_cast<void>(position_of_megatron(consumed, sampler)); });
  };
  MegatronSampler sampler{.total_samples = 100, .micro_batch_size = 4, .data_parallel_size = 2};
  EXPECT_THAT(megatron(101, sampler),
              AllOf(HasSubstr("101 samples are consumed"), HasSubstr("the data set has 100")));
  sampler.is_cyclic = true;
  EXPECT_THAT(megatron(24, sampler), HasSubstr("--no-data-sharding"));
  sampler.has_data_sharding = false;
  EXPECT_THAT(megatron(25, sampler), AllOf(HasSubstr("25 samples"), HasSubstr("a step has 8 samples")));
  sampler.total_samples = 7;
  EXPECT_THAT(megatron(0, sampler), HasSubstr("an epoch 0"));
  sampler.micro_batch_size = 0;
  EXPECT_THROW(static_cast<void>(position_of_megatron(0, sampler)), std::invalid_argument);
}

}  // namespace
}  // namespace ratoon::torch_positions_test
