#include "operator/local/disk_writer.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace ratoon::local::disk_writer_test {
namespace {

using std::chrono::milliseconds;

// A disk that answers no call until it is thawed. A call owns what it waits for.
struct FrozenDisk {
  std::promise<void> thaw;
  std::shared_future<void> thawed = thaw.get_future().share();
  std::promise<void> asked;
  Result<void> write() {
    asked.set_value();
    thawed.wait();
    return {};
  }
};

TEST(DiskWriter, MakesCallsInOrderAndReturnsTheirOutcomes) {
  std::string made;
  DiskWriter disk;
  EXPECT_TRUE(disk.add([&] { made += "a"; }));
  auto refused = disk.begin<void>([&]() -> Result<void> {
    made += "b";
    return Error(ErrorKind::kNoSpace, "full");
  });
  auto counted = disk.begin<int>([&] {
    made += "c";
    return Result<int>(7);
  });
  EXPECT_EQ(counted.get().value(), 7);
  EXPECT_EQ(refused.get().error().kind(), ErrorKind::kNoSpace);
  EXPECT_EQ(made, "abc");
}

TEST(DiskWriter, ACallThatThrowsEndsThatCallAlone) {
  DiskWriter disk;
  auto thrown = disk.begin<void>([]() -> Result<void> { throw std::runtime_error("out of memory"); });
  auto next = disk.begin<void>([] { return Result<void>(); });
  EXPECT_THROW(static_cast<void>(thrown.get()), std::runtime_error);
  EXPECT_TRUE(next.get());
}

TEST(DiskWriter, WaitsAtItsEndForCallsThatAreMade) {
  std::atomic<int> made{0};
  {
    DiskWriter disk;
    for (int i = 0; i < 100; ++i) disk.add([&] { ++made; });
  }
  EXPECT_EQ(made, 100);
}

TEST(DiskWriter, LeavesACallThatHangsAndDropsTheLaterOnes) {
  const auto frozen = std::make_shared<FrozenDisk>();
  const auto later = std::make_shared<std::atomic<int>>(0);
  std::future<Result<void>> hanging;
  {
    DiskWriter disk(milliseconds(1));
    hanging = disk.begin<void>([frozen] { return frozen->write(); });
    disk.add([later] { ++*later; });
    frozen->asked.get_future().wait();
    EXPECT_EQ(hanging.wait_for(milliseconds(1)), std::future_status::timeout);
  }
  frozen->thaw.set_value();
  EXPECT_TRUE(hanging.get()) << "the thread still has its call";
  EXPECT_EQ(*later, 0);
}

TEST(DiskWriter, KeepsALimitedNumberOfCallsWhileTheDiskHangs) {
  const auto frozen = std::make_shared<FrozenDisk>();
  std::atomic<std::size_t> made{0};
  DiskWriter disk;
  auto hanging = disk.begin<void>([frozen] { return frozen->write(); });
  frozen->asked.get_future().wait();
  for (std::size_t i = 0; i < DiskWriter::kQueuedMax; ++i) ASSERT_TRUE(disk.add([&] { ++made; })) << i;
  EXPECT_FALSE(disk.add([&] { ++made; }));
  frozen->thaw.set_value();
  disk.begin<void>([] { return Result<void>(); }).wait();
  EXPECT_EQ(made, DiskWriter::kQueuedMax);
}

}  // namespace
}  // namespace ratoon::local::disk_writer_test
