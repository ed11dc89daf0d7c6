// A disk that hangs in a call costs its caller only the timeout.
#include "agent/src/checkpoint/disk/disk_with_timeout.h"

#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/commit/run_store.h"
#include "tests/support/crash/model_disk.h"
#include "tests/support/crash/wait_until_alone.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::disk_with_timeout_test {
namespace {

using namespace std::chrono_literals;
using test::DiskCall;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kBytes = 300'000;
const std::string kPack = "packs/a0001/s0000000010/r0000.safetensors";
const std::string kManifest = "manifests/s0000000010.a0001.json";

class DiskWithTimeoutTest : public testing::Test {
 protected:
  DiskWithTimeoutTest() {
    const auto store = RunStore::open(disk_, "mark").value();
    const TensorView views[] = {{.name = "w", .shape = {kBytes}, .bytes = std::as_bytes(std::span(weights_))},
                                {.name = "empty", .shape = {0}}};
    const CheckpointId id{.attempt = Attempt(1), .step = Step(10)};
    EXPECT_TRUE(store.write_pack(id, Rank(0), views));
    const auto entry = store.try_commit(id, 1).value().value();
    point_ = {.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
  }
  ~DiskWithTimeoutTest() override { let_go(); }

  // The hanging call returns, and its thread releases all objects; the test must release them as well.
  void let_go() {
    gate_->open();
    calls_ = nullptr;
    test::wait_until_alone(disk_);
  }
  std::shared_ptr<Disk> patient() {
    calls_ = std::make_shared<CallsWithTimeout>(1h, clock_);
    return add_timeout(disk_, calls_);
  }
  RunStore open() { return RunStore::open(patient(), "reader").value(); }
  // From then on the disk hangs; once it hangs, an hour passes.
  std::jthread hang_at(DiskCall wanted, const std::string& wanted_path) {
    gate_->close();
    disk_->set_faults([gate = gate_, wanted, wanted_path, disk = std::weak_ptr(disk_)](
                          DiskCall call, const std::string& path) {
      const auto held = disk.lock();  // a file that hangs has its disk's faults, and not its disk
      if (call == wanted && path == wanted_path) gate->pass();
      return test::Fault{};
    });
    return std::jthread([this] {
      gate_->await_somebody();
      clock_->advance(2h);
    });
  }
  Result<void> load(const RunStore& store, std::string& into) {
    auto reader = store.read(point_, Rank(0), {.threads = 1});
    if (!reader) return reader.error();
    into.assign(kBytes, '?');
    const TensorSpec wanted[] = {{"w", ElementType::kUint8, {kBytes}}, {"empty", ElementType::kUint8, {0}}};
    const std::span<std::byte> places[] = {std::as_writable_bytes(std::span(into)), {}};
    auto loaded = reader->load(wanted, places);
    if (!loaded) return loaded.error();
    return {};
  }

  std::shared_ptr<test::ModelDisk> disk_ = std::make_shared<test::ModelDisk>();
  std::shared_ptr<test::Gate> gate_ = std::make_shared<test::Gate>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<CallsWithTimeout> calls_;
  std::string weights_ = std::string(kBytes, 'w');
  ResumePoint point_;
};

// The training process writes a history.
TEST_F(DiskWithTimeoutTest, AWriteThatHangsIsAnErrorAndTheFileIsNotCalledAgain) {
  const auto file = patient()->create("history");
  ASSERT_TRUE(file);
  auto hanging = hang_at(DiskCall::kWrite, "history");
  {
    const std::string text(100, 'h');  // gone when the call comes back
    const auto written = (*file)->write(0, std::as_bytes(std::span(text)));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind(), ErrorKind::kTimeout);
    EXPECT_THAT(written.error().message(),
                AllOf(HasSubstr("writing "), HasSubstr("history: the disk has not")));
  }
  hanging.join();
  const auto synced = (*file)->sync();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::kTimeout);
  EXPECT_TRUE(calls_->was_abandoned()->load());
}

TEST_F(DiskWithTimeoutTest, ADiskThatAnswersIsAsItIsWithout) {
  const auto store = open();
  EXPECT_EQ(store.inventory().value().complete.size(), 1u);
  std::string into;
  const auto loaded = load(store, into);
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_TRUE(into == weights_);
  EXPECT_EQ(add_timeout(disk_, calls_)->open("nothing").error().kind(), ErrorKind::kNotFound);
  EXPECT_FALSE(calls_->was_abandoned()->load());
}

TEST_F(DiskWithTimeoutTest, AnInventoryDoesNotHangWithIt) {
  for (const auto& [call, path] : {std::pair{DiskCall::kOpen, kManifest},
                                   {DiskCall::kRead, kManifest},
                                   {DiskCall::kList, std::string("manifests")}}) {
    const auto inventory = [&, call = call, path = path] {
      const auto store = open();
      const auto passing = hang_at(call, path);
      return store.inventory();
    }();
    ASSERT_FALSE(inventory) << path;
    EXPECT_EQ(inventory.error().kind(), ErrorKind::kTimeout);
    EXPECT_THAT(inventory.error().message(), AllOf(HasSubstr(path), HasSubstr("--disk-timeout")));
    EXPECT_TRUE(calls_->was_abandoned()->load()) << "the process must not be torn down around its thread";
    let_go();
    disk_->set_faults({});
  }
}

TEST_F(DiskWithTimeoutTest, ALoadThatHangsLeavesItsTensorsAlone) {
  std::string into(kBytes, '?');
  const auto loaded = [&] {
    auto reader = open().read(point_, Rank(0), {.threads = 1}).value();
    const auto passing = hang_at(DiskCall::kRead, kPack);
    const TensorSpec wanted[] = {{"w", ElementType::kUint8, {kBytes}}};
    const std::span<std::byte> places[] = {std::as_writable_bytes(std::span(into))};
    return reader.load(wanted, places);
  }();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(loaded.error().message(), AllOf(HasSubstr(kPack), HasSubstr("check whether it answers")));
  let_go();
  EXPECT_TRUE(into == std::string(kBytes, '?')) << "what comes back when nobody waits for it is nobody's";
}

TEST_F(DiskWithTimeoutTest, AFileThatHangsIsNotCalledAgain) {
  const auto file = patient()->open(kPack).value();
  std::string into(10, '?');
  const auto place = std::as_writable_bytes(std::span(into));
  {
    const auto passing = hang_at(DiskCall::kRead, kPack);
    EXPECT_EQ(file->read(0, place).error().kind(), ErrorKind::kTimeout);
  }
  gate_->open();
  EXPECT_EQ(file->read(0, place).error().kind(), ErrorKind::kTimeout) << "another thread may still be in it";
  EXPECT_EQ(file->size().error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(into, std::string(10, '?'));
}

TEST_F(DiskWithTimeoutTest, WhatACallThrowsReachesItsCaller) {
  calls_ = std::make_shared<CallsWithTimeout>(1h, clock_);
  const auto call = [this] {
    return (*calls_)("reading x", []() -> Result<void> { throw std::runtime_error("out of something"); });
  };
  EXPECT_THROW(static_cast<void>(call()), std::runtime_error);
  EXPECT_TRUE((*calls_)("reading x", [] { return Result<void>(); }));
}

// One fault at each call of a load: a fault that comes once is read again, a lasting fault is reported, and
// no wrong byte is accepted.
TEST_F(DiskWithTimeoutTest, EachFaultOfEachCallIsMendedOrSaid) {
  struct Kind {
    test::Fault fault;
    ErrorKind says;
  };
  const Kind kinds[] = {{{.error = Error(ErrorKind::kIo, "refused")}, ErrorKind::kIo},
                        {{.flip_bit = 4321}, ErrorKind::kCorrupted}};
  const auto store = open();
  for (const auto& [fault, says] : kinds) {
    for (const int times : {1, 1'000'000}) {
      for (int first = 0, calls = 1; first < calls; ++first) {
        calls = 0;
        int faults = 0;
        std::string hit;
        disk_->set_faults([&](DiskCall call, const std::string& path) {
          if (call != DiskCall::kRead) return test::Fault{};
          const bool is_hit = calls++ >= first && faults < times && (hit.empty() || hit == path);
          if (!is_hit) return test::Fault{};
          ++faults;
          hit = path;
          return fault;
        });
        std::string into;
        const auto loaded = load(store, into);
        if (faults == 0) {  // a fault that is gone at once makes one call more
          EXPECT_EQ(first, calls);
          EXPECT_TRUE(loaded);
          break;
        }
        ASSERT_EQ(static_cast<bool>(loaded), times == 1) << first << " " << hit;
        if (loaded) {
          EXPECT_TRUE(into == weights_) << first;
        } else {
          EXPECT_EQ(loaded.error().kind(), says) << loaded.error().message();
        }
      }
    }
  }
  disk_->set_faults({});
}

TEST_F(DiskWithTimeoutTest, APackThatShrinksWhileItIsReadIsDamage) {
  const auto store = open();
  auto reader = store.read(point_, Rank(0), {.threads = 1});
  ASSERT_TRUE(reader);
  std::string* const bytes = disk_->bytes_of(kPack);
  ASSERT_NE(bytes, nullptr);
  bytes->resize(bytes->size() - 1);
  std::string into(kBytes, '?');
  const TensorSpec wanted[] = {{"w", ElementType::kUint8, {kBytes}}};
  const std::span<std::byte> places[] = {std::as_writable_bytes(std::span(into))};
  EXPECT_EQ(reader->load(wanted, places).error().kind(), ErrorKind::kCorrupted);
}

}  // namespace
}  // namespace ratoon::checkpoint::disk_with_timeout_test
