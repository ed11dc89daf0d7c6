// The slots of SaveWork: those that a process before this one left, and memory for one more save.
#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/src/checkpoint/disk/patient_disk.h"
#include "agent/src/checkpoint/save_work.h"
#include "agent/src/checkpoint/staging/copy.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kLook = std::chrono::milliseconds(10);  // while we wait for the writer

std::string text_of(const StagedPack& pack) {
  return "step " + std::to_string(pack.id.step.value());
}

}  // namespace

std::filesystem::path SaveWork::slot_path(std::size_t number) const {
  return options_.slots_folder / (options_.slots_name + "-" + std::to_string(number) + ".slot");
}

// What the process before us in this place left in memory.
Result<void> SaveWork::adopt_slots() {
  const auto disk = options_.calls ? make_patient(places_.disk, options_.calls) : places_.disk;
  const auto inventory = take_inventory(*disk);
  const auto given_up =
      inventory ? given_up_checkpoints(*disk) : Result<std::set<CheckpointId>>(inventory.error());
  if (!given_up) {
    if (given_up.error().kind() == ErrorKind::kTimeout) return given_up.error();
    progress_.events.push_back("what is left in memory is not looked at: " + given_up.error().message());
    return {};
  }
  std::optional<CheckpointId> newest;
  if (!inventory->complete.empty()) newest = id_of(inventory->complete.front());
  for (std::size_t number = 0; number < options_.slots_max; ++number) {
    auto slab = open_left(slot_path(number));
    if (slab)
      adopt(number, *std::move(slab), newest, *given_up);
    else if (slab.error().kind() == ErrorKind::kTimeout)
      return slab.error();
    else if (slab.error().kind() != ErrorKind::kNotFound)
      progress_.events.push_back(slab.error().message());
  }
  return {};
}

// kNotFound: there is none. A staging folder that is on a disk hangs with it.
Result<Slab> SaveWork::open_left(const std::filesystem::path& path) const {
  const auto open = [path]() -> Result<Slab> {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) return Error(ErrorKind::kNotFound, path.string());
    return Slab::open(path);
  };
  return options_.calls ? (*options_.calls)("opening staged memory at " + path.string(), open) : open();
}

// What was found bad, or given up with its lineage, does not come back by this door.
void SaveWork::adopt(std::size_t number, Slab slab, const std::optional<CheckpointId>& newest,
                     const std::set<CheckpointId>& given_up) {
  SlotInfo info = slab.read_info().value_or(SlotInfo());
  if (given_up.contains(info.pack.id)) info = SlotInfo();
  Slot slot{
      .number = number, .slab = std::move(slab), .layout = {}, .ticket = {}, .tries = 0, .is_legacy = true};
  slot.room_bytes = slot.slab.image().size();
  const Legacy legacy = judge_legacy(info, slot.slab.image().size(), newest);
  if (legacy == Legacy::kCommit) watched_.push_back({.pack = info.pack, .ticket = {}, .commits = true});
  if (legacy == Legacy::kFinish) {
    auto layout = read_layout(slot.slab.image(), info.pack.image_bytes);
    if (!layout) info.state = SlotState::kFree;
    if (layout) slot.layout = *std::move(layout);
    if (layout)
      progress_.events.push_back("the pack of " + text_of(info.pack) +
                                 " that the process before this one left in memory is written now");
  } else {
    info.state = SlotState::kFree;
  }
  table_.adopt(info);
  slots_.push_back(std::move(slot));
}

RoomFacts SaveWork::room_facts(std::uint64_t image_bytes) const {
  RoomFacts facts{.image_bytes = image_bytes,
                  .budget_bytes = options_.budget_bytes,
                  .slots = slots_.size(),
                  .slots_max = options_.slots_max};
  for (const Slot& slot : slots_) facts.taken_bytes += slot.room_bytes;
  if (const auto free = table_.next_free()) facts.free_slot_bytes = slots_[*free].room_bytes;
  return facts;
}

Result<std::optional<std::size_t>> SaveWork::take_slot(Lock& lock, std::uint64_t image_bytes) {
  const Timestamp since = places_.clock->now();
  for (;;) {
    const Room room = find_room(room_facts(image_bytes));
    if (room == Room::kNone) return std::optional<std::size_t>();
    if (room == Room::kWait) {
      if (auto waited = wait_for_writer(lock, since); !waited) return waited.error();
      continue;
    }
    if (room == Room::kAdd) {
      if (auto added = add_slot(); !added) {
        progress_.events.push_back(added.error().message());
        return std::optional<std::size_t>();
      }
    }
    const std::size_t number = *table_.next_free();
    table_.begin_filling(number);
    if (!grow(lock, number, image_bytes)) return std::optional<std::size_t>();
    return std::optional(number);
  }
}

// Another process may hold the file of one number, and so may we.
Result<std::size_t> SaveWork::add_slot() {
  std::size_t number = 0;
  Result<Slab> slab = Slab();
  for (; number < options_.slots_max && !options_.slots_folder.empty(); ++number) {
    if (std::ranges::find(slots_, number, &Slot::number) != slots_.end()) continue;
    slab = Slab::open(slot_path(number));
    if (slab) break;
  }
  if (!slab) return slab.error();
  slots_.push_back({.number = number, .slab = *std::move(slab), .layout = {}, .ticket = {}});
  table_.adopt({});
  return slots_.size() - 1;
}

bool SaveWork::grow(Lock& lock, std::size_t slot, std::uint64_t image_bytes) {
  Slot& own = slots_[slot];
  own.room_bytes = std::max(own.room_bytes, image_bytes);
  lock.unlock();
  const auto grown = own.slab.grow(image_bytes);
  lock.lock();
  own.room_bytes = own.slab.image().size();
  if (grown) return true;
  progress_.events.push_back(grown.error().message() + "; training waits for the disk instead");
  release(slot);
  return false;
}

Result<void> SaveWork::wait_for_writer(Lock& lock, Timestamp since) {
  if (is_stuck() || must_end_ || places_.clock->now() - since > options_.patience) {
    return Error(
        ErrorKind::kTimeout,
        "the disk has not taken the saves before within " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count()) +
            " s; see whether " + places_.disk->shown("") + " answers");
  }
  if (options_.has_thread) {
    changed_.wait_for(lock, kLook);
    return {};
  }
  lock.unlock();
  const bool has_worked = work_once();
  lock.lock();
  if (has_worked) return {};
  return Error(ErrorKind::kUnavailable, "every slot waits for a disk that refused: " + progress_.last_error);
}

}  // namespace ratoon::checkpoint
