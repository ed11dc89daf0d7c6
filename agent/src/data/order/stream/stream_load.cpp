// Saves and loads the state of a Stream.
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

#include "agent/src/data/order/stream/stream_differences.h"
#include "agent/src/data/order/stream/stream_plan.h"
#include "agent/src/data/order/stream/stream_state.h"
#include "base/contract/exit_code.h"

namespace ratoon {
namespace {

using data::DifferenceSubject;
using data::StreamDifference;

[[noreturn]] void refuse_load(const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "the state of the sample stream does not fit: " + why);
}

std::string name_of(DifferenceSubject subject) {
  switch (subject) {
    case DifferenceSubject::kOrder:
      return "order";
    case DifferenceSubject::kSeed:
      return "seed";
    case DifferenceSubject::kSources:
      return "sources";
    case DifferenceSubject::kGlobalBatch:
      return "global_batch";
    case DifferenceSubject::kWeights:
      return "weights";
  }
  return "";
}

void check_difference_is_allowed(const StreamDifference& difference, const StreamOverride& accepted) {
  if (data::is_override_allowed(accepted, difference.subject)) return;
  refuse_load("in the checkpoint " + difference.setting_name + " is " + difference.saved_value +
              ", but in the program it is " + difference.program_value +
              ". Train with the settings with which the run began, begin a run of another name, or allow the "
              "difference with Stream::accept({." +
              name_of(difference.subject) + " = true})");
}

bool has_difference(const std::vector<StreamDifference>& differences, DifferenceSubject subject) {
  for (const StreamDifference& difference : differences)
    if (difference.subject == subject) return true;
  return false;
}

// If the order, the seed or the sources changed, makes a new plan that begins at the cursor, the next slot of
// the stream.
data::Plan restart_plan_at_cursor(const data::StoredStream& stored,
                                  std::shared_ptr<const data::Recipe> recipe, bool is_other_batch) {
  const std::uint64_t global_batch =
      is_other_batch ? recipe->global_batch : stored.segments.back().global_batch;
  if (!data::can_make_batches(*recipe, global_batch))
    refuse_load(
        "a global batch of " + std::to_string(global_batch) +
        " is larger than an epoch, so the stream would drop every batch: choose a smaller global batch");
  data::Plan plan = data::begin_plan(std::move(recipe), stored.cursor, stored.batches, global_batch);
  plan.first_known_slot = plan.last_segment().start;
  return plan;
}

data::Plan restored_plan_of(const data::StoredStream& stored,
                            const std::shared_ptr<const data::Recipe>& recipe,
                            const std::vector<StreamDifference>& differences) {
  const bool is_other_batch = has_difference(differences, DifferenceSubject::kGlobalBatch);
  if (has_difference(differences, DifferenceSubject::kOrder) ||
      has_difference(differences, DifferenceSubject::kSeed) ||
      has_difference(differences, DifferenceSubject::kSources))
    return restart_plan_at_cursor(stored, recipe, is_other_batch);
  data::Plan plan = data::restore_plan(stored, recipe);
  if (is_other_batch) plan = data::with_global_batch(std::move(plan), stored.batches, recipe->global_batch);
  if (has_difference(differences, DifferenceSubject::kWeights))
    plan = data::with_weights(std::move(plan), stored.batches, recipe->weights);
  return plan;
}

}  // namespace

std::string Stream::save_state() const {
  data::StoredStream stream = data::store_recipe(*reader_.plan_->recipe);
  stream.segments = data::store_segments(*reader_.plan_);
  stream.first_known_slot = reader_.plan_->first_known_slot;
  stream.cursor = cursor_;
  stream.batches = batches_;
  stream.digest = digest_;
  stream.accepted_differences = accepted_differences_;
  return data::encode_stream(stream);
}

void Stream::load_state(std::string_view state) {
  const std::shared_ptr<const data::Recipe>& recipe = reader_.plan_->recipe;
  data::StoredStream stored = data::decode_stream(state);
  const std::vector<StreamDifference> differences =
      data::differences_between(stored, data::store_recipe(*recipe));
  for (const StreamDifference& difference : differences) {
    check_difference_is_allowed(difference, allowed_differences_);
    if (stored.accepted_differences.size() == data::kAcceptedDifferencesMax)
      refuse_load("options of the stream were changed " + std::to_string(data::kAcceptedDifferencesMax) +
                  " times, and its state has no room for more changes: begin a run of another name");
    stored.accepted_differences.push_back({.slot = stored.cursor,
                                           .what = difference.setting_name,
                                           .was = difference.saved_value,
                                           .is = difference.program_value});
  }
  data::Plan plan;
  try {
    plan = restored_plan_of(stored, recipe, differences);
  } catch (const std::out_of_range& beyond) {  // a position that no stream can reach
    refuse_load(beyond.what());
  }
  batches_ = stored.batches;
  digest_ = stored.digest;
  accepted_differences_ = std::move(stored.accepted_differences);
  use(std::move(plan));
  note_load();
}

}  // namespace ratoon
