// The slots of SaveWork: those that a process before this one left, and memory for one more save.
#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/src/checkpoint/disk/patient_disk.h"
#include "agent/src/checkpoint/save_work.h"
#include "agent/src/checkpoint/staging/copy.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kLookForSlot = std::chrono::milliseconds(10);  // while we wait for the writer

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
  const auto standing = in_force(inventory->rollbacks);
  const auto is_wanted = [&](const CheckpointId& id) {
    return !given_up->contains(id) && !is_given_up(id, standing);
  };
  std::optional<CheckpointId> newest;
  if (!inventory->complete.empty()) newest = id_of(inventory->complete.front());
  for (std::size_t number = 0; number < options_.slots_max; ++number) {
    auto slab = open_left(number);
    if (slab)
      adopt(number, *std::move(slab), newest, is_wanted);
    else if (slab.error().kind() == ErrorKind::kTimeout)
      return slab.error();
    else if (slab.error().kind() != ErrorKind::kNotFound)
      progress_.events.push_back(slab.error().message());
  }
  return {};
}

template <class Call>
auto SaveWork::at_slots(const char* doing, std::size_t number, Call call) const {
  if (!options_.calls || options_.slots_folder.empty()) return call();
  return (*options_.calls)(doing + (" staged memory at " + slot_path(number).string()), std::move(call));
}

// kNotFound: there is none.
Result<Slab> SaveWork::open_left(std::size_t number) const {
  return at_slots("opening", number, [path = slot_path(number), home = options_.home_mark]() -> Result<Slab> {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) return Error(ErrorKind::kNotFound, path.string());
    return Slab::open(path, home);
  });
}

// What was found bad, or given up with its lineage or by a rollback, does not come back by this door.
void SaveWork::adopt(std::size_t number, Slab slab, const std::optional<CheckpointId>& newest,
                     const std::function<bool(const CheckpointId&)>& is_wanted) {
  SlotInfo info = slab.read_info().value_or(SlotInfo());
  if (!is_wanted(info.pack.id)) info = SlotInfo();
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
    if (room == Room::kNone) {
      tell_of_budget(image_bytes);
      return std::optional<std::size_t>();
    }
    if (room == Room::kWait || (room == Room::kAdd && is_adding_)) {
      if (auto waited = wait_for_writer(lock, since); !waited) return waited.error();
      continue;
    }
    if (room == Room::kAdd) {
      if (auto added = add_slot(lock); !added) {
        if (ends_by(added.error())) return added.error();
        progress_.events.push_back(added.error().message());
        return std::optional<std::size_t>();
      }
      continue;
    }
    const std::size_t number = *table_.next_free();
    table_.begin_filling(number);
    const auto grown = grow(lock, number, image_bytes);
    if (grown) return std::optional(number);
    if (ends_by(grown.error())) return grown.error();
    progress_.events.push_back(grown.error().message() + "; training waits for the disk instead");
    return std::optional<std::size_t>();
  }
}

void SaveWork::tell_of_budget(std::uint64_t image_bytes) {
  if (options_.slots_max == 0 || is_budget_told_) return;  // or it is meant so
  is_budget_told_ = true;
  progress_.events.push_back("a copy of what is saved, of " + std::to_string(image_bytes) +
                             " bytes, does not fit into the " + std::to_string(options_.budget_bytes) +
                             " that copies may have (--staging-memory-mib): training waits for the disk at "
                             "each save");
}

// Another process may hold the file of one number, and so may we.
Result<Slab> SaveWork::open_new_slab(const std::set<std::size_t>& held, std::size_t& number) const {
  Result<Slab> slab = Slab();
  for (number = 0; number < options_.slots_max && !options_.slots_folder.empty(); ++number) {
    if (held.contains(number)) continue;
    slab = at_slots("opening", number,
                    [path = slot_path(number), home = options_.home_mark] { return Slab::open(path, home); });
    if (slab || slab.error().kind() == ErrorKind::kTimeout) break;
  }
  return slab;
}

Result<std::size_t> SaveWork::add_slot(Lock& lock) {
  std::set<std::size_t> held;
  for (const Slot& slot : slots_) held.insert(slot.number);
  is_adding_ = true;
  lock.unlock();
  std::size_t number = 0;
  auto slab = open_new_slab(held, number);
  lock.lock();
  is_adding_ = false;
  changed_.notify_all();
  if (!slab) return slab.error();
  slots_.push_back({.number = number, .slab = *std::move(slab), .layout = {}, .ticket = {}});
  table_.adopt({});
  return slots_.size() - 1;
}

// A call that hangs keeps the slab.
Result<void> SaveWork::grow(Lock& lock, std::size_t slot, std::uint64_t image_bytes) {
  Slot& own = slots_[slot];
  if (image_bytes <= own.slab.image().size()) return {};
  own.room_bytes = std::max(own.room_bytes, image_bytes);
  lock.unlock();
  const auto slab = std::make_shared<Slab>(std::move(own.slab));
  const auto grown = at_slots("taking", own.number, [slab, image_bytes] { return slab->grow(image_bytes); });
  const bool is_ours = grown || grown.error().kind() != ErrorKind::kTimeout;
  if (is_ours) own.slab = std::move(*slab);
  lock.lock();
  own.room_bytes = own.slab.image().size();
  if (!grown) release(slot);
  return grown;
}

void SaveWork::give_back(Slot& slot) const {
  const auto slab = std::make_shared<Slab>(std::move(slot.slab));
  // What is not given back in time the next process in this place takes over.
  static_cast<void>(at_slots("giving back", slot.number, [slab]() -> Result<void> {
    slab->discard();
    return {};
  }));
}

bool SaveWork::ends_by(const Error& why) {
  if (why.kind() != ErrorKind::kTimeout) return false;
  must_end_ = true;
  progress_.last_error = why.message();
  changed_.notify_all();
  return true;
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
    changed_.wait_for(lock, kLookForSlot);
    return {};
  }
  lock.unlock();
  const bool has_worked = work_once();
  lock.lock();
  if (has_worked) return {};
  return Error(ErrorKind::kUnavailable, "every slot waits for a disk that refused: " + progress_.last_error);
}

}  // namespace ratoon::checkpoint
