// No state is left out in silence: random programs with tracked objects, of which some outlive the training
// function, with optimizers, limits, finish() and losses, by train() and in place. A run ends with the state
// of its unbroken run, or is refused with the name of the object that no checkpoint would have. A function
// that leaves its loop early completes no run: the process ends with 82, and the next start makes the other
// steps.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ratoon/session.h>
#include <ratoon/train.h>

#include "base/contract/exit_code.h"
#include "tests/property/operator/dice.h"
#include "tests/property/operator/environment.h"
#include "tests/support/change_world.h"
#include "tests/support/crash/effort.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::tracked_state_laws_test {
namespace {

constexpr int kRefused = static_cast<int>(ExitCode::kConfiguration);
constexpr int kKilled = 9;
constexpr std::uint64_t kNever = ~0ULL;

// A weight whose state is bytes of its own making, and which says of which memory they are.
class Weight final : public Stateful {
 public:
  std::string save_state() const override { return std::to_string(value); }
  void load_state(std::string_view state) override { value = std::strtoull(state.data(), nullptr, 10); }
  std::vector<StateWriter::Memory> saved_memory() const override {
    return {{.begin = &value, .bytes = sizeof value}};
  }
  std::uint64_t value = 1;
};

// Changes weights and has a state of its own.
struct Optimizer {
  std::vector<Weight*> weights{};
  std::uint64_t momentum = 0;

  void step(std::uint64_t step) {
    momentum += step + 1;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i]->value += momentum * (i + 1);
  }
};

}  // namespace
}  // namespace ratoon::tracked_state_laws_test

template <>
struct ratoon::TrackAdapter<ratoon::tracked_state_laws_test::Optimizer> {
  using Optimizer = ratoon::tracked_state_laws_test::Optimizer;
  static void check(Optimizer&, const std::string&) {}
  static void save(Optimizer& optimizer, StateWriter& out) {
    out.number("momentum", optimizer.momentum);
    for (std::size_t i = 0; i < optimizer.weights.size(); ++i)
      out.changes("weight " + std::to_string(i),
                  {.begin = &optimizer.weights[i]->value, .bytes = sizeof optimizer.weights[i]->value});
  }
  static void load(Optimizer& optimizer, StateReader& in) { in.number("momentum", optimizer.momentum); }
};

namespace ratoon::tracked_state_laws_test {
namespace {

// How a training function leaves its loop before the run's end.
enum class EarlyEnd { kBreak, kReturn, kCaughtException };

struct ErrorOfProgram : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Program {
  bool is_in_place = false;
  bool outlives = false;     // the function: the objects are made before it
  bool is_limited = false;   // by --max-duration, while the loop has no end of its own
  bool ignores_end = false;  // in place: the loop goes on after the run's end
  std::size_t weights = 1;
  std::size_t untracked = kNever;  // this weight is not tracked
  std::uint64_t is_added_at =
      kNever;  // in this step the optimizer gets one more weight, which is not tracked
  std::uint64_t total = 1;
  std::uint64_t finishes_at = kNever;
  std::uint64_t save_every = 1;
  std::vector<std::uint64_t> losses{};  // of each call of the function, the step that it does not end
  std::uint64_t leaves_at = kNever;     // in this step the function leaves its loop early
  EarlyEnd early_end = EarlyEnd::kBreak;

  [[nodiscard]] std::uint64_t end() const {
    return finishes_at == kNever ? total : std::min(total, finishes_at + 1);
  }
  // The name of the weight that no checkpoint would have.
  [[nodiscard]] std::string left_out() const {
    if (untracked != kNever) return "changes weight " + std::to_string(untracked) + ", which is not tracked";
    if (is_added_at >= end()) return "";
    return "changes weight " + std::to_string(weights) + ", which is not tracked";
  }
};

struct Objects {
  explicit Objects(std::size_t count) : weights(count) {
    for (Weight& weight : weights) optimizer.weights.push_back(&weight);
  }
  std::vector<Weight> weights;
  Weight added;
  Optimizer optimizer;
  std::uint64_t sum = 0;

  [[nodiscard]] std::string text() const {
    std::string text = std::to_string(sum) + " " + std::to_string(optimizer.momentum);
    for (const Weight& weight : weights) text += " " + std::to_string(weight.value);
    return text;
  }
  void step(std::uint64_t step) {
    sum += step;
    optimizer.step(step);
  }
};

std::string unbroken(const Program& program) {
  Objects objects(program.weights);
  for (std::uint64_t step = 0; step < program.end(); ++step) objects.step(step);
  return objects.text();
}

Program draw(std::uint64_t seed) {
  sim::Dice dice(seed);
  Program program;
  program.is_in_place = dice.percent(40);
  program.outlives = dice.percent(50);
  program.is_limited = dice.percent(40);
  program.weights = 1 + dice.below(3);
  if (dice.percent(15)) program.untracked = dice.below(program.weights);
  program.total = 1 + dice.below(20);
  if (dice.percent(15)) program.is_added_at = dice.below(program.total + 3);
  if (dice.percent(40)) program.finishes_at = dice.below(program.total + 3);
  program.save_every = 1 + dice.below(8);
  program.ignores_end = program.is_in_place && dice.percent(25);
  for (std::uint64_t losses = dice.below(4); losses > 0; --losses)
    program.losses.push_back(dice.below(program.end()));
  if (!program.is_in_place && program.left_out().empty() && program.end() > 1 && dice.percent(40)) {
    program.leaves_at = dice.below(program.end() - 1);
    program.early_end = static_cast<EarlyEnd>(dice.below(3));
  }
  return program;
}

class TrainedRun {
 public:
  explicit TrainedRun(const Program& program) : program_(program) {
    options_.save_every = Every::steps(program.save_every);
    if (program.is_limited) options_.max_duration = Until::steps(program.total);
  }

  // `leaves_early` is false for a start of the program after its mistake was mended.
  void train(bool leaves_early = true) {
    Objects outlives(program_.weights);
    testing::internal::CaptureStderr();
    code_ = ratoon::train(options_, [&](Session& session) {
      Objects made(program_.weights);
      Objects& objects = program_.outlives ? outlives : made;
      const std::uint64_t loss = calls_ < program_.losses.size() ? program_.losses[calls_] : kNever;
      ++calls_;
      objects.optimizer.weights.resize(program_.weights);
      track(session, objects);
      try {
        for (const std::uint64_t step : session.steps(program_.is_limited ? 1000 : program_.total)) {
          act(session, objects, step);
          if (step == loss) test::change_world(session, "a loss");
          if (!leaves_early || step != program_.leaves_at) continue;
          if (program_.early_end == EarlyEnd::kBreak) break;
          if (program_.early_end == EarlyEnd::kReturn) return;
          throw ErrorOfProgram("caught outside of the loop");
        }
      } catch (const ErrorOfProgram&) {
        return;
      }
      ended_ = objects.text();
    });
    said_ = testing::internal::GetCapturedStderr();
  }

  // Each start is a process: a loss kills it, and the end of the session may end it.
  void train_in_place() {
    do {
      const std::uint64_t loss = calls_ < program_.losses.size() ? program_.losses[calls_] : kNever;
      ++calls_;
      const ::pid_t child = ::fork();
      if (child == 0) start_in_place(loss);
      int status = -1;
      ::waitpid(child, &status, 0);
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    } while (code_ == kKilled);
    said_ = test::read_text(folder_ / "stderr");
    ended_ = test::read_text(folder_ / "ended");
  }

  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] const std::string& ended() const { return ended_; }
  [[nodiscard]] std::set<std::uint64_t> saved() const {
    std::set<std::uint64_t> steps;
    const auto place = folder_ / "run" / "manifests";
    if (!std::filesystem::exists(place)) return steps;
    for (const auto& file : std::filesystem::directory_iterator(place))
      steps.insert(std::strtoull(file.path().filename().c_str() + 1, nullptr, 10));
    return steps;
  }

 private:
  void track(Session& session, Objects& objects) const {
    session.track("sum", objects.sum);
    session.track("optimizer", objects.optimizer);
    for (std::size_t i = 0; i < program_.weights; ++i)
      if (i != program_.untracked) session.track("w" + std::to_string(i), objects.weights[i]);
  }
  void act(Session& session, Objects& objects, std::uint64_t step) const {
    objects.step(step);
    if (step == program_.finishes_at) session.finish("enough");
    if (step == program_.is_added_at) objects.optimizer.weights.push_back(&objects.added);
  }
  [[noreturn]] void start_in_place(std::uint64_t loss) const {
    std::freopen((folder_ / "stderr").c_str(), "w", stderr);
    Session session(options_);
    Objects objects(program_.weights);
    std::uint64_t step = 0;
    session.track("step", step);
    track(session, objects);
    program_.is_limited ? session.resume() : session.resume(Until::steps(program_.total));
    while (!session.is_over() || program_.ignores_end) {
      act(session, objects, step);
      if (step == loss) ::_exit(kKilled);
      ++step;
      session.step_done();
    }
    std::ofstream(folder_ / "ended") << objects.text();
    ::_exit(session.complete());
  }

  const Program& program_;
  const test::TemporaryFolder folder_;
  Options options_{.save_folder = folder_.path().string(), .run_name = "run", .member = {}};
  std::size_t calls_ = 0;
  int code_ = -1;
  std::string said_;
  std::string ended_;
};

void check_early_end(const Program& program, const TrainedRun& run) {
  EXPECT_EQ(run.code(), kRefused) << run.said();
  EXPECT_NE(run.said().find("the training function returned"), std::string::npos) << run.said();
  EXPECT_NE(run.said().find("call finish()"), std::string::npos) << run.said();
  for (const std::uint64_t step : run.saved())
    EXPECT_LE(step, program.leaves_at) << "a step that is not made";
}

void check(const Program& program, const TrainedRun& run) {
  if (const std::string name = program.left_out(); !name.empty()) {
    EXPECT_EQ(run.code(), kRefused) << run.said();
    EXPECT_NE(run.said().find("tracked 'optimizer' " + name), std::string::npos) << run.said();
    const auto is_after = [&](std::uint64_t step) { return step > program.is_added_at; };
    EXPECT_EQ(std::ranges::count_if(run.saved(), is_after), 0) << "saved without a weight";
    EXPECT_TRUE(program.untracked == kNever || run.saved().empty());
    return;
  }
  EXPECT_TRUE(run.saved().contains(program.end())) << "the end is not saved\n" << run.said();
  for (const std::uint64_t step : run.saved()) EXPECT_LE(step, program.end()) << "a step after the end";
  if (program.ignores_end) {
    EXPECT_EQ(run.code(), kRefused) << run.said();
    EXPECT_NE(run.said().find("a step was made after the run's end"), std::string::npos) << run.said();
    return;
  }
  EXPECT_EQ(run.code(), 0) << run.said();
  EXPECT_EQ(run.ended(), unbroken(program)) << run.said();
}

TEST(TrackedStateLaws, HoldForAnyProgram) {
  const sim::Seeds all = sim::seeds_of_this_run(test::afforded(60), "tracked_state_laws_test");
  std::uint64_t refused = 0;
  std::uint64_t left_early = 0;
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(all.replay(seed));
    const Program program = draw(seed);
    TrainedRun run(program);
    program.is_in_place ? run.train_in_place() : run.train();
    if (program.leaves_at != kNever) {
      check_early_end(program, run);
      run.train(false);
      ++left_early;
    }
    check(program, run);
    if (HasFailure()) return;
    refused += run.code() == kRefused ? 1 : 0;
  }
  std::cout << all.count() << " programs, " << refused << " refused, " << left_early << " left early\n";
  if (all.count() < sim::kEnoughToCount) return;
  EXPECT_GE(refused, all.count() / 8);
  EXPECT_LE(refused, all.count() / 2);
  EXPECT_GE(left_early, all.count() / 30);
}

}  // namespace
}  // namespace ratoon::tracked_state_laws_test
