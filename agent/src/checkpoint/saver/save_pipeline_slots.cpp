// The functions of SavePipeline that take over the slots of an earlier process and allocate new slots.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "agent/src/checkpoint/saver/save_pipeline.h"
#include "agent/src/checkpoint/staging/copy_to_image.h"

namespace ratoon::checkpoint {
namespace {

constexpr auto kSlotPollInterval = std::chrono::milliseconds(10);  // while we wait for the writer

std::string text_of(const StagedPack& pack) {
  return "step " + std::to_string(pack.id.step.value());
}

}  // namespace

std::filesystem::path SavePipeline::slot_path(std::size_t number) const {
  return options_.slots_folder / (options_.slot_file_prefix + "-" + std::to_string(number) + ".slot");
}

// Takes over the slots that an earlier process with the same names of slot files has left in memory.
Result<void> SavePipeline::adopt_slots() {
  const auto disk = options_.calls ? add_timeout(resources_.disk, options_.calls) : resources_.disk;
  const auto inventory = take_inventory(*disk);
  const auto given_up =
      inventory ? quarantined_or_aside_checkpoints(*disk) : Result<std::set<CheckpointId>>(inventory.error());
  if (!given_up) {
    if (given_up.error().kind() == ErrorKind::kTimeout) return given_up.error();
    progress_.events.push_back("packs that an earlier process left in memory are not read: " +
                               given_up.error().message());
    return {};
  }
  const auto standing = rollbacks_in_force(inventory->rollbacks);
  const auto is_wanted = [&](const CheckpointId& id) {
    return !given_up->contains(id) && !is_given_up(id, standing);
  };
  std::optional<CheckpointId> newest;
  if (!inventory->complete.empty()) newest = id_of(inventory->complete.front());
  for (std::size_t number = 0; number < options_.slots_max; ++number) {
    auto slab = open_leftover_slab(number);
    if (slab)
      adopt_leftover_slot(number, *std::move(slab), newest, is_wanted);
    else if (slab.error().kind() == ErrorKind::kTimeout)
      return slab.error();
    else if (slab.error().kind() != ErrorKind::kNotFound)
      progress_.events.push_back(slab.error().message());
  }
  return {};
}

template <class Call>
auto SavePipeline::run_with_slot_timeout(const char* doing, std::size_t number, Call call) const {
  if (!options_.calls || options_.slots_folder.empty()) return call();
  return (*options_.calls)(doing + (" staged memory at " + slot_path(number).string()), std::move(call));
}

// Returns kNotFound if there is no slot file with this number.
Result<Slab> SavePipeline::open_leftover_slab(std::size_t number) const {
  return run_with_slot_timeout("opening", number,
                               [path = slot_path(number), home = options_.location_hash]() -> Result<Slab> {
                                 std::error_code none;
                                 if (!std::filesystem::exists(path, none))
                                   return Error(ErrorKind::kNotFound, path.string());
                                 return Slab::open(path, home);
                               });
}

// Takes over a pack that an ended process left in memory. Drops the pack if its checkpoint is in quarantine,
// or if the run gave up the checkpoint in a rollback or by starting over.
void SavePipeline::adopt_leftover_slot(std::size_t number, Slab slab,
                                       const std::optional<CheckpointId>& newest,
                                       const std::function<bool(const CheckpointId&)>& is_wanted) {
  SlotInfo info = slab.read_info().value_or(SlotInfo());
  if (!is_wanted(info.pack.id)) info = SlotInfo();
  Slot slot{
      .number = number, .slab = std::move(slab), .layout = {}, .ticket = {}, .tries = 0, .is_leftover = true};
  slot.slab_bytes = slot.slab.image().size();
  const LeftoverAction legacy = choose_leftover_action(info, slot.slab.image().size(), newest);
  if (legacy == LeftoverAction::kCommit)
    pending_commits_.push_back({.pack = info.pack, .ticket = {}, .is_committer = true});
  if (legacy == LeftoverAction::kFinish) {
    auto layout = read_layout(slot.slab.image(), info.pack.image_bytes);
    if (layout) {
      slot.layout = *std::move(layout);
      progress_.events.push_back("the pack of " + text_of(info.pack) +
                                 " that an earlier process left in memory is written now");
    } else {
      info.state = SlotState::kFree;
    }
  } else {
    info.state = SlotState::kFree;
  }
  slot_table_.adopt(info);
  slots_.push_back(std::move(slot));
}

SlotFacts SavePipeline::slot_facts(std::uint64_t image_bytes) const {
  SlotFacts facts{.image_bytes = image_bytes,
                  .budget_bytes = options_.budget_bytes,
                  .slots = slots_.size(),
                  .slots_max = options_.slots_max};
  for (const Slot& slot : slots_) facts.taken_bytes += slot.slab_bytes;
  if (const auto free = slot_table_.next_free()) facts.free_slot_bytes = slots_[*free].slab_bytes;
  return facts;
}

Result<std::optional<std::size_t>> SavePipeline::take_slot(MutexLock& lock, std::uint64_t image_bytes) {
  const Timestamp since = resources_.clock->now();
  for (;;) {
    const SlotDecision room = choose_slot(slot_facts(image_bytes));
    if (room == SlotDecision::kNone) {
      report_budget_once(image_bytes);
      return std::optional<std::size_t>();
    }
    if (room == SlotDecision::kWait || (room == SlotDecision::kAdd && is_adding_slot_)) {
      if (auto waited = wait_for_writer(lock, since); !waited) return waited.error();
      continue;
    }
    if (room == SlotDecision::kAdd) {
      if (auto added = add_slot(lock); !added) {
        if (is_fatal_error(added.error())) return added.error();
        progress_.events.push_back(added.error().message());
        return std::optional<std::size_t>();
      }
      continue;
    }
    const std::size_t number = *slot_table_.next_free();
    slot_table_.begin_filling(number);
    const auto grown = grow_slot(lock, number, image_bytes);
    if (grown) return std::optional(number);
    if (is_fatal_error(grown.error())) return grown.error();
    progress_.events.push_back("no staging slot, so training waits for disk: " + grown.error().message());
    return std::optional<std::size_t>();
  }
}

void SavePipeline::report_budget_once(std::uint64_t image_bytes) {
  if (options_.slots_max == 0 || is_budget_reported_) return;  // slots_max 0 requests no slots
  is_budget_reported_ = true;
  progress_.events.push_back(
      "a save of " + std::to_string(image_bytes) + " bytes does not fit into the " +
      std::to_string(options_.budget_bytes) +
      " bytes of staging memory (--staging-memory-mib): training waits for the disk at "
      "each save; raise the limit");
}

// Skips numbers of slot files that are locked, because another process or another slot uses such a file.
Result<Slab> SavePipeline::open_new_slab(const std::set<std::size_t>& held, std::size_t& number) const {
  Result<Slab> slab = Slab();
  for (number = 0; number < options_.slots_max && !options_.slots_folder.empty(); ++number) {
    if (held.contains(number)) continue;
    slab = run_with_slot_timeout(
        "opening", number,
        [path = slot_path(number), home = options_.location_hash] { return Slab::open(path, home); });
    if (slab || slab.error().kind() == ErrorKind::kTimeout) break;
  }
  return slab;
}

Result<std::size_t> SavePipeline::add_slot(MutexLock& lock) {
  std::set<std::size_t> held;
  for (const Slot& slot : slots_) held.insert(slot.number);
  is_adding_slot_ = true;
  std::size_t number = 0;
  Result<Slab> slab = Slab();
  try {
    const UnlockedScope away(*this, lock);
    slab = open_new_slab(held, number);
  } catch (...) {
    is_adding_slot_ = false;
    changed_.notify_all();
    throw;
  }
  is_adding_slot_ = false;
  changed_.notify_all();
  if (!slab) return slab.error();
  slots_.push_back({.number = number, .slab = *std::move(slab), .layout = {}, .ticket = {}});
  try {
    slot_table_.adopt({});
  } catch (...) {
    slots_.pop_back();  // both have the same slots
    throw;
  }
  return slots_.size() - 1;
}

// The call owns the slab (the slot's memory), because a call that hangs may use it after the timeout.
Result<void> SavePipeline::grow_slot(MutexLock& lock, std::size_t slot, std::uint64_t image_bytes) {
  Slot& own = slots_[slot];
  if (image_bytes <= own.slab.image().size()) return {};
  own.slab_bytes = std::max(own.slab_bytes, image_bytes);
  Result<void> grown;
  std::shared_ptr<Slab> slab;
  try {
    const UnlockedScope away(*this, lock);
    slab = std::make_shared<Slab>(std::move(own.slab));
    grown =
        run_with_slot_timeout("taking", own.number, [slab, image_bytes] { return slab->grow(image_bytes); });
    const bool is_ours = grown || grown.error().kind() != ErrorKind::kTimeout;
    if (is_ours) own.slab = std::move(*slab);
  } catch (...) {
    if (slab) own.slab = std::move(*slab);
    own.slab_bytes = own.slab.image().size();
    release_slot(slot);
    throw;
  }
  own.slab_bytes = own.slab.image().size();
  if (!grown) release_slot(slot);
  return grown;
}

void SavePipeline::free_slot_memory(Slot& slot) const {
  const auto slab = std::make_shared<Slab>(std::move(slot.slab));
  // If run_with_slot_timeout() times out, the slot file stays, and the next process takes it over.
  static_cast<void>(run_with_slot_timeout("giving back", slot.number, [slab]() -> Result<void> {
    slab->discard();
    return {};
  }));
}

bool SavePipeline::is_fatal_error(const Error& why) {
  if (why.kind() != ErrorKind::kTimeout) return false;
  must_end_ = true;
  progress_.last_error = why.message();
  changed_.notify_all();
  return true;
}

Result<void> SavePipeline::wait_for_writer(MutexLock& lock, Timestamp since) {
  if (is_stuck() || must_end_ || resources_.clock->now() - since > options_.disk_timeout) {
    return Error(
        ErrorKind::kTimeout,
        "the disk has not written the earlier saves within " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options_.disk_timeout).count()) +
            " s; see whether " + resources_.disk->shown("") + " answers");
  }
  if (options_.has_writer_thread) {
    changed_.wait_for(lock, kSlotPollInterval);
    return {};
  }
  bool has_worked = false;
  {
    const UnlockedScope away(*this, lock);
    has_worked = do_work_unit();
  }
  if (has_worked) return {};
  return Error(ErrorKind::kUnavailable,
               "every staging slot waits for a disk that refused a write: " + progress_.last_error);
}

// The writer thread calls prepare_one_slot(), which allocates a slot before the first save needs it.
bool SavePipeline::prepare_one_slot(MutexLock& lock) {
  if (is_stopping_ || must_end_ || is_adding_slot_ || prepared_bytes_ == 0) return false;
  std::optional<std::size_t> number;
  for (std::size_t i = 0; i < slot_table_.size() && !number; ++i) {
    if (slot_table_[i].state == SlotState::kFree && slots_[i].slab_bytes < prepared_bytes_) number = i;
  }
  SlotFacts facts = slot_facts(prepared_bytes_);
  facts.free_slot_bytes = number ? std::optional<std::uint64_t>(slots_[*number].slab_bytes) : std::nullopt;
  const SlotDecision room = choose_slot(facts);
  if (room == SlotDecision::kNone) report_budget_once(prepared_bytes_);
  if (room != SlotDecision::kTake && room != SlotDecision::kAdd) return false;
  if (room == SlotDecision::kAdd) {
    const auto added = add_slot(lock);
    if (!added) {
      prepared_bytes_ = 0;
      if (!is_fatal_error(added.error())) progress_.events.push_back(added.error().message());
      return false;
    }
    return true;  // the trainer may have taken it
  }
  slot_table_.begin_filling(*number);
  const auto grown = grow_slot(lock, *number, prepared_bytes_);
  if (!grown) {
    prepared_bytes_ = 0;
    if (!is_fatal_error(grown.error()))
      progress_.events.push_back("no staging slot, so training waits for disk: " + grown.error().message());
    return false;
  }
  release_slot(*number);
  changed_.notify_all();
  return true;
}

}  // namespace ratoon::checkpoint
