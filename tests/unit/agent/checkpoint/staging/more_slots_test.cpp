// Slots that are added while another one is being written.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "agent/src/checkpoint/saver/saver.h"
#include "tests/support/crash/model_disk.h"
#include "tests/unit/agent/checkpoint/staging/gate.h"

namespace ratoon::checkpoint::more_slots_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kSoon = std::chrono::minutes(2);  // of a wait that ends much earlier, or the test fails

Result<SavePromise> save(Saver& saver, std::uint64_t step, const std::string& weights,
                         const SavePromise& ticket = {}) {
  const TensorView view{
      .name = "weights", .shape = {weights.size()}, .bytes = std::as_bytes(std::span(weights))};
  return saver.save(Step(step), std::span(&view, 1), {}, ticket);
}

// Nine saves behind the first save, whose writer is held. Whether the writer had begun while that pack was
// being copied.
bool save_ten() {
  const auto disk = std::make_shared<test::ModelDisk>();
  const auto gate = std::make_shared<test::Gate>();
  const SavePromise first;
  std::atomic<bool> is_first = true;
  std::atomic<bool> was_early = false;
  disk->set_faults([&, gate](test::DiskCall call, const std::string& path) {
    if (call == test::DiskCall::kReserve && path.starts_with("packs/") && is_first.exchange(false)) {
      was_early = !first.wait(SaveLevel::kStaged, 0s);
      gate->pass();
    }
    return test::Fault{};
  });
  gate->close();
  auto saver = Saver::open(disk, "mark", std::make_shared<SystemClock>(),
                           {.slots_max = 10, .pause = 1ms, .write_while_copying_bytes_min = 1 << 20})
                   .value();
  saver.begin_attempt({.attempt = Attempt(1), .rank = Rank(0), .world_size = 1, .rules = {.last = 20}});
  EXPECT_TRUE(save(saver, 1, std::string(8 << 20, 'a'), first));
  gate->await_somebody();
  for (std::uint64_t step = 2; step <= 10; ++step) EXPECT_TRUE(save(saver, step, std::string(1000, 'b')));
  gate->open();
  EXPECT_TRUE(saver.wait_until_written(kSoon));
  const auto progress = saver.poll();
  EXPECT_FALSE(progress.must_end_process) << progress.last_error;
  EXPECT_EQ(progress.missed_saves, 0u) << progress.last_error;
  EXPECT_EQ(progress.committed->step, Step(10));
  return was_early;
}

// The system decides whether the writer comes before the copy is whole: the test repeats until it did.
TEST(MoreSlots, AreAddedWhileAPackIsWrittenAsItIsCopied) {
  bool was_early = false;
  while (!was_early && !HasFailure()) was_early = save_ten();
}

}  // namespace
}  // namespace ratoon::checkpoint::more_slots_test
