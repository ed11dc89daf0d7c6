#include "agent/src/session/locations/checkpoint_locations.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "agent/src/checkpoint/commit/rollback_files.h"
#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "agent/src/checkpoint/disk/real/memory_file_system.h"
#include "agent/src/checkpoint/pack/extents.h"
#include "agent/src/checkpoint/tiers/lineage.h"
#include "agent/src/session/locations/claimed_locations.h"
#include "agent/src/session/locations/identity.h"
#include "agent/src/session/locations/launch_record.h"
#include "agent/src/session/locations/lost_manifest_check.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/options/staging_options.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/state/final_weights.h"
#include "agent/src/session/telemetry/say.h"
#include "base/contract/exit_code.h"
#include "base/core/count_with_noun.h"
#include "base/core/random_name.h"

namespace ratoon::session {
namespace {

using checkpoint::CheckpointId;
using checkpoint::Disk;

constexpr auto kLeavingCallTimeout = std::chrono::seconds(5);

// A disk call that has timed out may still use objects, so the process later ends without destructors.
std::shared_ptr<checkpoint::CallsWithTimeout> make_calls_with_timeout(Duration patience) {
  auto calls = std::make_shared<checkpoint::CallsWithTimeout>(patience, std::make_shared<SystemClock>());
  skip_teardown_if([abandoned = calls->was_abandoned()] { return abandoned->load(); });
  return calls;
}

checkpoint::Tiers open_tiers(const Options& options,
                             const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                             std::shared_ptr<Disk>& home, const std::stop_token& stop) {
  auto places = tier_locations(options);
  // The pointer is shared, because a hanging disk call still uses it after the caller stops waiting.
  const auto folder_itself = std::make_shared<std::shared_ptr<Disk>>();
  places.folder_wrapper = [folder_itself, calls](const std::shared_ptr<Disk>& folder) {
    if (!*folder_itself) *folder_itself = folder;
    return checkpoint::add_timeout(folder, calls);
  };
  auto tiers = (*calls)("opening " + home_location(options),
                        [places, stop] { return checkpoint::Tiers::open(places, stop); });
  if (tiers) home = tiers->home().store ? tiers->home().disk : *folder_itself;
  if (!tiers) fail(exit_code_of(tiers.error()), tiers.error().message());
  return *std::move(tiers);
}

std::string find_identity(const Options& options, const checkpoint::Tiers& tiers,
                          checkpoint::CallsWithTimeout& calls) {
  const auto mark = [&] { return read_home_folder_hash(options, calls); };
  auto identity = job_identity_of(options, *tiers.home().disk, mark, random_hex_name());
  if (!identity) fail(exit_code_of(identity.error()), identity.error().message());
  return *std::move(identity);
}

checkpoint::Owner find_owner(const Options& options, const std::string& identity) {
  auto owner = owner_on_this_host(options, identity);
  if (!owner) fail(exit_code_of(owner.error()), owner.error().message());
  return *std::move(owner);
}

MirrorPlan make_mirror_plan(const checkpoint::Tiers& tiers, const Options& options, CleaningRule rule) {
  return {.tiers = tiers,
          .home_rules = home_rules(options),
          .store_rules = store_rules(options),
          .run_folder = tiers.home().store ? "" : run_folder(options).string(),
          .latest_name = options.latest_name,
          .run_name = options.run_name,
          .may_clean_up = std::move(rule)};
}

std::shared_ptr<Mirrors> make_mirrors(MirrorPlan plan, std::shared_ptr<metrics::Meters> meters,
                                      const std::shared_ptr<EventLog>& events) {
  for (std::size_t i = 1; i < plan.tiers.all().size(); ++i)
    meters->stores.emplace_back(plan.tiers.all()[i].disk->shown(""));
  return std::make_shared<Mirrors>(std::move(plan), std::move(meters), events);
}

// Returns the priority of a copy's error. Temporary errors come first, because their copies may be intact.
int error_priority(const Error& error) {
  const ErrorKind kind = error.kind();
  if (kind == ErrorKind::kNotFound) return 0;
  const bool is_bad = kind == ErrorKind::kCorrupted || kind == ErrorKind::kIo || kind == ErrorKind::kInvalid;
  return is_bad ? 1 : 2;
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  // kNotFound and kCorrupted may be temporary: a volume may be mounted later, or a proxy may have answered.
  const bool may_pass = error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kCorrupted;
  return may_pass ? ExitCode::kStorage : ratoon::exit_code_of(error.kind());
}

CheckpointLocations::CheckpointLocations(const Options& options, std::shared_ptr<metrics::Meters> meters)
    : options_(options),
      calls_with_timeout_(make_calls_with_timeout(std::chrono::seconds(options.disk_timeout_seconds))),
      shutdown_calls_(make_calls_with_timeout(kLeavingCallTimeout)),
      tiers_(open_tiers(options, calls_with_timeout_, home_, stop_.get_token())),
      identity_(find_identity(options, tiers_, *calls_with_timeout_)),
      owner_(find_owner(options, identity_)),
      ownership_(std::make_shared<OwnershipGuard>(locations_to_claim(tiers_, options), owner_, events_)),
      mirrors_(make_mirrors(
          make_mirror_plan(tiers_, options, cleaning_rule(tiers_, options, owner_, term_reader(ownership_))),
          std::move(meters), events_)) {
  if (const auto checked = check_final_weights_file(options, *calls_with_timeout_); !checked)
    fail(exit_code_of(checked.error().kind()), checked.error().message());
}

// At the end of the job, releases this process's claims on the locations, so that the next job need not wait
// until they expire. Calls of `shutdown_calls_` time out soon, so a hanging store hardly delays this process.
CheckpointLocations::~CheckpointLocations() {
  end_copies();
  // Release the ownership guard within the timed call, because the guard's destructor waits for a thread.
  static_cast<void>((*shutdown_calls_)(
      "letting places go",
      [ownership = std::move(ownership_), gives_back = is_job_over_]() mutable -> Result<void> {
        if (gives_back) ownership->release();
        ownership.reset();
        return {};
      }));
  stop_.request_stop();
}

std::optional<std::string> CheckpointLocations::find_resume_refusal() {
  const auto found = tiers_.inventory();
  if (!found) fail(exit_code_of(found.error()), found.error().message());
  const checkpoint::StartRequest requests{.resumes = false, .can_overwrite = options_.group.size == 1};
  const auto choice = checkpoint::choose_start(*found, requests, [](const auto&) { return true; });
  Disk& home = *tiers_.home().disk;
  const auto known = choice ? Result<bool>(true) : was_accepted_before(home, options_.group.launches);
  if (!known) fail(exit_code_of(known.error()), known.error().message());
  // Record only an accepted launch, because a refused launch must be refused again after a restart.
  const auto noted = record_accepted_launches(
      home, *known ? options_.group.launches : std::vector<LaunchName>(), random_hex_name());
  if (!noted) fail(exit_code_of(noted.error()), noted.error().message());
  return *known ? std::nullopt : std::optional(choice.error().message());
}

void CheckpointLocations::move_old_checkpoints_away() {
  const auto found = tiers_.inventory();
  if (!found) fail(exit_code_of(found.error()), found.error().message());
  const checkpoint::StartRequest requests{
      .resumes = false, .overwrites = true, .has_load_path = !options_.load_from.empty()};
  const auto choice = checkpoint::choose_start(*found, requests, [](const auto&) { return true; });
  if (!choice) fail(exit_code_of(choice.error()), choice.error().message());
  if (choice->sets_old_checkpoints_aside) set_lineage_aside({});
}

void CheckpointLocations::move_old_checkpoints_away(Attempt first) {
  set_lineage_aside(first);
}

void CheckpointLocations::set_lineage_aside(std::optional<Attempt> before) {
  if (const auto ours = ownership_->confirm_all_locations(); !ours)
    fail(ExitCode::kStartAgain, ours.error().message());
  // Move the checkpoints of the home, the run's main location, last. If this start is interrupted earlier, a
  // repeated start without --overwrite still finds the run.
  for (auto tier = tiers_.all().rbegin(); tier != tiers_.all().rend(); ++tier) {
    const auto moved = checkpoint::set_lineage_aside(*tier->disk, random_hex_name(), before);
    if (!moved) fail(ExitCode::kStorage, moved.error().message());
    if (*moved == 0) continue;
    say("the run begins again at step 0 (--overwrite): " + std::to_string(*moved) + " checkpoints of " +
        tier->disk->shown("") + " are in its folder aside/");
  }
}

void CheckpointLocations::enter(const std::function<bool()>& goes_on) {
  claim_locations_with(&OwnershipGuard::enter, goes_on);
}

void CheckpointLocations::claim_locations(const std::function<bool()>& goes_on) {
  claim_locations_with(&OwnershipGuard::take, goes_on);
}

void CheckpointLocations::claim_locations_with(Take take, const std::function<bool()>& goes_on) {
  const auto pause = [&](Duration look) {
    std::this_thread::sleep_for(look);
    return goes_on();
  };
  const auto taken = (ownership_.get()->*take)(SystemClock(), pause);
  if (taken) return;
  if (taken.error().kind() == ErrorKind::kCancelled) throw Interrupted(taken.error().message());
  fail(exit_code_of(taken.error()), taken.error().message());
}

Result<checkpoint::Inventory> CheckpointLocations::inventory() const {
  const auto asked = tiers_.list_all_tiers();
  if (!asked) return asked.error();
  mirrors_->note_initial_checkpoints(*asked);
  auto merged = checkpoint::merge(*asked);
  if (!merged) return merged.error();
  checkpoint::Inventory found{.newest_attempt = merged->newest_attempt, .complete = {}, .damaged = {}};
  for (std::size_t i = 0; i < asked->size(); ++i)
    for (const std::string& path : (*asked)[i].found.foreign_paths)
      found.foreign_paths.insert(tiers_.all()[i].disk->shown(path));
  found.rollbacks = merged->rollbacks;
  found.given_up = merged->given_up;
  auto entries = checkpoint::entries_of(*merged, *asked);
  const auto damaged = entries.begin() + std::ssize(merged->complete);
  found.complete.assign(entries.begin(), damaged);
  found.damaged.assign(damaged, entries.end());
  return found;
}

Result<checkpoint::Inventory> CheckpointLocations::list_resumable() {
  auto found = inventory();
  if (!found) return found;
  auto plan = plan_rollback(options_, *found);
  if (!plan && plan.error().kind() == ErrorKind::kIo) return plan.error();
  if (!plan) fail(ExitCode::kConfiguration, plan.error().message());
  rollback_plan_ = *std::move(plan);
  foreign_paths_.insert(found->foreign_paths.begin(), found->foreign_paths.end());
  return restrict_to_plan(*std::move(found), rollback_plan_);
}

Result<void> CheckpointLocations::check_manifests_exist(const checkpoint::Inventory& listed) const {
  return check_no_manifests_lost(tiers_, options_, *calls_with_timeout_, listed);
}

Result<void> CheckpointLocations::record_rollbacks(const std::vector<checkpoint::Rollback>& in_force) {
  if (auto ours = ownership_->confirm_all_locations(); !ours) return ours;
  for (const checkpoint::Tier& tier : tiers_.all()) {
    const auto there = checkpoint::rollbacks_in(*tier.disk);
    if (!there) return there.error();
    for (auto one = in_force.rbegin(); one != in_force.rend(); ++one) {
      if (std::find(there->begin(), there->end(), *one) != there->end()) continue;
      if (auto made = checkpoint::record_rollback(*tier.disk, *one, random_hex_name()); !made) return made;
    }
  }
  for (const checkpoint::Tier& tier : tiers_.all()) {
    const auto moved = checkpoint::set_rolled_back_aside(*tier.disk, in_force, random_hex_name());
    // After a rollback, checkpoints of later steps are ignored, even if they cannot be moved away.
    if (!moved)
      events_->add("checkpoints of steps after the rollback could not be moved to the folder aside/ yet: " +
                   moved.error().message());
  }
  return {};
}

void CheckpointLocations::report_unknown_entries() {
  if (foreign_paths_.empty() || std::exchange(has_reported_unknown_entries_, true)) return;
  const std::size_t others = foreign_paths_.size() - 1;
  events_->add(
      *foreign_paths_.begin() +
      (others == 0 ? "" : ", as " + count_with_noun(others, "other name") + " here,") +
      " has a number that no run reaches: it is treated as a file of another program, and left unchanged");
}

void CheckpointLocations::begin_waiting() {
  if (keeps_claims_alive(options_)) ownership_->begin_waiting();
}

void CheckpointLocations::begin_attempt(const Assignment& assignment, const std::function<bool()>& goes_on) {
  if (assignment.rank.value() == 0) {  // an attempt that is over must not block the next one by its claim
    if (!goes_on()) throw Interrupted("the set of processes changed before rank 0 had claimed the locations");
    claim_locations(goes_on);
    if (ownership_->took_from_another_job())
      throw Interrupted("another job used " + tiers_.home().disk->shown("") +
                        " after its checkpoints were listed: they are listed again");
    report_unknown_entries();
  } else {
    if (const auto left = ownership_->leave_claims_to_others(); !left)
      fail(exit_code_of(left.error()), left.error().message());
  }
  // Stop the copies to stores that the previous attempt began, because rank 0 of this attempt continues them.
  const auto begin = [mirrors = mirrors_, assignment]() -> Result<void> {
    mirrors->begin_attempt(assignment);
    return {};
  };
  if (const auto begun = (*calls_with_timeout_)("ending copies", begin); !begun)
    fail(exit_code_of(begun.error()), begun.error().message());
}

checkpoint::SaveContext CheckpointLocations::save_context(const Assignment& assignment) const {
  const checkpoint::KeepRules rules = home_rules(options_);
  const std::uint64_t term = ownership_->term_at(*tiers_.home().disk);
  checkpoint::SaveContext world{
      .attempt = assignment.attempt,
      .rank = assignment.rank,
      .world_size = assignment.world_size,
      .rules = rules,
      .confirm_ownership =
          [ownership = std::weak_ptr(ownership_), home = tiers_.home().disk, term] {
            const auto still = ownership.lock();
            return still ? still->confirm(*home, term) : Result<void>();
          },
      .on_commit = [mirrors = mirrors_](const InventoryEntry& entry) { mirrors->note_committed(entry); },
      .may_clean_up = [rule = cleaning_rule(tiers_, options_, owner_, [term](const Disk&) { return term; }),
                       home = tiers_.home().disk] { return rule(*home); },
      .on_retired = [mirrors = mirrors_] { mirrors->remove_stale_links(); },
      .on_damage =
          [mirrors = mirrors_](const std::optional<InventoryEntry>& newest) { mirrors->go_back_to(newest); },
      .copies = [mirrors = mirrors_] { return mirrors->copies(); },
      .await_store_copies = [mirrors = mirrors_](const auto& id,
                                                 const auto& ticket) { mirrors->await(id, ticket); },
      .read_back =
          tiers_.home().store ? checkpoint::ReadBackScope::kHeaders : checkpoint::ReadBackScope::kAllBytes};
  if (rules.last != 0) return world;
  // With --keep-last=0, a checkpoint is removed from the folder when all stores have it. Of the checkpoints
  // that a store lacks, the folder keeps the newest two.
  world.rules.last = 2;
  world.find_store_copy = [mirrors = mirrors_](const CheckpointId& id) { return mirrors->find(id); };
  return world;
}

checkpoint::SaverOptions CheckpointLocations::saver_options() const {
  auto options = session::saver_options(options_);
  options.calls = calls_with_timeout_;
  options.owner = identity_;
  if (!options.slots_folder.empty()) {
    // Staging slots must be in memory, because the training thread copies into them, and a copy that waits
    // for a disk cannot be interrupted.
    const auto is_memory =
        (*calls_with_timeout_)("looking at " + options.slots_folder.string(),
                               [folder = options.slots_folder] { return checkpoint::is_in_memory(folder); });
    if (!is_memory) fail(exit_code_of(is_memory.error()), is_memory.error().message());
    if (!*is_memory) {
      events_->add(options.slots_folder.string() +
                   " is not in a memory file system such as /dev/shm: saves are staged in the process's own "
                   "memory and are lost if the process ends (--staging-folder)");
      options.slots_folder.clear();
    }
  }
  if (!options.slots_folder.empty() && tiers_.home().store == nullptr) {
    const auto mark = read_home_folder_hash(options_, *calls_with_timeout_);
    if (!mark) fail(exit_code_of(mark.error()), mark.error().message());
    options.location_hash = *mark;
  }
  options.location_hash = staging_mark(options.location_hash, ownership_->term_at(*tiers_.home().disk));
  if (const auto& store = tiers_.home().store) {
    options.pass_progress_callback = [store](std::function<void()> told) {
      store->set_progress_callback(std::move(told));
    };
  }
  return options;
}

Result<std::string> CheckpointLocations::restore(const Assignment& assignment, const Load& load) {
  const ResumePoint& point = *assignment.resume;
  const CheckpointId id{.attempt = point.attempt, .step = point.step};
  std::vector<std::pair<std::size_t, Error>> bad;
  for (std::size_t i = 0; i < tiers_.all().size(); ++i) {
    const checkpoint::Tier& tier = tiers_.all()[i];
    const auto run = checkpoint::RunStore::open(tier.disk, random_hex_name());
    if (!run) return run.error();
    checkpoint::ReadOptions reading{.readers = assignment.world_size};
    if (tier.store) reading.bytes_at_once = checkpoint::kExtentBytesMax;
    auto reader = run->read(point, assignment.rank, reading);
    const auto loaded = reader ? load(*reader) : Result<void>(reader.error());
    if (!loaded) {
      bad.emplace_back(i, loaded.error());
      if (loaded.error().kind() == ErrorKind::kCorrupted) damaged_copies_.emplace(id, i);
      continue;
    }
    if (!bad.empty()) {
      events_->add("the checkpoint of step " + std::to_string(id.step.value()) + " is read from " +
                   tier.disk->shown("") + ": " + bad.front().second.message());
      quarantine_checkpoint(id, bad.front().second.message());
    }
    has_restored_from_home_ = i == 0;
    if (i == 0)  // a copy may be missing: the previous process may have died while copying
      mirrors_->note_loaded({.tier = tier.kind_name,
                             .attempt = id.attempt,
                             .step = id.step,
                             .digest = point.digest,
                             .is_complete = true},
                            reader->run());
    return tier.kind_name;
  }
  return std::max_element(
             bad.begin(), bad.end(),
             [](const auto& a, const auto& b) { return error_priority(a.second) < error_priority(b.second); })
      ->second;
}

void CheckpointLocations::quarantine_checkpoint(const CheckpointId& id, const std::string& reason) const {
  for (const auto& [bad, tier] : damaged_copies_) {
    if (bad != id) continue;
    const auto run = checkpoint::RunStore::open(tiers_.all()[tier].disk, random_hex_name());
    const auto done = run ? run->quarantine_checkpoint(id, reason) : Result<void>(run.error());
    if (!done) events_->add("the damaged checkpoint cannot be set aside: " + done.error().message());
  }
}

}  // namespace ratoon::session
