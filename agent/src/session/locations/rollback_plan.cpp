#include "agent/src/session/locations/rollback_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/contract/resume_point.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kSkippedSamplesMax = 1ULL << 62;
constexpr std::size_t kListedStepsMax = 20;

// Returns a text with some of the newest steps that have checkpoints, in ascending order.
std::string describe_known_steps(const std::vector<InventoryEntry>& complete) {
  std::set<std::uint64_t> steps;
  for (const InventoryEntry& entry : complete) steps.insert(entry.step.value());
  if (steps.empty()) return "the run has no checkpoint";
  std::string text = steps.size() > kListedStepsMax ? "the run has, among others, steps" : "there are steps";
  auto step = steps.begin();
  if (steps.size() > kListedStepsMax) std::advance(step, steps.size() - kListedStepsMax);
  for (; step != steps.end(); ++step) text += " " + std::to_string(*step);
  return text;
}

}  // namespace

Result<void> check_rollback(const Options& o) {
  if (o.skip != 0 && !o.resume_from)
    return Error(ErrorKind::kInvalid,
                 "--skip needs --resume-from, because it skips the samples after the step of --resume-from");
  if (o.skip > kSkippedSamplesMax)
    return Error(ErrorKind::kInvalid, "--skip must be at most 2^62, found '" + std::to_string(o.skip) + "'");
  if (o.resume_from && !o.autoresume)
    return Error(ErrorKind::kInvalid,
                 "--resume-from goes back to a step of the run, but --autoresume false does not resume the "
                 "run: leave one of the two flags out");
  if (o.resume_from && o.overwrite)
    return Error(ErrorKind::kInvalid,
                 "--resume-from goes back to a step of the run, but --overwrite begins the run again at step "
                 "0: leave one of the two flags out");
  return {};
}

std::optional<RollbackRequest> requested_rollback(const Options& o) {
  if (!o.resume_from) return std::nullopt;
  return RollbackRequest{.resume_from = Step(*o.resume_from), .skip = o.skip};
}

Result<RollbackPlan> plan_rollback(const Options& options, const checkpoint::Inventory& found) {
  RollbackPlan plan{.earlier_rollbacks = checkpoint::rollbacks_in_force(found.rollbacks)};
  if (!options.resume_from) return plan;
  const auto is_requested = [&](const checkpoint::Rollback& one) {
    return one.to.step.value() == *options.resume_from && one.skip == options.skip;
  };
  const auto made = std::find_if(plan.earlier_rollbacks.begin(), plan.earlier_rollbacks.end(), is_requested);
  if (made != plan.earlier_rollbacks.end()) {
    plan.existing_rollback = *made;
    return plan;
  }
  const auto is_there = [&](const InventoryEntry& entry) {
    return entry.step.value() == *options.resume_from;
  };
  const auto newest = std::find_if(found.complete.begin(), found.complete.end(), is_there);
  if (newest == found.complete.end()) {
    // A manifest that the disk does not return at present may be intact.
    const bool is_unreadable = std::ranges::any_of(found.damaged, [&](const InventoryEntry& entry) {
      return is_there(entry) && entry.digest == checkpoint::kUnreadable;
    });
    const std::string flag = "--resume-from " + std::to_string(*options.resume_from);
    if (is_unreadable)
      return Error(ErrorKind::kIo, flag + ": the disk does not return the manifest of that step");
    return Error(ErrorKind::kNotFound, flag + ": the run has no checkpoint of that step that can be read; " +
                                           describe_known_steps(found.complete));
  }
  plan.to = checkpoint::id_of(*newest);
  return plan;
}

checkpoint::Inventory restrict_to_plan(checkpoint::Inventory found, const RollbackPlan& plan) {
  if (!plan.to) return found;
  std::vector<InventoryEntry> others;
  for (const InventoryEntry& entry : std::exchange(found.complete, {})) {
    if (checkpoint::id_of(entry) == *plan.to)
      found.complete.push_back(entry);
    else
      others.push_back(checkpoint::entry_of(checkpoint::id_of(entry), kAbandonedDigest, false));
  }
  found.given_up.insert(found.given_up.begin(), others.begin(), others.end());
  return found;
}

history::Row row_of(const RollbackStart& passed, WallTime at) {
  history::Row row{.kind = "rollback", .step = passed.rollback.to.step.value(), .at = at};
  row.values["attempt"] = static_cast<double>(passed.rollback.attempt.value());
  if (passed.from == passed.to) return row;
  row.values["skipped_from"] = static_cast<double>(passed.from);
  row.values["skipped_to"] = static_cast<double>(passed.to);
  return row;
}

std::vector<checkpoint::Rollback> append_rollback(const RollbackPlan& plan,
                                                  const checkpoint::Rollback& made) {
  auto all = plan.earlier_rollbacks;
  all.push_back(made);
  return checkpoint::rollbacks_in_force(std::move(all));
}

}  // namespace ratoon::session
