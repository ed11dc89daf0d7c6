// A pack that is written while it is copied equals the pack that is written afterwards, or is not written.
#include "agent/src/checkpoint/staging/copy_progress.h"

#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/saver/saver.h"
#include "agent/src/checkpoint/staging/copy_to_image.h"
#include "tests/support/crash/model_disk.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::copy_progress_test {
namespace {

using namespace std::chrono_literals;
using test::DiskCall;
using test::Fault;

const CheckpointId kId{.attempt = Attempt(1), .step = Step(10)};
constexpr std::uint64_t kPieceBytes = 32 << 20;  // what is written at once
constexpr auto kSoon = 2min;
constexpr std::uint64_t kTriesMax = 1000;  // until another process comes between

// Two pieces, and enough bytes that a thread makes the sums.
class CopyProgressTest : public testing::Test {
 protected:
  CopyProgressTest() : weights_(kPieceBytes + 100'001) {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<std::byte>(i * 7 + i / 256);
    views_.push_back({.name = "weights", .shape = {weights_.size()}, .bytes = weights_});
    plan_ = lay_out_image(views_).value();
    image_.resize(plan_.layout.file_bytes());
    disk_.set_faults([this](DiskCall call, const std::string& path) {
      if (call == DiskCall::kWrite && path.starts_with("packs/a")) ++writes_;
      return Fault{};
    });
  }
  std::future<Result<WrittenPack>> begin_writing() {
    return std::async(std::launch::async, [this] {
      return write_staged_pack(disk_, kId, Rank(0), plan_.layout, image_, "mark", EarlierWriteTry::kNever,
                               filling_);
    });
  }
  void await_writes(int count) {
    while (writes_ < count) std::this_thread::yield();
  }
  // As copy_to_image does.
  void copy_up_to(std::uint64_t bytes) {
    std::vector<std::byte> all(image_.size());
    copy_to_image(plan_, views_, all, *CopyProgress::completed());
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(copied_), bytes - copied_,
                image_.begin() + static_cast<std::ptrdiff_t>(copied_));
    filling_.advance_to(copied_ = bytes);
  }

  std::vector<std::byte> weights_;
  std::vector<TensorView> views_;
  PackImageLayout plan_;
  std::vector<std::byte> image_;
  CopyProgress filling_;
  std::uint64_t copied_ = 0;
  test::ModelDisk disk_;
  std::atomic<int> writes_ = 0;
};

TEST_F(CopyProgressTest, WhatIsThereIsWrittenAndIsNoPackBeforeAllIs) {
  auto written = begin_writing();
  copy_up_to(plan_.layout.header_bytes + kPieceBytes);
  await_writes(1);
  EXPECT_EQ(writes_, 1) << "the second piece is not there";
  copy_up_to(image_.size());
  await_writes(2);
  EXPECT_EQ(written.wait_for(20ms), std::future_status::timeout);
  EXPECT_FALSE(disk_.bytes_of(pack_path(kId, Rank(0))));
  filling_.complete();
  ASSERT_TRUE(written.get());

  test::ModelDisk straight;
  ASSERT_TRUE(write_pack(straight, kId, Rank(0), views_, "mark"));
  EXPECT_EQ(disk_.all_paths(), straight.all_paths());
  for (const std::string& path : straight.all_paths())
    EXPECT_TRUE(*disk_.bytes_of(path) == *straight.bytes_of(path)) << path;
}

TEST_F(CopyProgressTest, WhatIsCopiedAgainLeavesNothing) {
  for (const bool has_all : {false, true}) {
    writes_ = 0;
    auto written = begin_writing();
    copy_up_to(has_all ? image_.size() : plan_.layout.header_bytes + kPieceBytes);
    await_writes(has_all ? 2 : 1);
    filling_.cancel();
    const auto outcome = written.get();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind(), ErrorKind::kCancelled);
    EXPECT_THAT(disk_.all_paths(), testing::IsEmpty());
    copied_ = 0;
    filling_.advance_to(0);
  }
}

TEST_F(CopyProgressTest, ADiskThatRefusesIsHeardOfWhileItIsFilled) {
  disk_.set_faults([](DiskCall call, const std::string&) {
    return call == DiskCall::kReserve ? Fault{.error = Error(ErrorKind::kNoSpace, "full")} : Fault{};
  });
  EXPECT_EQ(begin_writing().get().error().kind(), ErrorKind::kNoSpace);
}

TEST(CopyProgress, IsCompleteForGood) {
  CopyProgress filling;
  filling.complete();
  filling.cancel();
  EXPECT_TRUE(filling.wait_until_complete());
}

// Another process changes a tensor again and again, like a thread for which the program does not wait.
class Changer {
 public:
  explicit Changer(std::span<std::byte> shared) : child_(::fork()) {
    if (child_ != 0) return;
    for (auto* const at = reinterpret_cast<std::uint64_t*>(shared.data());;)
      __atomic_add_fetch(at, 1, __ATOMIC_RELAXED);
  }
  Changer(const Changer&) = delete;
  Changer& operator=(const Changer&) = delete;
  ~Changer() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  const pid_t child_;
};

TEST(EarlyWriting, ASaveThatIsChangedMeanwhileIsRefusedAndTheNextOneIsWhole) {
  constexpr std::size_t kBytes = 1 << 20;
  void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const std::span shared(static_cast<std::byte*>(at), kBytes);
  const TensorView views[] = {{.name = "weights", .shape = {kBytes}, .bytes = shared}};
  const auto disk = std::make_shared<test::ModelDisk>();
  std::uint64_t step = 0;
  bool is_refused = false;
  {
    const Changer changer(shared);
    auto saver = Saver::open(disk, "mark", std::make_shared<SystemClock>(),
                             {.pause = 1ms, .write_while_copying_bytes_min = 0})
                     .value();
    saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 2}});
    while (!is_refused && step < kTriesMax) {
      const auto ticket = saver.save(Step(++step), views);
      is_refused = !ticket;
      if (is_refused) {
        EXPECT_EQ(ticket.error().kind(), ErrorKind::kConflict);
      }
      ASSERT_TRUE(saver.wait_until_written(kSoon));
    }
  }
  EXPECT_TRUE(is_refused);
  {
    auto saver = Saver::open(disk, "mark", std::make_shared<SystemClock>(),
                             {.pause = 1ms, .write_while_copying_bytes_min = 0})
                     .value();
    saver.begin_attempt({.attempt = Attempt(2), .rank = Rank(0), .world_size = 1, .rules = {.last = 1}});
    const auto ticket = saver.save(Step(++step), views);
    ASSERT_TRUE(ticket);
    ASSERT_TRUE(ticket->wait(SaveLevel::kCommitted, kSoon));
  }  // its thread is at the model of a disk until then
  const CheckpointId id{.attempt = Attempt(2), .step = Step(step)};
  const auto store = RunStore::open(disk, "reader").value();
  const auto entry = store.find(id).value().value();
  const auto loaded =
      store.load({.attempt = id.attempt, .step = id.step, .digest = entry.digest}, Rank(0)).value();
  EXPECT_TRUE(std::memcmp(loaded.at("weights").bytes.data(), shared.data(), kBytes) == 0);
  ::munmap(at, kBytes);
}

}  // namespace
}  // namespace ratoon::checkpoint::copy_progress_test
