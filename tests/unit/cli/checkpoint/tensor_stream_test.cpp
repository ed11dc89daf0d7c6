#include "cli/checkpoint/tensor_stream.h"

#include <gmock/gmock.h>

#include "agent/src/checkpoint/interop/pt_reader.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/retention/removal.h"
#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::tensor_stream_test {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class TensorStreamTest : public RunFixture {
 protected:
  Result<TensorStream> stream(const std::vector<std::string>& patterns = {},
                              std::optional<std::uint32_t> rank = {}) {
    auto opened = open_checkpoint(*disk_, {}, rank);
    if (!opened) return opened.error();
    opened_ = *std::move(opened);
    return TensorStream::make(opened_.packs, patterns, rank.has_value());
  }
  // Each tensor's bytes by name.
  static std::map<std::string, std::string> read(const TensorStream& stream) {
    std::map<std::string, std::string> found;
    for (const auto& source : stream.sources({})) {
      StringSink sink;
      const auto written = source.write(sink);
      EXPECT_TRUE(written) << written.error().message();
      EXPECT_LE(sink.largest, kSlabBytesMax);
      found[source.name] = std::move(sink.text);
    }
    return found;
  }
  OpenCheckpoint opened_;

  const test::WholeTensor matrix_ = tensor("net.matrix", {64, 48}, 3);
  const test::WholeTensor bias_ = tensor("net.bias", {7}, 4, ElementType::kBfloat16);
  const test::WholeTensor number_ = tensor("step", {}, 5, ElementType::kInt64);
};

// The bytes of a box, cut out of rows: the expected content of a slab.
TEST(ForEachSlab, CutsAnyShapeIntoItsBytesInOrder) {
  for (const TensorShape& shape : {TensorShape{},
                                   {0},
                                   {1},
                                   {100},
                                   {7, 5},
                                   {3, 4, 5},
                                   {1, 1, 50},
                                   {2, 0, 3},
                                   {0, 1ULL << 62},
                                   {5, 1, 3, 2}}) {
    for (const std::uint64_t bytes_max : {1u, 4u, 10u, 40u, 1000u}) {
      std::uint64_t next = 0;  // the elements are numbered row-major
      std::uint64_t total = 1;
      for (const std::uint64_t length : shape) total *= length;
      const auto taken =
          for_each_slab(shape, 4, bytes_max, [&](const TensorShape& begin, const TensorShape& box) {
            std::uint64_t first = 0;
            std::uint64_t count = 1;
            for (std::size_t d = 0; d < shape.size(); ++d) {
              first = first * shape[d] + begin[d];
              count *= box[d];
            }
            EXPECT_EQ(first, next);
            EXPECT_TRUE(count * 4 <= std::max<std::uint64_t>(bytes_max, 4));
            next += count;
            return Result<void>();
          });
      EXPECT_TRUE(taken);
      EXPECT_EQ(next, total);
    }
  }
}

TEST_F(TensorStreamTest, JoinsPartsOfAllRanks) {
  commit(id(1, 10), {{{matrix_, {{0, 0}, {40, 48}}}, whole(bias_), whole(number_)},
                     {{matrix_, {{40, 0}, {24, 20}}}, whole(bias_)},
                     {{matrix_, {{40, 20}, {24, 28}}}}});
  const auto joined = stream();
  ASSERT_TRUE(joined) << joined.error().message();
  const auto found = read(*joined);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at("net.matrix"), matrix_.bytes);
  EXPECT_EQ(found.at("net.bias"), bias_.bytes);
  EXPECT_EQ(found.at("step"), number_.bytes);
  EXPECT_EQ(joined->size_bytes(), matrix_.bytes.size() + bias_.bytes.size() + number_.bytes.size());
}

// More than a slab, in parts whose borders differ from the slabs' borders.
TEST_F(TensorStreamTest, LargeTensorsComeInBoundedPieces) {
  const auto large = tensor("large", {10'000, 1'100}, 9);
  ASSERT_GT(large.bytes.size(), 2 * kSlabBytesMax);
  commit(id(1, 10), {{{large, {{0, 0}, {3'333, 1'100}}}}, {{large, {{3'333, 0}, {6'667, 1'100}}}}});
  const auto joined = stream();
  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_TRUE(read(*joined).at("large") == large.bytes);
}

TEST_F(TensorStreamTest, OneRankAloneHasItsPartsAsTheyAre) {
  commit(id(1, 10), {{{matrix_, {{0, 0}, {40, 48}}}}, {{matrix_, {{40, 0}, {24, 48}}}, whole(bias_)}});
  const auto one = stream({}, 1);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->unjoined_parts(), 1u);
  const auto found = read(*one);
  EXPECT_EQ(found.at("net.matrix"), test::bytes_of_box(matrix_, {40, 0}, {24, 48}));
  EXPECT_EQ(found.at("net.bias"), bias_.bytes);
  EXPECT_EQ(stream({}, 2).error().kind(), ErrorKind::kNotFound);
}

TEST_F(TensorStreamTest, WhatIsNotAlikeOnAllRanksIsNamedAndCanBeLeftOut) {
  commit(id(1, 10),
         {{whole(bias_), whole(tensor("rng", {5}, 1))}, {whole(bias_), whole(tensor("rng", {5}, 2))}});
  const auto joined = stream();
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message(), testing::AllOf(HasSubstr("'rng'"), HasSubstr("r0000.safetensors"),
                                                       HasSubstr("r0001.safetensors"), HasSubstr("--rank")));
  const auto net = stream({"net.*", "other"});
  ASSERT_TRUE(net);
  EXPECT_EQ(read(*net), (std::map<std::string, std::string>{{"net.bias", bias_.bytes}}));
}

TEST_F(TensorStreamTest, AMissingPartIsAnError) {
  commit_blindly(id(1, 10), {{{matrix_, {{0, 0}, {40, 48}}}}, {{matrix_, {{41, 0}, {23, 48}}}}});
  const auto joined = stream();
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(joined.error().message(), HasSubstr("element [40,0]"));
}

TEST_F(TensorStreamTest, AFlippedBitIsNotExported) {
  commit(id(1, 10), {{{matrix_, {{0, 0}, {40, 48}}}}, {{matrix_, {{40, 0}, {24, 48}}}}});
  flip(pack(id(1, 10), 1), 100);
  const auto joined = stream();
  ASSERT_TRUE(joined);
  StringSink sink;
  const auto written = joined->sources({}).front().write(sink);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind(), ErrorKind::kCorrupted);
  EXPECT_THAT(written.error().message(), HasSubstr("r0001.safetensors"));
}

TEST_F(TensorStreamTest, GoesOnWhereTheRunRetiresTheCheckpointMeanwhile) {
  commit(id(1, 10), {{whole(matrix_)}});
  const auto opened = stream();
  ASSERT_TRUE(opened);
  ASSERT_TRUE(checkpoint::remove_checkpoint(*disk_, id(1, 10)));
  EXPECT_EQ(read(*opened).at("net.matrix"), matrix_.bytes);
}

TEST_F(TensorStreamTest, BothFormatsReadBackEqual) {
  commit(id(1, 10),
         {{{matrix_, {{0, 0}, {40, 48}}}, whole(number_)}, {{matrix_, {{40, 0}, {24, 48}}}, whole(bias_)}});
  const auto joined = stream();
  ASSERT_TRUE(joined);
  StringSink safetensors;
  ASSERT_TRUE(checkpoint::write_safetensors(joined->sources({}), safetensors, {{"format", "pt"}}));
  const auto views = checkpoint::read_safetensors(test::bytes_of(safetensors.text));
  ASSERT_TRUE(views) << views.error().message();
  std::map<std::string, std::string> found;
  for (const TensorView& view : *views)
    found[view.name].assign(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  EXPECT_EQ(found, read(*joined));

  StringSink pt;
  ASSERT_TRUE(checkpoint::write_pt(joined->sources({}), pt));
  const auto file = checkpoint::read_pt(test::bytes_of(pt.text));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->tensors.size(), 3u);
  for (const auto& one : file->tensors) {
    StringSink bytes;
    ASSERT_TRUE(one.stored.write(bytes));
    EXPECT_EQ(bytes.text, found.at(one.name)) << one.name;
  }
}

// Random numbers as training leaves them: each rank draws its own.
TEST_F(TensorStreamTest, GeneratorsOfSeveralRanksAreLeftOutAndNamed) {
  const auto generator = [](std::uint64_t seed) { return tensor("net.generator:cpu", {8}, seed); };
  commit(id(1, 10), {{whole(matrix_), whole(generator(1))}, {whole(matrix_), whole(generator(2))}});
  const auto all = stream();
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_THAT(all->left_out_tensors(), testing::ElementsAre("net.generator:cpu"));
  EXPECT_EQ(read(*all).size(), 1u);
  const auto one = stream({}, 1);
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_TRUE(one->left_out_tensors().empty());
  EXPECT_EQ(read(*one).size(), 2u);
  const auto others = tensor("other:generator", {8}, 1);
  commit(id(1, 20), {{whole(others)}, {whole(tensor("other:generator", {8}, 2))}});
  EXPECT_FALSE(stream()) << "what is no generator must be the same everywhere";
}

}  // namespace
}  // namespace ratoon::cli::tensor_stream_test
