// checkpoint_trainer FOLDER ATTEMPT RANK WORLD SAVES STEP-OF-RESUME [POINT]
//
// One rank of a world that saves in a loop, as a process that can be killed. Rank 0 chooses the resume point;
// the other ranks are told. The process prints on its standard output, a line each, the facts that a test
// checks:
//   from A S    rank 0 goes on from the checkpoint of attempt A, step S, whose bytes it has compared
//   from none   and there was none
//   saved A S   it is durable
//   ended: ...  why it ends before its time
// At POINT (crash_point.h) the process kills itself. Exit codes: 0 it has made its saves, 3 the store
// refused, 4 it waited in vain for the other ranks, 9 a broken law.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sys/prctl.h>
#include <unistd.h>

#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "base/core/random_name.h"
#include "tests/support/crash/crash_point.h"
#include "tests/support/crash/run_life.h"

namespace ratoon::test {
namespace {

using namespace checkpoint;
using std::chrono::steady_clock;

constexpr std::size_t kWeightBytes = 200'000;  // seven blocks, and something for a random moment to hit
constexpr auto kPatience = std::chrono::minutes(2);

enum Exit { kDone = 0, kRefused = 3, kWaitedInVain = 4, kWrong = 9 };

struct Place {
  CheckpointId id;  // of the first save
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t saves = 1;
};

// Prints in one call, so that a kill never leaves half a line.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::_Exit(kWrong);
}

[[noreturn]] void end(Exit code, const std::string& why) {
  say("ended: " + why);
  std::_Exit(code);
}

std::shared_ptr<Disk> open_disk(const char* folder, const char* point) {
  auto disk = RealDisk::open_folder(folder);
  if (!disk) end(kRefused, disk.error().message());
  std::shared_ptr<Disk> real = *std::move(disk);
  if (point == nullptr) return real;
  return std::make_shared<ObservedDisk>(
      real, at_point(parse_point(point).value(), [] { static_cast<void>(::kill(::getpid(), SIGKILL)); }));
}

// Another process may remove the file during the read: an older attempt that does not know yet that it is
// dead.
bool is_still_there(const RunStore& store, const InventoryEntry& entry) {
  const auto found = store.find(id_of(entry));
  return found && found->has_value();
}

std::optional<CheckpointId> choose(const RunStore& store) {
  while (true) {
    const auto inventory = store.inventory();
    if (!inventory) end(kRefused, inventory.error().message());
    if (const auto damage = find_damage(*inventory)) end(kWrong, *damage);
    if (inventory->complete.empty()) return std::nullopt;
    const InventoryEntry& newest = inventory->complete.front();
    const CheckpointId id = id_of(newest);
    const auto loaded =
        store.load({.attempt = id.attempt, .step = id.step, .digest = newest.digest}, Rank(0));
    const auto verified = store.verify(id);
    if (loaded && verified) {
      if (*loaded != states_of(id, 0, kWeightBytes)) end(kWrong, "wrong bytes of " + text_of(id));
      return id;
    }
    if (is_still_there(store, newest))
      end(kWrong, (loaded ? verified.error() : loaded.error()).message() + ", of " + text_of(id));
  }
}

void wait_for_commit(const RunStore& store, const CheckpointId& id, const Place& place) {
  const auto deadline = steady_clock::now() + kPatience;
  while (steady_clock::now() < deadline) {
    const auto found = place.rank == 0 ? store.try_commit(id, place.world) : store.find(id);
    if (!found) end(kRefused, found.error().message());
    if (*found) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  end(kWaitedInVain, "nobody committed " + text_of(id));
}

void train(const RunStore& store, const Place& place) {
  for (std::uint32_t i = 0; i < place.saves; ++i) {
    const CheckpointId id{.attempt = place.id.attempt, .step = Step(place.id.step.value() + 10 * i)};
    const LoadedTensors states = states_of(id, place.rank, kWeightBytes);
    if (auto written = store.write_pack(id, Rank(place.rank), views_of(states)); !written)
      end(kRefused, written.error().message());
    wait_for_commit(store, id, place);
    if (place.rank != 0) continue;
    say("saved " + text_of(id));
    if (auto retired = store.retire_old({.last = 2}, id.attempt); !retired)
      end(kRefused, retired.error().message());
  }
}

int run(char** words) {
  const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
  Place place{.id = {.attempt = Attempt(number(2)), .step = Step(number(6) + 10)},
              .rank = static_cast<std::uint32_t>(number(3)),
              .world = static_cast<std::uint32_t>(number(4)),
              .saves = static_cast<std::uint32_t>(number(5))};
  const auto store = RunStore::open(open_disk(words[1], words[7]), random_hex_name());
  if (!store) end(kRefused, store.error().message());
  if (place.rank == 0) {
    const auto chosen = choose(*store);
    say("from " + (chosen ? text_of(*chosen) : "none"));
    place.id.step = Step((chosen ? chosen->step.value() : 0) + 10);
  }
  train(*store, place);
  return kDone;
}

}  // namespace
}  // namespace ratoon::test

int main(int count, char** words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever tests us may be killed, too
  return count >= 7 ? ratoon::test::run(words) : ratoon::test::kWrong;
}
