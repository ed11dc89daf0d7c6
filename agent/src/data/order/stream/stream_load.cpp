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

using data::Difference;
using data::Subject;

[[noreturn]] void refuse_load(const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "the state of the sample stream does not fit: " + why);
}

std::string name_of(Subject subject) {
  switch (subject) {
    case Subject::kOrder:
      return "order";
    case Subject::kSeed:
      return "seed";
    case Subject::kSources:
      return "sources";
    case Subject::kGlobalBatch:
      return "global_batch";
    case Subject::kWeights:
      return "weights";
  }
  return "";
}

void check_accepted(const Difference& difference, const StreamOverride& accepted) {
  if (data::is_accepted(accepted, difference.subject)) return;
  refuse_load("in the checkpoint " + difference.what + " is " + difference.was +
              ", but in the program it is " + difference.is +
              ". Train with the settings with which the run began, begin a run of another name, or allow the "
              "difference with Stream::accept({." +
              name_of(difference.subject) + " = true})");
}

bool has(const std::vector<Difference>& differences, Subject subject) {
  for (const Difference& difference : differences)
    if (difference.subject == subject) return true;
  return false;
}

// If the order, the seed or the sources changed, makes a new plan that begins at the cursor, the next slot of
// the stream.
data::Plan replan(const data::StoredStream& stored, std::shared_ptr<const data::Recipe> recipe,
                  bool is_other_batch) {
  const std::uint64_t global_batch =
      is_other_batch ? recipe->global_batch : stored.segments.back().global_batch;
  if (!data::makes_batches(*recipe, global_batch))
    refuse_load(
        "a global batch of " + std::to_string(global_batch) +
        " is above the samples of an epoch, and incomplete batches are dropped: choose a smaller one");
  data::Plan plan = data::begin_plan(std::move(recipe), stored.cursor, stored.batches, global_batch);
  plan.first_known = plan.last().start;
  return plan;
}

data::Plan plan_of(const data::StoredStream& stored, const std::shared_ptr<const data::Recipe>& recipe,
                   const std::vector<Difference>& differences) {
  const bool is_other_batch = has(differences, Subject::kGlobalBatch);
  if (has(differences, Subject::kOrder) || has(differences, Subject::kSeed) ||
      has(differences, Subject::kSources))
    return replan(stored, recipe, is_other_batch);
  data::Plan plan = data::restore_plan(stored, recipe);
  if (is_other_batch) plan = data::with_global_batch(std::move(plan), stored.batches, recipe->global_batch);
  if (has(differences, Subject::kWeights))
    plan = data::with_weights(std::move(plan), stored.batches, recipe->weights);
  return plan;
}

}  // namespace

std::string Stream::save_state() const {
  data::StoredStream stream = data::store_recipe(*reader_.plan_->recipe);
  stream.segments = data::store_segments(*reader_.plan_);
  stream.first_known = reader_.plan_->first_known;
  stream.cursor = cursor_;
  stream.batches = batches_;
  stream.digest = digest_;
  stream.accepted = differences_;
  return data::encode_stream(stream);
}

void Stream::load_state(std::string_view state) {
  const std::shared_ptr<const data::Recipe>& recipe = reader_.plan_->recipe;
  data::StoredStream stored = data::decode_stream(state);
  const std::vector<Difference> differences = data::differences_between(stored, data::store_recipe(*recipe));
  for (const Difference& difference : differences) {
    check_accepted(difference, accepted_);
    if (stored.accepted.size() == data::kAcceptedMax)
      refuse_load("the stream was loaded with other options " + std::to_string(data::kAcceptedMax) +
                  " times, which is the most that it keeps: begin a run of another name");
    stored.accepted.push_back(
        {.slot = stored.cursor, .what = difference.what, .was = difference.was, .is = difference.is});
  }
  data::Plan plan;
  try {
    plan = plan_of(stored, recipe, differences);
  } catch (const std::out_of_range& beyond) {  // a position that no stream can reach
    refuse_load(beyond.what());
  }
  batches_ = stored.batches;
  digest_ = stored.digest;
  differences_ = std::move(stored.accepted);
  use(std::move(plan));
  note_load();
}

}  // namespace ratoon
