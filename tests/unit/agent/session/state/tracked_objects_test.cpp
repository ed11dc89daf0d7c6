// Tracked objects by their tensors: their names, and that nothing changes before all tensors are known to
// fit.
#include "agent/src/session/state/tracked_objects.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/metrics.h>
#include <ratoon/random_engine.h>

#include "tests/support/saved_objects.h"

namespace ratoon {

// The rows of a table that one rank of several has.
struct TableRows {
  std::vector<float> rows;
  std::uint64_t first = 0;
  std::uint64_t all = 0;
  std::int16_t version = 0;
};

template <>
struct TrackAdapter<TableRows> {
  static void save(TableRows& table, StateWriter& out) {
    out.tensor({.name = "rows",
                .type = ElementType::kFloat32,
                .shape = {table.rows.size() / 2, 2},
                .bytes = std::as_bytes(std::span(table.rows)),
                .box = TensorBox{{table.first, 0}, {table.all, 2}}});
    out.number("version", table.version);
  }
  static void load(TableRows& table, StateReader& in) {
    in.tensor({.name = "rows",
               .type = ElementType::kFloat32,
               .shape = {table.rows.size() / 2, 2},
               .box = TensorBox{{table.first, 0}, {table.all, 2}}},
              std::as_writable_bytes(std::span(table.rows)));
    in.number("version", table.version);
  }
};

namespace session {
namespace {

using testing::HasSubstr;

void track_number(TrackedObjects& objects, const std::string& name, auto& value) {
  objects.add(
      name, [&value](StateWriter& out) { out.number("", value); },
      [&value](StateReader& in) { in.number("", value); });
}

std::string refusal(const std::function<void()>& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 82);
    return failure.what();
  }
  return "no Failure was thrown";
}

TEST(TrackedObjects, NumbersAreTensorsOfTheirType) {
  bool is_done = true;
  std::uint8_t small = 200;
  long long large = -5;
  double share = 0.25;
  long double odd = 1.5L;
  TrackedObjects objects;
  track_number(objects, "is_done", is_done);
  track_number(objects, "small", small);
  track_number(objects, "large", large);
  track_number(objects, "share", share);
  track_number(objects, "odd", odd);
  test::SavedObjects saved;
  const auto point = saved.save(objects);
  is_done = false;
  small = 0;
  large = 0;
  share = 0;
  odd = 0;
  saved.load(point, objects);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(small, 200);
  EXPECT_EQ(large, -5);
  EXPECT_EQ(share, 0.25);
  EXPECT_EQ(odd, 1.5L);
  const auto content = saved.content(point);
  EXPECT_EQ(content.at("is_done").type, ElementType::kBool);
  EXPECT_EQ(content.at("large").type, ElementType::kInt64);
  EXPECT_EQ(content.at("large").shape, TensorShape());
  EXPECT_EQ(content.at("odd").shape, TensorShape({sizeof odd}));
}

// The memory of an optimizer, for example, whose parameters are another object's.
TEST(TrackedObjects, WhatOneChangesAndNoneHasIsRefusedByItsName) {
  std::array<float, 16> memory{};
  const auto at = [&](std::size_t begin, std::size_t count) {
    return StateWriter::Memory{.begin = &memory.at(begin), .bytes = count * sizeof(float)};
  };
  const auto check = [&](const std::vector<StateWriter::Memory>& written,
                         const StateWriter::Memory& changed) {
    TrackedObjects objects;
    objects.add(
        "net",
        [&](StateWriter& out) {
          for (const auto& one : written) out.lies_at(one);
        },
        [](StateReader&) {});
    objects.add(
        "optimizer", [&](StateWriter& out) { out.changes("parameter 3", changed); }, [](StateReader&) {});
    TrackedObjects::check_all_tracked(objects.collect());
  };
  EXPECT_NO_THROW(check({at(0, 4)}, at(0, 4)));
  EXPECT_NO_THROW(check({at(8, 8), at(4, 4), at(0, 4)}, at(2, 12))) << "a view over all of them";
  EXPECT_NO_THROW(check({at(0, 16), at(4, 4)}, at(8, 4))) << "one lies in another";
  EXPECT_NO_THROW(check({at(4, 4), at(0, 16)}, at(8, 8)));
  const std::string sentence =
      "tracked 'optimizer' changes parameter 3, which is not tracked: its changes would be lost at each "
      "start";
  for (const auto& changed : {at(8, 4), at(2, 4), at(0, 5)})
    EXPECT_THAT(refusal([&] { check({at(0, 4), at(12, 4)}, changed); }), HasSubstr(sentence));
  EXPECT_THAT(refusal([&] { check({}, at(0, 1)); }), HasSubstr(sentence));
}

// The report of an adapter for a type of the program's own, which has no other memory.
TEST(TrackedObjects, ATensorLiesWhereItsBytesAre) {
  std::array<float, 8> weights{};
  const auto check = [&](std::size_t changed) {
    TrackedObjects objects;
    objects.add(
        "net",
        [&](StateWriter& out) {
          out.tensor({.name = "weights",
                      .type = ElementType::kFloat32,
                      .shape = {4},
                      .bytes = std::as_bytes(std::span(weights).first(4))});
        },
        [](StateReader&) {});
    objects.add(
        "optimizer",
        [&](StateWriter& out) { out.changes("parameter 0", {weights.data(), changed * sizeof(float)}); },
        [](StateReader&) {});
    TrackedObjects::check_all_tracked(objects.collect());
  };
  EXPECT_NO_THROW(check(4));
  EXPECT_THAT(refusal([&] { check(5); }), HasSubstr("changes parameter 0, which is not tracked"));
}

TEST(TrackedObjects, TensorsAreCalledByObjectAndName) {
  TableRows table{.rows = {1, 2, 3, 4}, .first = 0, .all = 2, .version = 3};
  double version = 7;  // what 'table' has under the same name
  TrackedObjects objects;
  test::track(objects, "table", table);
  track_number(objects, "table.version", version);
  test::SavedObjects saved;
  const auto point = saved.save(objects);
  const auto content = saved.content(point);
  EXPECT_EQ(content.size(), 3u);
  EXPECT_EQ(content.at("table.version").type, ElementType::kInt16);
  EXPECT_EQ(content.at("tracked:table.version").type, ElementType::kFloat64);
  table = {.rows = {0, 0, 0, 0}, .first = 0, .all = 2, .version = 0};
  version = 0;
  saved.load(point, objects);
  EXPECT_EQ(table.rows, std::vector<float>({1, 2, 3, 4}));
  EXPECT_EQ(table.version, 3);
  EXPECT_EQ(version, 7);
}

TEST(TrackedObjects, TwoTensorsOfOneNameAreRefused) {
  TrackedObjects objects;
  objects.add(
      "a",
      [](StateWriter& out) {
        out.number("x", 1);
        out.number("x", 2);
      },
      [](StateReader&) {});
  EXPECT_THAT(refusal([&] { static_cast<void>(objects.collect()); }),
              HasSubstr("tracked 'a': two tensors are called 'a.x'"));
}

TEST(TrackedObjects, NothingChangesBeforeAllOfItFits) {
  std::int64_t first = 1;
  std::int64_t second = 2;
  TrackedObjects objects;
  track_number(objects, "first", first);
  track_number(objects, "second", second);
  test::SavedObjects saved;
  const auto point = saved.save(objects);
  first = 10;
  float narrower = 3;
  TrackedObjects others;
  track_number(others, "first", first);
  track_number(others, "second", narrower);
  EXPECT_THAT(refusal([&] { saved.load(point, others); }),
              HasSubstr("tracked 'second': tensor 'second' is I64 of shape [] in the checkpoint and F32 of"));
  EXPECT_EQ(first, 10);
}

TEST(TrackedObjects, AnotherShapeIsRefused) {
  TableRows table{.rows = {1, 2, 3, 4}, .first = 0, .all = 2};
  test::SavedObjects saved;
  TrackedObjects objects;
  test::track(objects, "table", table);
  const auto point = saved.save(objects);
  TableRows longer{.rows = std::vector<float>(6), .first = 0, .all = 3};
  EXPECT_THAT(refusal([&] { saved.load(point, "table", longer); }),
              HasSubstr("'table.rows' is F32 of shape [2,2] in the checkpoint and F32 of shape [3,2] in"));
}

// The form of modules before their tensors had names.
TEST(TrackedObjects, AnObjectThatWasOneTextIsSaidToBe) {
  TrackedObjects before;
  before.add("table", [](StateWriter& out) { out.bytes("", "all of it"); }, [](StateReader&) {});
  test::SavedObjects saved;
  const auto point = saved.save(before);
  TableRows table{.rows = {1, 2}, .first = 0, .all = 1};
  EXPECT_THAT(refusal([&] { saved.load(point, "table", table); }),
              HasSubstr("has no tensor 'table.rows', because an older Ratoon saved this object as one text"));
}

TEST(TrackedObjects, TwoPlacesInTheSameMemoryAreFilledOneAfterTheOther) {
  std::vector<float> tied(100'000, 2.5F);
  const auto save = [&](StateWriter& out) {
    for (const char* name : {"a", "b", "c"})
      out.tensor({.name = name,
                  .type = ElementType::kFloat32,
                  .shape = {tied.size()},
                  .bytes = std::as_bytes(std::span(tied))});
  };
  const auto load = [&](StateReader& in) {
    for (const char* name : {"a", "b", "c"})
      in.tensor({.name = name, .type = ElementType::kFloat32, .shape = {tied.size()}},
                std::as_writable_bytes(std::span(tied)));
  };
  TrackedObjects objects;
  objects.add("net", save, load);
  test::SavedObjects saved;
  const auto point = saved.save(objects);
  tied.assign(tied.size(), 0);
  saved.load(point, objects);
  EXPECT_EQ(tied, std::vector<float>(tied.size(), 2.5F));
}

// Two ranks save their rows; three load them, divided elsewhere.
TEST(TrackedObjects, SharedTensorsFitAnyNumberOfRanks) {
  test::TemporaryFolder folder;
  const auto store = checkpoint::RunStore::open(folder / "run").value();
  const checkpoint::CheckpointId id{.attempt = Attempt(1), .step = Step(5)};
  for (const std::uint32_t rank : {0U, 1U}) {
    TableRows table{.rows = {}, .first = rank * 3, .all = 6, .version = static_cast<std::int16_t>(rank + 40)};
    for (std::uint64_t i = 0; i < 6; ++i) table.rows.push_back(static_cast<float>(table.first * 2 + i));
    TrackedObjects objects;
    test::track(objects, "table", table);
    ASSERT_TRUE(store.write_pack(id, Rank(rank), objects.collect().tensors));
  }
  const InventoryEntry entry = store.try_commit(id, 2).value().value();
  const ResumePoint point{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    TableRows table{.rows = std::vector<float>(4), .first = rank * 2, .all = 6};
    TrackedObjects objects;
    test::track(objects, "table", table);
    auto reader = store.read(point, Rank(rank)).value();
    ASSERT_TRUE(objects.restore(reader, "the checkpoint", [](std::string_view) { return std::uint64_t{0}; }));
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(table.rows[i], static_cast<float>(rank * 4 + i));
    EXPECT_EQ(table.version, 40 + static_cast<int>(rank % 2)) << "each rank's own, modulo the old size";
  }
}

// Rank r of three has reported r + 1 samples.
// A source whose tensors cannot be read.
class DamagedSource final : public StateSource {
 public:
  std::vector<std::string> names() const override { return {}; }
  bool is_own() const override { return true; }
  Result<std::optional<Form>> find(std::string_view) override {
    return Error(ErrorKind::kCorrupted, "the pack is damaged");
  }
  Result<void> load(std::span<const checkpoint::TensorSpec>, std::span<const std::span<std::byte>>) override {
    return {};
  }
};

// An object may also catch the exception, or replace it by its own, as Python does.
TEST(TrackedObjects, AReadErrorOfTheSourceIsReturnedWhateverTheObjectThrows) {
  const auto find = [](StateReader& in) { static_cast<void>(in.find("w")); };
  const std::vector<TrackedObjects::Load> loads{find,
                                                [&](StateReader& in) {
                                                  try {
                                                    find(in);
                                                  } catch (const std::exception&) {
                                                  }
                                                },
                                                [&](StateReader& in) {
                                                  try {
                                                    find(in);
                                                  } catch (const std::exception&) {
                                                    throw std::runtime_error("RuntimeError: another text");
                                                  }
                                                }};
  for (const TrackedObjects::Load& load : loads) {
    TrackedObjects objects;
    objects.add("net", {}, load);
    DamagedSource source;
    const auto restored = objects.restore(source, "the checkpoint", [](auto) { return 0; });
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().kind(), ErrorKind::kCorrupted);
    EXPECT_EQ(restored.error().message(), "the pack is damaged");
  }
}

TEST(TrackedObjects, WhatRanksAddUpIsTheSameSumInAWorldOfAnySize) {
  test::TemporaryFolder folder;
  const auto store = checkpoint::RunStore::open(folder / "run").value();
  const checkpoint::CheckpointId id{.attempt = Attempt(1), .step = Step(5)};
  const auto track = [](TrackedObjects& objects, Metrics& metrics) {
    objects.add(
        "metrics", [&metrics](StateWriter& out) { save_stateful(metrics, out); },
        [&metrics](StateReader& in) { load_stateful(metrics, in); });
  };
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    Metrics metrics;
    metrics.report("loss", rank, rank + 1);
    TrackedObjects objects;
    track(objects, metrics);
    ASSERT_TRUE(store.write_pack(id, Rank(rank), objects.collect().tensors));
  }
  const InventoryEntry entry = store.try_commit(id, 3).value().value();
  const ResumePoint point{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  for (std::uint32_t world_size = 1; world_size <= 7; ++world_size) {
    Metrics all;
    for (std::uint32_t rank = 0; rank < world_size; ++rank) {
      Metrics metrics;
      metrics.report("loss", 99, 99);  // in an attempt that is over
      TrackedObjects objects;
      track(objects, metrics);
      auto reader = store.read(point, Rank(rank)).value();
      ASSERT_TRUE(objects.restore(
          reader, "the checkpoint", [](std::string_view) { return std::uint64_t{0}; }, LoadParts::kAll,
          world_size));
      EXPECT_EQ(metrics.find("loss") == nullptr, rank >= 3) << "a new rank has reported nothing";
      all.merge(metrics);
    }
    ASSERT_NE(all.find("loss"), nullptr);
    EXPECT_EQ(all.find("loss")->reports, 3u) << world_size;
    EXPECT_EQ(all.find("loss")->samples, 6u) << world_size;
    EXPECT_EQ(all.find("loss")->weighted_sum, 0 * 1 + 1 * 2 + 2 * 3) << world_size;
    EXPECT_EQ(all.find("loss")->max, 2) << world_size;
  }
}

TEST(TrackedObjects, GeneratorsOfARankThatIsNewToTheWorldAreSeeded) {
  std::mt19937_64 noise(17);
  TrackedObjects objects;
  test::track(objects, "noise", noise);
  test::SavedObjects saved;
  const auto point = saved.save(objects);
  const std::mt19937_64 of_rank_0 = noise;
  noise.discard(5);
  saved.load(point, objects);
  EXPECT_EQ(noise, of_rank_0) << "goes on with its own";
  saved.load(point, objects, 3);
  std::mt19937_64 seeded;
  TrackAdapter<std::mt19937_64>::seed(seeded, test::SavedObjects::seed_of(3, "noise"));
  EXPECT_EQ(noise, seeded);
}

}  // namespace
}  // namespace session
}  // namespace ratoon
