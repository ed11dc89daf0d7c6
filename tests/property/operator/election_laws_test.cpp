// Operators that sleep, clocks that drift, calls that come late or whose answers are lost: no two operators
// may write at once, and if one can lead, one does. The election and its client are the ones that ship, over
// a clock and a server that the story moves. environment.h explains which seeds are tested.
#include <algorithm>
#include <iostream>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/core/unique_fd.h"
#include "operator/runtime/leader/elector.h"
#include "tests/property/operator/dice.h"
#include "tests/property/operator/environment.h"
#include "tests/support/crash/effort.h"

namespace ratoon::sim::election_laws_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kMoment = milliseconds(50);

struct Answer {
  Result<json> reply;
  int version = 0;
  bool is_of_this_version = false;  // else a refusal, which shows no record
};

// The record at the server, which refuses a write that names another version than its own.
class LeaseServer {
 public:
  Answer answer(const kube::ApiRequest& request) {
    if (request.method == "POST") {
      if (lease_) return refuse(ErrorKind::kAlreadyExists);
      return store(json::parse(request.body));
    }
    if (!lease_)
      return {.reply = Error(ErrorKind::kNotFound, "there is none"),
              .version = version_,
              .is_of_this_version = true};
    if (request.method == "GET") return show();
    const json patch = json::parse(request.body);
    if (patch["metadata"]["resourceVersion"] != (*lease_)["metadata"]["resourceVersion"])
      return refuse(ErrorKind::kConflict);
    json changed = *lease_;
    changed.merge_patch(patch);
    return store(std::move(changed));
  }

  void remove() {
    lease_.reset();
    ++version_;
  }
  // Its sender no longer waits for the call, and may have ended.
  void answer_later(Duration arrives, const kube::ApiRequest& request) {
    late_.emplace_back(arrives, request);
  }
  void answer_late(Duration now) {
    std::erase_if(late_, [&](const auto& late) {
      if (late.first > now) return false;
      static_cast<void>(answer(late.second));
      return true;
    });
  }
  [[nodiscard]] int version() const { return version_; }

 private:
  [[nodiscard]] Answer refuse(ErrorKind kind) const {
    return {.reply = Error(kind, "refused"), .version = version_};
  }
  [[nodiscard]] Answer show() const {
    return {.reply = *lease_, .version = version_, .is_of_this_version = true};
  }
  Answer store(json lease) {
    lease["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(lease);
    return show();
  }

  std::optional<json> lease_;
  int version_ = 0;
  std::vector<std::pair<Duration, kube::ApiRequest>> late_;
};

// A machine's own clock, which began at another time and runs a little faster or slower than the story's.
class OwnClock final : public Clock {
 public:
  OwnClock(Duration skew, double pace) : skew_(skew), progress_rate_(pace) {}
  [[nodiscard]] Timestamp now() const override {
    return {skew_ + std::chrono::duration_cast<Duration>(story_ * progress_rate_)};
  }
  [[nodiscard]] WallTime wall_now() const override { return {now().since_boot}; }
  void set(Duration story) { story_ = story; }
  // The time in the story for a time on this clock.
  [[nodiscard]] Duration of_story(Duration own) const {
    return std::chrono::duration_cast<Duration>(static_cast<double>(own.count()) / progress_rate_ *
                                                Duration(1));
  }

 private:
  Duration skew_;
  double progress_rate_;
  Duration story_{0};
};

// One start of an operator. Each of its calls is cut into steps that other events can separate: it is sent,
// it arrives, it is answered.
class Process {
 public:
  Process(int number, int log_fd, LeaseServer& server, Dice& dice, Duration now)
      : server_(server),
        dice_(dice),
        clock_(seconds(dice.below(1000)), 0.98 + 0.01 * static_cast<double>(dice.below(5))),
        election_(clock_, Logger(clock_, {.fd = log_fd}), fence_,
                  {.name_space = "ratoon", .self = {.identity = "pod-" + std::to_string(number) + "/0"}}) {
    tell_time(now);
  }

  void tell_time(Duration now) {
    now_ = now;
    clock_.set(now);
  }
  void stand_until(Duration moment) { stands_until_ = moment; }
  // A sent call arrives, even if its operator sleeps; the operator goes on when it has the answer for which
  // it waits.
  void live() {
    if (call_ && !call_->has_arrived && call_->arrives <= now_) arrive();
    if (now_ < stands_until_ || now_ < goes_on_at_ || has_ended_) return;
    if (call_) hear();
    const auto step = election_.next();
    has_ended_ = step.is_over;
    if (has_ended_) return;
    if (step.call)
      send(**step.call, step.time);
    else
      goes_on_at_ = now_ + clock_.of_story(step.time);
  }

  [[nodiscard]] bool may_write() const { return fence_.is_open(clock_.now()); }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // Whether the operator waits and has seen this version of the lease.
  [[nodiscard]] bool knows(int version) const { return !call_ && seen_ == version; }

 private:
  struct Call {
    kube::ApiRequest request;
    Duration arrives{0};
    bool is_lost = false;
    bool comes_back = false;
    bool has_arrived = false;
    std::optional<Answer> answer{};
  };

  [[nodiscard]] Duration draw_delay() { return milliseconds(dice_.below(dice_.percent(10) ? 3000 : 100)); }

  void send(const kube::ApiRequest& request, Duration patience) {
    const Duration gives_up = now_ + clock_.of_story(patience);
    call_ = Call{.request = request, .arrives = now_ + draw_delay(), .is_lost = dice_.percent(5)};
    const Duration answered = call_->arrives + draw_delay();
    call_->comes_back = answered <= gives_up && !call_->is_lost;
    goes_on_at_ = call_->comes_back ? answered : gives_up;
  }

  void arrive() {
    call_->has_arrived = true;
    if (call_->is_lost && dice_.percent(50)) return;  // on the way there; otherwise on the way back
    call_->answer = server_.answer(call_->request);
  }

  void hear() {
    const Call done = *std::exchange(call_, std::nullopt);
    // A call for which the operator no longer waits may still arrive.
    if (!done.has_arrived && !done.is_lost) server_.answer_later(done.arrives, done.request);
    if (!done.comes_back || !done.answer)
      return election_.note(Error(ErrorKind::kTimeout, "no answer in time"));
    if (done.answer->is_of_this_version) seen_ = done.answer->version;
    election_.note(done.answer->reply);
  }

  LeaseServer& server_;
  Dice& dice_;
  OwnClock clock_;
  runtime::Fence fence_;
  runtime::Election election_;
  Duration now_{0};
  Duration goes_on_at_{0};
  Duration stands_until_{0};
  std::optional<Call> call_;
  int seen_ = -1;
  bool has_ended_ = false;
};

struct ElectionTally {
  std::uint64_t leaders = 0;
  std::uint64_t led = 0;
  std::uint64_t moments = 0;
};

class ElectionStory {
 public:
  ElectionStory(std::uint64_t seed, int log_fd, ElectionTally& tally)
      : dice_(seed), log_fd_(log_fd), tally_(tally) {
    while (processes_.size() < 3) start();
  }

  // The number of operators that wrote at once, if ever more than one did.
  std::size_t tell() {
    for (; now_ < seconds(300); now_ += kMoment) {
      // The record is deleted by hand, once every operator knows it: a creation names no version, so a
      // creation that follows an older read could hit the gap that the deletion leaves.
      const bool is_known =
          std::ranges::all_of(processes_, [&](const Process& each) { return each.knows(server_.version()); });
      if (is_known && dice_.below(4000) == 0) server_.remove();
      if (const std::size_t writers = pass(); writers > 1) return writers;
    }
    return 1;
  }

  [[nodiscard]] Duration now() const { return now_; }

 private:
  void start() { processes_.emplace_back(number_++, log_fd_, server_, dice_, now_); }

  std::size_t pass() {
    std::size_t writers = 0;
    server_.answer_late(now_);
    for (auto& each : processes_) {
      each.tell_time(now_);
      if (dice_.below(2000) == 0) each.stand_until(now_ + milliseconds(dice_.below(20'000)));
      each.live();
      if (each.may_write()) ++writers;
    }
    const std::size_t ended = std::erase_if(processes_, [](const Process& each) { return each.has_ended(); });
    for (std::size_t i = 0; i < ended; ++i) start();  // its pod starts it anew
    tally_.leaders += ended;
    tally_.led += writers;
    ++tally_.moments;
    return writers;
  }

  Dice dice_;
  int log_fd_;
  ElectionTally& tally_;
  LeaseServer server_;
  std::list<Process> processes_;
  int number_ = 0;
  Duration now_{0};
};

TEST(ElectionLaws, NoTwoWriteAtOnceAndSomebodyDoesMostOfTheTime) {
  const Seeds seeds = seeds_of_this_run(test::afforded(300), "election_laws_test");
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ElectionTally tally;
  for (const std::uint64_t seed : seeds) {
    ElectionStory story(seed, nowhere.get(), tally);
    ASSERT_LE(story.tell(), 1U) << seeds.replay(seed) << " at " << ratoon::seconds(story.now()) << " s";
  }
  std::cout << seeds.count() << " stories, " << tally.leaders << " leaders that ended, led "
            << 100 * tally.led / tally.moments << " % of the time\n";
  if (seeds.count() < kEnoughToCount) return;
  EXPECT_GT(tally.leaders, seeds.count()) << "nobody ever lost the lease: look at stand_until()";
  EXPECT_GT(tally.led, tally.moments / 2);
}

}  // namespace
}  // namespace ratoon::sim::election_laws_test
