// Acknowledged checkpoints through kills: worlds of one to three trainer processes save in a loop and are
// killed by SIGKILL, at every named point of a save and at random moments, together or one after the other;
// some live on as zombies beside the next attempt. No checkpoint that a rank 0 reported as saved is lost, no
// byte is wrong, and the next start goes on. RATOON_KILLS is the number of kills (50), RATOON_FIRST_SEED
// repeats a run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/property/agent/crash/trainer_process.h"
#include "tests/support/crash/crash_point.h"
#include "tests/support/crash/effort.h"
#include "tests/support/crash/run_life.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::checkpoint_kill_test {
namespace {

using test::CrashPoint;
using test::DiskCall;
using test::Moment;
using test::TrainerProcess;

constexpr std::size_t kWeightBytes = 200'000;  // as checkpoint_trainer has it
constexpr int kPatienceMilliseconds = 30'000;
constexpr int kNewRunEvery = 25;  // lives

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// SIGKILL loses no page of a file, and syncing would only take time.
std::filesystem::path scratch() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

struct NamedPoint {
  DiskCall call;
  const char* path;
  bool is_of_any_rank;
};
constexpr NamedPoint kPoints[] = {
    {DiskCall::kMakeFolder, "packs", true},      {DiskCall::kCreate, "packs/", true},
    {DiskCall::kReserve, "packs/", true},        {DiskCall::kWrite, "packs/", true},
    {DiskCall::kSync, "packs/", true},           {DiskCall::kClose, "packs/", true},
    {DiskCall::kRename, "packs/", true},         {DiskCall::kSyncFolder, "packs/", true},
    {DiskCall::kMakeFolder, "receipts", true},   {DiskCall::kCreate, "receipts/", true},
    {DiskCall::kWrite, "receipts/", true},       {DiskCall::kRename, "receipts/", true},
    {DiskCall::kCreate, "manifests/", false},    {DiskCall::kWrite, "manifests/", false},
    {DiskCall::kSync, "manifests/", false},      {DiskCall::kRename, "manifests/", false},
    {DiskCall::kSyncFolder, "manifests", false}, {DiskCall::kRemove, "manifests/", false},
    {DiskCall::kRemove, "receipts/", false},     {DiskCall::kRemove, "packs/", false},
};

// A run in one folder, life after life. `promised` is the newest checkpoint that any process reported as
// saved.
class Lives {
 public:
  explicit Lives(std::uint64_t seed) : chance_(seed) {}

  // One attempt, killed at `point`, or else at a random moment; or it is not killed and goes on beside the
  // next attempt until that one is over.
  void live(const NamedPoint* point) {
    if (lives_ > 0 && lives_ % kNewRunEvery == 0) end_run();
    const auto own = static_cast<std::uint32_t>(++attempt_);
    const std::uint32_t world = 1 + below(3);
    worlds_[own] = world;
    const std::uint32_t victim = point != nullptr && !point->is_of_any_rank ? 0 : below(world);
    const std::string words = point == nullptr ? std::string() : words_of(*point);
    if (!start_world(own, world, victim, words)) return end_before_it_began(world, victim);

    TrainerProcess& doomed = *world_[victim];
    if (point != nullptr) {
      EXPECT_TRUE(doomed.has_ended_in(kPatienceMilliseconds)) << "attempt " << own << " hangs";
    } else {
      static_cast<void>(doomed.has_ended_in(static_cast<int>(below(60))));
      if (below(3) == 0) return leave(Fate::kZombies);
      doomed.kill();
    }
    if (doomed.was_killed()) {
      ++kills_;
      at_points_ += point != nullptr ? 1 : 0;
    } else {
      expect_done(world);
    }
    leave(static_cast<Fate>(below(3)));
  }

  // When no process of older attempts is left, the next attempt saves, and the files of older attempts are
  // removed.
  void end_run() {
    ++lives_;
    bury_zombies();
    check();
    const auto own = static_cast<std::uint32_t>(++attempt_);
    worlds_[own] = 2;
    ASSERT_TRUE(start_world(own, 2, 0, ""));
    expect_done(2);
    leave(Fate::kDeadAtOnce);
    expect_no_litter();
    EXPECT_EQ(promised_.attempt, Attempt(own));
    folder_ = std::make_unique<test::TemporaryFolder>(scratch());
    promised_ = {};
    attempt_ = 0;
  }

  [[nodiscard]] std::uint64_t kills() const { return kills_; }
  [[nodiscard]] std::uint64_t at_points() const { return at_points_; }
  [[nodiscard]] std::uint64_t saves() const { return saves_; }
  [[nodiscard]] std::uint64_t zombie_saves() const { return zombie_saves_; }

 private:
  // The number of processes that remain when a world is given up.
  enum class Fate { kDeadAtOnce, kDeadAMomentLater, kZombies };

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(chance_() % limit); }

  std::string words_of(const NamedPoint& point) {
    // The first removal follows the third save, and a life has six saves.
    const bool has_middle = point.call == DiskCall::kWrite;
    return test::words_of({.call = point.call,
                           .path = point.path,
                           .moment = static_cast<Moment>(has_middle ? below(3) : 2 * below(2)),
                           .count = 1 + below(2)});
  }

  // False if rank 0 ended before it chose its resume point.
  bool start_world(std::uint32_t own, std::uint32_t world, std::uint32_t victim, const std::string& point) {
    world_.clear();
    ++lives_;
    std::string step = "0";
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      std::vector<std::string> words{folder_->path().string(),
                                     std::to_string(own),
                                     std::to_string(rank),
                                     std::to_string(world),
                                     "6",
                                     step};
      if (rank == victim && !point.empty()) words.push_back(point);
      world_.push_back(std::make_unique<TrainerProcess>(words));
      if (rank != 0) continue;
      const std::string from = world_[0]->next_line();
      if (from.empty()) return false;
      step = expect_goes_on(from);
    }
    return true;
  }

  // The step from which the attempt goes on.
  std::string expect_goes_on(const std::string& from) {
    if (from == "from none") {
      EXPECT_EQ(promised_, CheckpointId()) << "lost: a fresh start";
      return "0";
    }
    const CheckpointId id = test::parse_id(from.substr(5));
    EXPECT_GE(id, promised_) << "lost: goes on " << from << ", after " << test::text_of(promised_);
    return std::to_string(id.step.value());
  }

  void end_before_it_began(std::uint32_t world, std::uint32_t victim) {
    EXPECT_TRUE(world_[0]->has_ended_in(kPatienceMilliseconds));
    EXPECT_TRUE(victim == 0 && world_[0]->was_killed())
        << "rank 0 of " << world << " ended with " << world_[0]->exit_code();
    ++kills_;
    ++at_points_;
    leave(Fate::kDeadAtOnce);
  }

  void expect_done(std::uint32_t world) {
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      TrainerProcess& process = *world_[rank];
      EXPECT_TRUE(process.has_ended_in(kPatienceMilliseconds)) << "rank " << rank << " hangs";
      hear(process);
      EXPECT_EQ(process.exit_code(), 0) << "rank " << rank << " of " << world << " " << process.last_line();
    }
  }

  void leave(Fate fate) {
    bury_zombies();
    if (fate == Fate::kDeadAMomentLater)
      static_cast<void>(world_.back()->has_ended_in(static_cast<int>(below(5))));
    for (const auto& process : world_) hear(*process);
    zombies_ = std::move(world_);
    world_.clear();
    if (fate != Fate::kZombies) bury_zombies();
    check();
  }

  void bury_zombies() {
    bool has_lost_nobody = !zombies_.empty();
    for (const auto& zombie : zombies_) has_lost_nobody = has_lost_nobody && !zombie->was_killed();
    const std::uint64_t saves_before = saves_;
    for (const auto& zombie : zombies_) zombie->kill();
    for (const auto& zombie : zombies_) hear(*zombie);
    zombie_saves_ += saves_ - saves_before;
    bool is_killed = false;
    for (const auto& zombie : zombies_) {
      is_killed = is_killed || zombie->was_killed();
      EXPECT_NE(zombie->exit_code(), 9) << zombie->last_line();
    }
    kills_ += has_lost_nobody && is_killed ? 1 : 0;
    zombies_.clear();
  }

  // The checkpoints that it reported as saved since the last call.
  void hear(TrainerProcess& process) {
    for (const std::string& line : process.lines_by_now()) {
      if (!line.starts_with("saved ")) continue;
      ++saves_;
      promised_ = std::max(promised_, test::parse_id(line.substr(6)));
    }
  }

  // All listed checkpoints are intact, and the newest is the promised one or a later one.
  void check() {
    if (!zombies_.empty()) return;  // they change what we look at
    const auto store = RunStore::open(folder_->path());
    ASSERT_TRUE(store) << store.error().message();
    const auto inventory = store->inventory();
    ASSERT_TRUE(inventory) << inventory.error().message();
    EXPECT_EQ(test::find_damage(*inventory), std::nullopt);
    const CheckpointId newest =
        inventory->complete.empty() ? CheckpointId() : id_of(inventory->complete.front());
    EXPECT_GE(newest, promised_) << "lost " << test::text_of(promised_) << ", got " << test::text_of(newest);
    for (const InventoryEntry& entry : inventory->complete) expect_whole(*store, entry);
  }

  void expect_whole(const RunStore& store, const InventoryEntry& entry) {
    const auto verified = store.verify(id_of(entry));
    EXPECT_TRUE(verified) << verified.error().message();
    const ResumePoint point{.attempt = entry.attempt, .step = entry.step, .digest = entry.digest};
    for (std::uint32_t rank = 0; rank < worlds_.at(static_cast<std::uint32_t>(entry.attempt.value()));
         ++rank) {
      const auto loaded = store.load(point, Rank(rank));
      ASSERT_TRUE(loaded) << loaded.error().message();
      EXPECT_TRUE(*loaded == test::states_of(id_of(entry), rank, kWeightBytes)) << "wrong bytes";
    }
  }

  void expect_no_litter() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_->path()))
      if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(folder_->path()).string());
    const auto store = RunStore::open(folder_->path());
    EXPECT_EQ(test::find_litter(*store, paths), std::nullopt);
    EXPECT_TRUE(store->inventory()->damaged.empty());
  }

  std::mt19937_64 chance_;
  std::unique_ptr<test::TemporaryFolder> folder_ = std::make_unique<test::TemporaryFolder>(scratch());
  std::vector<std::unique_ptr<TrainerProcess>> world_;
  std::vector<std::unique_ptr<TrainerProcess>> zombies_;
  std::map<std::uint32_t, std::uint32_t> worlds_;  // how many ranks an attempt has
  std::uint64_t attempt_ = 0;
  CheckpointId promised_{};
  int lives_ = 0;
  std::uint64_t kills_ = 0;
  std::uint64_t at_points_ = 0;
  std::uint64_t saves_ = 0;
  std::uint64_t zombie_saves_ = 0;
};

TEST(Kills, NothingThatWasCalledSavedIsLost) {
  const std::uint64_t wanted = number_from("RATOON_KILLS", test::afforded(50));
  const std::uint64_t seed = number_from("RATOON_FIRST_SEED", std::random_device()());
  std::printf("RATOON_FIRST_SEED=%llu RATOON_KILLS=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(wanted));
  Lives lives(seed);
  for (std::uint64_t life = 0; lives.kills() < wanted && life < 3 * wanted + 10 && !HasFailure(); ++life) {
    // Every second life is killed at the next named point, the others at a random moment.
    lives.live(life % 2 == 0 ? &kPoints[(life / 2) % std::size(kPoints)] : nullptr);
  }
  lives.end_run();
  std::printf(
      "%llu kills, %llu of them at named points; %llu saves, %llu of them by zombies\n",
      static_cast<unsigned long long>(lives.kills()), static_cast<unsigned long long>(lives.at_points()),
      static_cast<unsigned long long>(lives.saves()), static_cast<unsigned long long>(lives.zombie_saves()));
  EXPECT_GE(lives.kills(), wanted);
  EXPECT_GE(lives.at_points(), wanted / 3);
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_kill_test
