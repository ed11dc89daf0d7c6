#include "agent/src/session/tracked/fixed_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon {
namespace {

// As a tensor of another library: the program creates it in its shape before it is restored.
struct FixedTable {
  std::vector<float> numbers{};
};

}  // namespace

template <>
struct TrackAdapter<FixedTable> {
  static void check(FixedTable&, const std::string&) {}
  static void save(FixedTable& table, StateWriter& out) {
    TensorView view;
    view.type = ElementType::kFloat32;
    view.shape = {table.numbers.size()};
    view.bytes = std::as_bytes(std::span(table.numbers));
    view.has_fixed_shape = true;
    out.tensor(std::move(view));
  }
  static void load(FixedTable& table, StateReader& in) {
    in.tensor({.type = ElementType::kFloat32, .shape = {table.numbers.size()}},
              std::as_writable_bytes(std::span(table.numbers)));
  }
};

}  // namespace ratoon

namespace ratoon::session::fixed_shapes_test {
namespace {

using testing::HasSubstr;

CollectedState state_of(const std::vector<TensorView>& tensors) {
  CollectedState state;
  state.tensors = tensors;
  return state;
}
TensorView tensor(const std::string& name, std::uint64_t size, ElementType type = ElementType::kFloat32) {
  return {.name = name, .type = type, .shape = {size}, .has_fixed_shape = true};
}

TEST(FixedShapes, AChangeIsRefusedWithBothShapes) {
  FixedShapes shapes;
  shapes.begin(state_of({tensor("w", 4), tensor("b", 1), {.name = "list", .shape = {1}}}));
  const auto message_of = [&](const std::vector<TensorView>& tensors) -> std::string {
    try {
      shapes.check(state_of(tensors));
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of({tensor("w", 4), tensor("b", 1), {.name = "list", .shape = {20}}}), "accepted");
  EXPECT_THAT(message_of({tensor("w", 5), tensor("b", 1)}),
              HasSubstr("tracked tensor 'w' is F32 of shape [5] and was F32 of shape [4]"));
  EXPECT_THAT(message_of({tensor("w", 4, ElementType::kFloat16), tensor("b", 1)}), HasSubstr("is F16"));
  EXPECT_THAT(message_of({tensor("w", 4), tensor("b", 1), tensor("new", 1)}),
              HasSubstr("'new' did not exist when the training loop began"));
  EXPECT_THAT(message_of({tensor("w", 4)}), HasSubstr("'b' no longer exists"));
  shapes.allow_changes();
  EXPECT_EQ(message_of({tensor("w", 5)}), "accepted");
}

class TrainFixedShapes : public testing::Test {
 protected:
  int train(bool peeks) {
    testing::internal::CaptureStderr();
    const int code = ratoon::train(options_, [&](Session& session) {
      FixedTable table{.numbers = std::vector<float>(4)};
      if (peeks) table.numbers.resize(session.peek<std::uint64_t>("size").value_or(4));
      std::uint64_t size = table.numbers.size();
      session.track("table", table);
      session.track("size", size);
      for (const std::uint64_t step : session.steps(4)) {
        if (step == 1) table.numbers.resize(5);
        size = table.numbers.size();
        if (step == 2 && session.resumes_at() == 0 && peeks) throw std::runtime_error("the test's own");
      }
      EXPECT_EQ(size, 5u);
    });
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  test::TemporaryFolder folder_;
  Options options_{
      .save_folder = folder_.path().string(), .run_name = "run", .save_every = Every::steps(1), .member = {}};
  std::string said_;
};

TEST_F(TrainFixedShapes, AreRefusedAtTheSaveAndNotAtTheResume) {
  EXPECT_EQ(train(false), 82);
  EXPECT_THAT(said_, HasSubstr("tracked tensor 'table' is F32 of shape [5] and was F32 of shape [4]"));
}

TEST_F(TrainFixedShapes, AProgramThatReadsTheSavedSizeMayChangeThem) {
  EXPECT_EQ(train(true), 1);
  EXPECT_EQ(train(true), 0) << said_;
}

TEST_F(TrainFixedShapes, ARunThatIsOverBeforeItsFirstStepIsSaved) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ratoon::train(options_,
                          [&](Session& session) {
                            FixedTable table{.numbers = {1, 2, 3}};
                            session.track("table", table);
                            for ([[maybe_unused]] const auto step : session.steps(0)) FAIL();
                          }),
            0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::Not(HasSubstr("did not exist")));
}

}  // namespace
}  // namespace ratoon::session::fixed_shapes_test
