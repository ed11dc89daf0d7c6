// load(): the trained weights of a run, read from its folder while it trains and after.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/load.h>
#include <ratoon/train.h>

#include "tests/support/temporary_folder.h"

namespace ratoon {

// A model: weights, and a generator that only continues with its run.
struct Model {
  std::vector<float> weights = std::vector<float>(6);
  std::int64_t drawn = 0;
  std::function<void()> when_asked{};
};

template <>
struct TrackAdapter<Model> {
  static constexpr bool kIsWeights = true;
  static void check(Model&, const std::string&) {}
  static void save(Model& model, StateWriter& out) {
    out.tensor({.name = "weights",
                .type = ElementType::kFloat32,
                .shape = {model.weights.size() / 3, 3},
                .bytes = std::as_bytes(std::span(model.weights))});
    out.number("generator:cpu", model.drawn);
  }
  static void load(Model& model, StateReader& in) {
    if (model.when_asked) std::exchange(model.when_asked, {})();
    in.tensor({.name = "weights", .type = ElementType::kFloat32, .shape = {model.weights.size() / 3, 3}},
              std::as_writable_bytes(std::span(model.weights)));
    if (!in.is_for_weights_alone()) in.number("generator:cpu", model.drawn);
  }
};

namespace load_test {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LoadTest : public testing::Test {
 protected:
  // After step n each weight is n. `during` is called in each step at its beginning.
  void train(std::uint64_t steps, const std::function<void(std::uint64_t)>& during = {}) {
    const Options options{.save_folder = folder_.path().string(),
                          .run_name = "run",
                          .save_every = Every::steps(10),
                          .keep_last = 3,
                          .staging_slots = 0,
                          .final_weights = final_weights_,
                          .member = {.termination_file = termination_file_}};
    ASSERT_EQ(ratoon::train(options,
                            [&](Session& session) {
                              Model model;
                              std::uint64_t sum = 0;
                              session.track("net", model);
                              session.track("sum", sum);
                              for (const std::uint64_t step : session.steps(steps)) {
                                if (during) during(step);
                                for (float& weight : model.weights) weight = static_cast<float>(step + 1);
                                sum += step;
                                ++model.drawn;
                              }
                            }),
              0);
  }
  [[nodiscard]] std::string run() const { return (folder_ / "run").string(); }
  [[nodiscard]] fs::path manifest(int step) const {
    char name[32];
    std::snprintf(name, sizeof name, "s%010d.a0001.json", step);
    return folder_ / "run" / "manifests" / name;
  }
  [[nodiscard]] fs::path pack(int step) const {
    char name[32];
    std::snprintf(name, sizeof name, "s%010d", step);
    return folder_ / "run" / "packs" / "a0001" / name / "r0000.safetensors";
  }
  static void damage(const fs::path& path) {
    std::string text = test::read_text(path);
    text.back() = static_cast<char>(text.back() ^ 1);
    test::write_text(path, text);
  }
  // All files, with their bytes and modification times.
  [[nodiscard]] std::map<std::string, std::pair<std::string, fs::file_time_type>> files() const {
    std::map<std::string, std::pair<std::string, fs::file_time_type>> found;
    for (const auto& file : fs::recursive_directory_iterator(folder_.path())) {
      found[file.path().string()] = {file.is_regular_file() ? test::read_text(file.path()) : "",
                                     fs::last_write_time(file.path())};
    }
    return found;
  }
  // The exit code, and the sentence.
  static std::pair<int, std::string> refusal(const std::function<void()>& function) {
    try {
      function();
    } catch (const Failure& failure) {
      return {failure.exit_code, failure.what()};
    }
    return {0, "no Failure was thrown"};
  }

  test::TemporaryFolder folder_;
  std::string termination_file_;
  std::string final_weights_ = "weights.safetensors";
  Model model_{.weights = std::vector<float>(6, -1), .drawn = -1};
};

TEST_F(LoadTest, TheNewestWeightsAndNothingElse) {
  train(30);
  const auto before = files();
  const LoadedFrom from = load(run(), "net", model_);
  EXPECT_THAT(model_.weights, Each(30.0F));
  EXPECT_EQ(model_.drawn, -1) << "a generator goes on with its run alone";
  EXPECT_EQ(from.step, 30u);
  EXPECT_THAT(from.what, HasSubstr("run/manifests/s0000000030.a0001.json"));
  EXPECT_THAT(from.passed_over, SizeIs(0));
  EXPECT_EQ(files(), before) << "nothing is written";
}

TEST_F(LoadTest, AStepThatIsNamedAndSeveralObjects) {
  train(30);
  std::uint64_t sum = 0;
  EXPECT_EQ(load({.place = run(), .step = 20}, "net", model_, "sum", sum).step, 20u);
  EXPECT_THAT(model_.weights, Each(20.0F));
  EXPECT_EQ(sum, 190u);
  EXPECT_EQ(load(manifest(10).string(), "net", model_).step, 10u);
  EXPECT_THAT(model_.weights, Each(10.0F));
}

TEST_F(LoadTest, WhileTheRunSaves) {
  std::vector<float> seen;
  train(40, [&](std::uint64_t step) {
    if (step < 10 || step % 10 != 5) return;
    while (!fs::exists(manifest(static_cast<int>(step) - 5)))
      std::this_thread::yield();  // it is being committed
    load(run(), "net", model_);
    seen.push_back(model_.weights.front());
  });
  EXPECT_THAT(seen, ElementsAre(10.0F, 20.0F, 30.0F));
}

TEST_F(LoadTest, WhatTheRunRetiresMeanwhileIsChosenAnew) {
  train(30);
  model_.when_asked = [this] {  // as a run does it: the manifest goes first
    fs::remove(manifest(30));
    fs::remove(pack(30));
  };
  const LoadedFrom from = load(run(), "net", model_);
  EXPECT_EQ(from.step, 20u);
  EXPECT_THAT(model_.weights, Each(20.0F));
  EXPECT_THAT(from.passed_over, SizeIs(0)) << "it was no bad one";
}

TEST_F(LoadTest, ADamagedOneIsPassedOverAndSaid) {
  train(30);
  damage(pack(30));
  const LoadedFrom from = load(run(), "net", model_);
  EXPECT_EQ(from.step, 20u);
  EXPECT_THAT(model_.weights, Each(20.0F));
  EXPECT_THAT(from.passed_over, ElementsAre(HasSubstr("s0000000030")));
  EXPECT_EQ(refusal([&] { load({.place = run(), .step = 30}, "net", model_); }).first, 83);
  damage(pack(20));
  fs::remove(pack(10));
  const auto [code, why] = refusal([&] { load(run(), "net", model_); });
  EXPECT_EQ(code, 83) << why;
  EXPECT_THAT(why, HasSubstr("is intact: "));
}

TEST_F(LoadTest, WhatDoesNotFitIsRefusedBeforeAnythingIsChanged) {
  train(10);
  std::uint64_t sum = 7;
  Model wide{.weights = std::vector<float>(9, -1)};
  const auto [code, why] = refusal([&] { load(run(), "sum", sum, "net", wide); });
  EXPECT_EQ(code, 82);
  EXPECT_THAT(why, HasSubstr("tensor 'net.weights' is F32 of shape [2,3] in "));
  EXPECT_THAT(why, HasSubstr("F32 of shape [3,3] in the program"));
  EXPECT_EQ(sum, 7u);
  EXPECT_THAT(wide.weights, Each(-1.0F));

  EXPECT_EQ(refusal([&] { load(run(), "other", model_); }).first, 82);
  EXPECT_THAT(refusal([&] { load({.place = run(), .step = 11}, "net", model_); }).second,
              HasSubstr("no checkpoint of step 11"));
  EXPECT_THAT(refusal([&] { load(folder_.path().string(), "net", model_); }).second,
              HasSubstr("<save folder>/<run name>"));
  EXPECT_FALSE(fs::exists(folder_ / "manifests"));
}

TEST_F(LoadTest, TensorsByName) {
  train(10);
  const auto tensors = load_tensors({.place = run()}, {"net.weights", "sum"});
  ASSERT_THAT(tensors, SizeIs(2));
  EXPECT_EQ(tensors.at("net.weights").type, ElementType::kFloat32);
  EXPECT_THAT(tensors.at("net.weights").shape, ElementsAre(2, 3));
  EXPECT_THAT(tensors.at("net.weights").bytes, SizeIs(24));
  EXPECT_THAT(tensors.at("sum").shape, SizeIs(0));
  EXPECT_EQ(refusal([&] { static_cast<void>(load_tensors({.place = run()}, {"net.bias"})); }).first, 82);
}

TEST_F(LoadTest, FromOneFileToo) {
  train(10);
  const std::string file = pack(10).string();  // a plain safetensors file as any other
  EXPECT_EQ(load(file, "net", model_).what, file);
  EXPECT_THAT(model_.weights, Each(10.0F));
  Model wide{.weights = std::vector<float>(9, -1)};
  EXPECT_THAT(refusal([&] { load(file, "net", wide); }).second, HasSubstr("F32 of shape [2,3] in " + file));
  EXPECT_EQ(refusal([&] { load({.place = file, .step = 10}, "net", model_); }).first, 82);
  fs::resize_file(pack(10), fs::file_size(pack(10)) - 1);
  EXPECT_THAT(refusal([&] { load(file, "net", model_); }).second,
              HasSubstr("is not a whole safetensors file"));
}

TEST_F(LoadTest, WhatARunLeavesAtItsEnd) {
  termination_file_ = (folder_ / "termination-log").string();
  train(13);
  const std::string file = (folder_ / "run" / "weights.safetensors").string();
  load(file, "net", model_);
  EXPECT_THAT(model_.weights, Each(13.0F));
  EXPECT_EQ(model_.drawn, -1);
  EXPECT_EQ(refusal([&] { static_cast<void>(load_tensors({.place = file}, {"sum"})); }).first, 82)
      << "weights alone";
  EXPECT_EQ(refusal([&] { static_cast<void>(load_tensors({.place = file}, {"net.generator:cpu"})); }).first,
            82);
  EXPECT_THAT(test::read_text(file), HasSubstr(R"("ratoon.run":"run","ratoon.step":"13")"));
  EXPECT_THAT(test::read_text(termination_file_),
              testing::EndsWith(R"(,"step":13},"step":13,"version":1,"weights":")" + file + R"("})"));
  train(20);
  load(file, "net", model_);
  EXPECT_THAT(model_.weights, Each(20.0F)) << "a run that was prolonged";
}

TEST_F(LoadTest, WhatARunLeavesElsewhereOrNot) {
  final_weights_ = (folder_ / "other.safetensors").string();
  train(10);
  load(final_weights_, "net", model_);
  EXPECT_THAT(model_.weights, Each(10.0F));
  final_weights_ = (folder_ / "no" / "folder" / "w.safetensors").string();
  testing::internal::CaptureStderr();
  train(20);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the weights could not be written to " + final_weights_ + ": "))
      << "the training is done all the same";
  final_weights_ = "";
  train(30);
  EXPECT_FALSE(fs::exists(folder_ / "run" / "weights.safetensors"));
}

}  // namespace
}  // namespace load_test
}  // namespace ratoon
