// States that do not fit, the differences that a program accepts, and the size of a state.
#include <functional>
#include <numeric>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

#include "tests/support/damaged_state.h"

namespace ratoon::state_test {
namespace {

using test::of_format_1;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string sentence_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

StreamOptions two() {
  return {.global_batch = 4,
          .seed = 1,
          .sources = {{.name = "web", .samples = 100, .weight = 3, .shards = {60, 40}},
                      {.name = "books", .samples = 20, .weight = 1, .shards = {20}}}};
}

StreamOptions in_blocks() {
  StreamOptions options = two();
  options.order = SampleOrder::kBlocks;
  options.window_shards = 2;
  return options;
}

StreamOptions one() {
  return {.samples = 100, .global_batch = 4, .seed = 1, .source = "web"};
}

std::string state_after(const StreamOptions& options, std::uint64_t batches) {
  Stream stream(options);
  stream.advance(batches);
  return stream.save_state();
}

TEST(State, OfAnotherStreamIsRefusedWithBothValues) {
  using Change = std::function<void(StreamOptions&)>;
  const struct {
    const char* sentence;
    const char* way_out;
    StreamOptions from;
    Change change;
  } cases[] = {
      {"source 1 is 'books' with 20 samples, but in the program it is 'books' with 21 samples",
       ".sources = true", two(), [](StreamOptions& o) { o.sources[1] = {.name = "books", .samples = 21}; }},
      {"source 0 is 'web' with 100 samples, but in the program it is 'wet' with 100 samples",
       ".sources = true", two(), [](StreamOptions& o) { o.sources[0].name = "wet"; }},
      {"the number of sources is 2, but in the program it is 3", ".sources = true", two(),
       [](StreamOptions& o) { o.sources.push_back({.name = "more", .samples = 1}); }},
      {"the weight of source 0 is 49152/65536, but in the program it is 32768/65536", ".weights = true",
       two(), [](StreamOptions& o) { o.sources[0].weight = 1; }},
      {"the seed is 1, but in the program it is 2", ".seed = true", two(),
       [](StreamOptions& o) { o.seed = 2; }},
      {"the global batch is 4, but in the program it is 5", ".global_batch = true", two(),
       [](StreamOptions& o) { o.global_batch = 5; }},
      {"the order is feistel-1, epoch end carry, but in the program it is in-order-1, epoch end carry",
       ".order = true", two(), [](StreamOptions& o) { o.order = SampleOrder::kInOrder; }},
      {"the order is feistel-1, epoch end carry, but in the program it is feistel-1, epoch end short",
       ".order = true", one(), [](StreamOptions& o) { o.epoch_end = EpochEnd::kShort; }},
      {"blocks-1 with windows of 2 shards, epoch end carry, but in the program it is blocks-1 with windows "
       "of 3 "
       "shards",
       ".order = true", in_blocks(), [](StreamOptions& o) { o.window_shards = 3; }},
      {"the digest of names and shards is", ".sources = true", in_blocks(),
       [](StreamOptions& o) { o.sources[0].shards = {40, 60}; }},
  };
  for (const auto& c : cases) {
    StreamOptions options = c.from;
    c.change(options);
    Stream stream(options);
    stream.advance(3);
    const std::string before = stream.save_state();
    EXPECT_THAT(sentence_of([&] { stream.load_state(state_after(c.from, 9)); }),
                AllOf(HasSubstr(c.sentence), HasSubstr(c.way_out)));
    EXPECT_EQ(stream.save_state(), before) << "nothing is taken over";
  }
}

// The division of data into shards does not matter if no order depends on it.
TEST(State, OtherShardsAreTheSameSourceUnlessBlocksAreMadeOfThem) {
  StreamOptions options = two();
  options.sources[0].shards = {100};
  Stream stream(options);
  stream.load_state(state_after(two(), 9));
  EXPECT_EQ(stream.batches(), 9u);
}

TEST(State, AnAcceptedBatchHoldsFromTheCursorOnAndIsRecorded) {
  StreamOptions larger = one();
  larger.global_batch = 10;
  Stream stream(larger);
  stream.accept({.global_batch = true});
  stream.load_state(state_after(one(), 5));
  EXPECT_EQ(stream.next_batch(), (SlotRange{20, 30}));
  EXPECT_EQ(stream.reader().batch(4), (SlotRange{16, 20})) << "past batches stay known";
  EXPECT_THAT(stream.accepted(), ElementsAre(AcceptedDifference{20, "the global batch", "4", "10"}));
  stream.advance();

  Stream next(larger);  // from now on it is what the run was begun with
  next.load_state(stream.save_state());
  EXPECT_EQ(next.save_state(), stream.save_state());
  EXPECT_THAT(next.accepted(), ElementsAre(AcceptedDifference{20, "the global batch", "4", "10"}));
  Stream back(one());
  EXPECT_THAT(sentence_of([&] { back.load_state(stream.save_state()); }),
              HasSubstr("the global batch is 10, but in the program it is 4"));
}

TEST(State, AcceptedWeightsHoldFromTheCursorOn) {
  StreamOptions other = two();
  other.sources[0].weight = 0;
  Stream stream(other);
  stream.accept({.weights = true});
  Stream before(two());
  before.advance(5);
  stream.load_state(before.save_state());
  EXPECT_THAT(stream.weights(), ElementsAre(0, 65536));
  for (std::uint64_t slot = 0; slot < 20; ++slot) EXPECT_EQ(stream.at(slot), before.at(slot));
  for (const Slot& slot : stream.take(0, 1)) EXPECT_EQ(slot.source, 1u);
  Stream next(other);
  next.load_state(stream.save_state());
  EXPECT_EQ(next.save_state(), stream.save_state());
  EXPECT_EQ(next.at(7), before.at(7));
}

TEST(State, OtherSourcesSeedsAndOrdersBeginAtTheCursor) {
  const struct {
    const char* what;
    StreamOverride accepted;
    std::function<void(StreamOptions&)> change;
  } cases[] = {
      {"the number of samples", {.sources = true}, [](StreamOptions& o) { o.samples = 150; }},
      {"the source", {.sources = true}, [](StreamOptions& o) { o.source = "wet"; }},
      {"the seed", {.seed = true}, [](StreamOptions& o) { o.seed = 7; }},
      {"the order", {.order = true}, [](StreamOptions& o) { o.order = SampleOrder::kInOrder; }},
      {"the order", {.order = true}, [](StreamOptions& o) { o.epoch_end = EpochEnd::kDrop; }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    StreamOptions options = one();
    c.change(options);
    Stream stream(options);
    stream.accept(c.accepted);
    stream.load_state(state_after(one(), 30));
    EXPECT_EQ(stream.cursor(), 120u);
    EXPECT_EQ(stream.batches(), 30u);
    EXPECT_EQ(stream.accepted().at(0).what, c.what);
    EXPECT_EQ(stream.at(125), Stream(options).at(125)) << "slots are those of the program";
    EXPECT_EQ(stream.first_known_slot(), 120u);
    EXPECT_THROW(static_cast<void>(stream.at(119)), std::out_of_range) << "and those before cannot be known";
    EXPECT_THROW(static_cast<void>(stream.reader().batch(29)), std::out_of_range);
    stream.advance(2);
    Stream next(options);
    next.load_state(stream.save_state());
    EXPECT_EQ(next.save_state(), stream.save_state());
  }
}

TEST(State, SeveralDifferencesNeedEachItsOwnWord) {
  StreamOptions options = one();
  options.seed = 9;
  options.global_batch = 6;
  Stream stream(options);
  stream.accept({.seed = true});
  EXPECT_THAT(sentence_of([&] { stream.load_state(state_after(one(), 2)); }),
              HasSubstr("the global batch is 4"));
  stream.accept({.global_batch = true, .seed = true});
  stream.load_state(state_after(one(), 2));
  EXPECT_EQ(stream.accepted().size(), 2u);
  EXPECT_EQ(stream.next_batch(), (SlotRange{8, 14}));
}

TEST(State, ABatchThatNoEpochHoldsIsNoWayOut) {
  StreamOptions options = one();
  options.epoch_end = EpochEnd::kDrop;
  options.global_batch = 80;
  StreamOptions fewer = options;
  fewer.samples = 50;
  fewer.global_batch = 10;
  Stream grown(options);
  grown.advance(1);
  Stream stream(fewer);
  stream.accept({.global_batch = true, .sources = true});
  stream.load_state(grown.save_state());
  EXPECT_EQ(stream.global_batch(), 10u);

  StreamOptions changed = options;
  changed.global_batch = 10;
  Stream large(changed);
  large.advance(1);
  large.change_global_batch(80);
  EXPECT_THAT(sentence_of([&] { stream.load_state(large.save_state()); }),
              HasSubstr("a global batch of 80 is larger than an epoch"));
}

TEST(State, AcceptedDifferencesAreBounded) {
  std::string state = state_after(one(), 1);
  for (int load = 0; load < 64; ++load) {
    StreamOptions options = one();
    options.seed = 2 + static_cast<std::uint64_t>(load);
    Stream stream(options);
    stream.accept({.seed = true});
    stream.load_state(state);
    state = stream.save_state();
  }
  Stream stream(one());
  stream.accept({.seed = true});
  EXPECT_THAT(sentence_of([&] { stream.load_state(state); }), HasSubstr("64 times"));
}

TEST(State, ThatContradictsItselfIsRefused) {
  Stream stream(one());
  stream.advance(3);
  stream.skip_to(40);
  stream.advance(2);
  stream.change_global_batch(6);
  stream.advance(1);
  const std::string good = of_format_1(stream.save_state());
  ASSERT_THAT(good, HasSubstr(R"("segments":[{"batch":0,"from":0,"global_batch":4,"start":0},)"
                              R"({"batch":3,"from":12,"global_batch":4,"start":40},)"
                              R"({"batch":5,"from":48,"global_batch":6,"start":48}])"));
  const auto with = [&good](const std::string& from, const std::string& to) {
    EXPECT_THAT(good, HasSubstr(from));
    return std::string(good).replace(good.find(from), from.size(), to);
  };
  const struct {
    std::string state;
    const char* sentence;
  } cases[] = {
      {with("\"cursor\":54", "\"cursor\":55"), "the cursor at slot 55 is not where 6 batches end"},
      {with("\"batches\":6", "\"batches\":7"), "the cursor at slot 54 is not where 7 batches end"},
      {with("\"batches\":6", "\"batches\":4"), "is not where 4 batches end"},
      {with("\"from\":12", "\"from\":13"), "the segment from slot 13 does not follow"},
      {with("\"start\":40", "\"start\":11"), "the segment from slot 12 does not follow"},
      {with("{\"batch\":5", "{\"batch\":2"), "the segment from slot 48 does not follow"},
      {with("\"global_batch\":6,\"start\":48", "\"global_batch\":0,\"start\":48"), "does not follow"},
      {with("\"from\":0", "\"from\":1"), "the segment from slot 1 does not follow"},
      {with("\"start\":48}", "\"start\":48,\"weights\":[65536]}"), "there is one source"},
      {with("\"weights\":[65536]", "\"weights\":[65536,1]"), "as many items as there are samples"},
      {with("\"names\":[\"web\"]", "\"names\":[\"web\",\"x\"]"), "as many items as there are samples"},
      {with("\"weights\":[65536]", "\"weights\":[-1]"), "a list of whole numbers"},
      {with("\"names\":[\"web\"]", "\"names\":[7]"), "a list of texts"},
      {with("\"format\":1", "\"first_known\":7,\"format\":1"), "is not where"},
      {with("\"format\":1", "\"accepted\":[{\"slot\":1}],\"format\":1"), "accepted[].what"},
      {with("\"cursor\":54", "\"cursor\":5400000000000000000"), "stream.cursor"},
      {with("\"batches\":6", "\"batches\":4611686018427387904"),
       "a stream has 2^62 slots, and 4611686018427387899 further batches need more slots"},
      {with("\"global_batch\":6,\"start\":48", "\"global_batch\":6,\"start\":4611686018427387904"),
       "a stream has 2^62 slots, and 1 further batches need more slots"},
  };
  for (const auto& c : cases) {
    Stream target(one());
    EXPECT_THAT(sentence_of([&] { target.load_state(c.state); }), HasSubstr(c.sentence)) << c.state;
    EXPECT_EQ(target.cursor(), 0u);
  }
}

void expect_that_no_damage_loads(const StreamOptions& options, const std::string& state) {
  test::expect_that_no_damage_loads(state,
                                    [&](const std::string& damaged) { Stream(options).load_state(damaged); });
}

TEST(State, ThatIsDamagedAnywhereIsRefused) {
  Stream changed(one());
  changed.advance(3);
  changed.skip_to(40);
  changed.advance(2);
  changed.change_global_batch(6);
  expect_that_no_damage_loads(one(), state_after(one(), 7));
  expect_that_no_damage_loads(two(), state_after(two(), 3));
  expect_that_no_damage_loads(in_blocks(), state_after(in_blocks(), 5));
  StreamOptions six = one();
  six.global_batch = 6;
  expect_that_no_damage_loads(six, changed.save_state());
}

// One field under the name of another: only a reader that mistakes one name for the other loads it.
TEST(State, WhoseFieldsChangeNamesIsRefused) {
  const std::vector<std::string> names{"accepted",      "batches", "cursor",       "digest",  "epoch_end",
                                       "first_known",   "format",  "global_batch", "order",   "seed",
                                       "segments",      "sources", "state_digest", "samples", "asked",
                                       "start",         "from",    "batch",        "weights", "names",
                                       "window_shards", ""};
  const std::string state = state_after(one(), 7);
  std::size_t changed = 0;
  for (const std::string& from : names) {
    for (const std::string& to : names) {
      const std::string field = '"' + from + "\":";
      for (std::size_t at = state.find(field); at != std::string::npos; at = state.find(field, at + 1)) {
        std::string damaged = state;
        damaged.replace(at, field.size(), '"' + to + "\":");
        if (damaged == state) continue;
        ++changed;
        for (const bool accepts_all : {false, true}) {
          Stream target(one());
          if (accepts_all)
            target.accept(
                {.global_batch = true, .weights = true, .sources = true, .seed = true, .order = true});
          EXPECT_THROW(target.load_state(damaged), Failure) << damaged;
        }
      }
    }
  }
  EXPECT_GT(changed, 300U);
}

TEST(State, OfBeforeThereWasADigestLoads) {
  const std::string old = of_format_1(state_after(in_blocks(), 5));
  Stream stream(in_blocks());
  stream.load_state(old);
  EXPECT_EQ(stream.save_state(), state_after(in_blocks(), 5));
  const std::string strange = std::string(old).insert(1, R"("another":1,)");
  EXPECT_THAT(sentence_of([&] { Stream(in_blocks()).load_state(strange); }),
              HasSubstr("no digest, and it has an unknown field"));
  const std::string twice = std::string(old).insert(1, R"("seed":1,)");
  EXPECT_THAT(sentence_of([&] { Stream(in_blocks()).load_state(twice); }), HasSubstr("a duplicate field"));
}

TEST(State, WeightsOfASegmentSumToABlock) {
  Stream stream(two());
  stream.advance(3);
  stream.change_weights(std::vector<double>{1, 1});
  std::string state = of_format_1(stream.save_state());
  const std::string weights = "\"weights\":[32768,32768]";
  ASSERT_THAT(state, HasSubstr(weights));
  state.replace(state.find(weights), weights.size(), "\"weights\":[32768,32769]");
  Stream target(two());
  EXPECT_THAT(sentence_of([&] { target.load_state(state); }), HasSubstr("sum to 65536"));
}

// 1 KB and 24 bytes a source, for any names; the last slots of a long run.
TEST(State, IsSmall) {
  for (const std::size_t sources : {1u, 2u, 7u, 16u, 100u, 1000u, 4096u}) {
    StreamOptions options{.global_batch = 1 << 20, .seed = ~0ULL};
    for (std::size_t i = 0; i < sources; ++i) {
      std::string name(64, 'f');  // such as a SHA-256
      name.replace(0, 4, std::to_string(1000 + i));
      options.sources.push_back(
          {.name = name, .samples = 100'000'000'000'000 + i, .weight = 1.0 + static_cast<double>(i % 7)});
    }
    Stream stream(options);
    stream.begin_at(4'000'000'000'000'000'000, 3'000'000'000'000);
    const std::string state = stream.save_state();
    EXPECT_LE(state.size(), 1024 + 24 * sources) << sources << " sources";
    Stream again(options);
    again.load_state(state);
    EXPECT_EQ(again.save_state(), state);
  }
}

TEST(State, SourcesWithoutRoomForNamesAreToldApartByTheirDigest) {
  StreamOptions options{.global_batch = 8};
  for (int i = 0; i < 50; ++i)
    options.sources.push_back({.name = "a source with a long name " + std::to_string(i), .samples = 10});
  const std::string state = Stream(options).save_state();
  EXPECT_THAT(state, testing::Not(HasSubstr("long name")));
  options.sources[17].name = "another";
  Stream renamed(options);
  EXPECT_THAT(sentence_of([&] { renamed.load_state(state); }),
              HasSubstr("the digest of names and shards is "));
  options.sources[17].samples = 11;
  Stream grown(options);
  EXPECT_THAT(sentence_of([&] { grown.load_state(state); }),
              HasSubstr("source 17 is 10 samples, but in the program it is 11 samples"));
}

}  // namespace
}  // namespace ratoon::state_test
