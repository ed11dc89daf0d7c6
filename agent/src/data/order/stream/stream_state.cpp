#include "agent/src/data/order/stream/stream_state.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"
#include "base/contract/fields.h"
#include "base/contract/state_digest.h"
#include "base/core/hex.h"

namespace ratoon::data {
namespace {

using nlohmann::json;

constexpr std::size_t kStateBytesMax = 32 * 1024 * 1024;
constexpr int kStateDepthMax = 4;
constexpr std::size_t kDigestDigits = 16;
constexpr std::size_t kShortTextBytesMax = 64;
constexpr std::size_t kOrderBytesMax = 128;
constexpr std::size_t kValueBytesMax = 512;
// The maximum number of bytes of all source names in a saved state, including quotes and commas.
constexpr std::size_t kAllSourceNamesBytesMax = 512;

[[noreturn]] void refuse_state(const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration),
                "the state of the sample stream cannot be read: " + why);
}

// The keys of empty lists may be missing, because an empty list has no key in the saved state.
void check_state_is_complete(std::string_view text, const json& body) {
  const std::string damage =
      find_damage(text, body,
                  {"order", "epoch_end", "seed", "global_batch", "sources", "segments", "cursor", "batches",
                   "digest", "accepted", "window_shards", "first_known"});
  if (!damage.empty()) refuse_state(damage);
}

std::uint64_t read_digest(Fields& f) {
  const std::string text = f.text("digest", kDigestDigits);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_hex = problem == std::errc() && end == text.data() + text.size();
  if (!is_hex || to_hex(value) != text) f.complain("digest", "16 hexadecimal digits");
  return value;
}

template <class T>
std::vector<T> read_numbers(Fields& f, const char* name, std::uint64_t max) {
  std::vector<T> numbers;
  for (const json& item : f.list(name, kSourcesMax)) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > max) {
      f.complain(name, "a list of whole numbers up to " + std::to_string(max));
      break;
    }
    numbers.push_back(item.get<T>());
  }
  return numbers;
}

void read_sources(Fields f, StoredStream& stream) {
  stream.sources_digest = read_digest(f);
  stream.samples = read_numbers<std::uint64_t>(f, "samples", kSlotsMax);
  stream.weights = read_numbers<std::uint32_t>(f, "weights", kMixtureBlockSlots);
  for (const json& item : f.list("names", kSourcesMax)) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > kSourceNameBytesMax) {
      f.complain("names", "a list of texts of at most " + std::to_string(kSourceNameBytesMax) + " bytes");
      break;
    }
    stream.names.push_back(item.get<std::string>());
  }
  if (stream.samples.empty()) f.complain("samples", "at least one number");
  if (stream.weights.size() != stream.samples.size())
    f.complain("weights", "as many items as there are samples");
  if (!stream.names.empty() && stream.names.size() != stream.samples.size())
    f.complain("names", "as many items as there are samples, or none");
}

StoredSegment read_segment(Fields f) {
  return {.previous_end = f.whole("from", kSlotsMax),
          .start = f.whole("start", kSlotsMax),
          .first_batch = f.whole("batch", kSlotsMax),
          .global_batch = f.whole("global_batch", kGlobalBatchMax),
          .requested_start =
              f.find("asked") == nullptr ? std::nullopt : std::optional(f.whole("asked", kSlotsMax)),
          .weights = read_numbers<std::uint32_t>(f, "weights", kMixtureBlockSlots)};
}

AcceptedDifference read_accepted_difference(Fields f) {
  return {.slot = f.whole("slot", kSlotsMax),
          .what = f.text("what", kShortTextBytesMax),
          .was = f.optional_text("was", kValueBytesMax),
          .is = f.optional_text("is", kValueBytesMax)};
}

json to_json(const StoredSegment& segment) {
  json body = {{"from", segment.previous_end},
               {"start", segment.start},
               {"batch", segment.first_batch},
               {"global_batch", segment.global_batch}};
  if (segment.requested_start) body["asked"] = *segment.requested_start;
  if (!segment.weights.empty()) body["weights"] = segment.weights;
  return body;
}

// Returns true if the names of all sources together are short enough to be saved. If the names are too long,
// only their digest is saved.
bool do_names_fit_state(const std::vector<RecipeSource>& sources) {
  std::size_t bytes = 0;
  for (const RecipeSource& source : sources) bytes += json(source.name).dump().size() + 1;
  return bytes <= kAllSourceNamesBytesMax;
}

std::shared_ptr<const Mixture> restore_mixture(const StoredSegment& segment, const Plan& before,
                                               const std::vector<std::uint32_t>& weights) {
  const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  if (weights.size() != before.recipe->sources.size() || total != kMixtureBlockSlots)
    refuse_state("the weights of a segment must have one number for each source and sum to " +
                 std::to_string(kMixtureBlockSlots));
  Mixture mixture{.origin = 0,
                  .weights = weights,
                  .draws_before_first_slot = std::vector<std::uint64_t>(weights.size(), 0)};
  if (!before.segments.empty()) {
    mixture.origin = segment.start;
    mixture.draws_before_first_slot = source_draws_before(before, segment.start);
  }
  return std::make_shared<const Mixture>(std::move(mixture));
}

void check_segment(const Plan& before, const Segment& segment) {
  const BatchRule cut = before.batch_rule(segment);
  bool is_sound = can_make_batches(*before.recipe, segment.global_batch) &&
                  cut.next_batch_start(segment.start) == segment.start &&
                  cut.next_batch_start(segment.requested_start) == segment.start;
  if (before.segments.empty()) {
    is_sound = is_sound && segment.previous_end == segment.start;
  } else {
    is_sound = is_sound && segment.first_batch >= before.last_segment().first_batch &&
               segment.requested_start >= segment.previous_end &&
               before.cursor_after(segment.first_batch) == segment.previous_end;
  }
  if (!is_sound)
    refuse_state("the segment from slot " + std::to_string(segment.previous_end) +
                 " does not follow from the previous segment");
}

}  // namespace

std::string encode_stream(const StoredStream& stream) {
  json segments = json::array();
  for (const StoredSegment& segment : stream.segments) segments.push_back(to_json(segment));
  json accepted = json::array();
  for (const AcceptedDifference& each : stream.accepted_differences)
    accepted.push_back({{"slot", each.slot}, {"what", each.what}, {"was", each.was}, {"is", each.is}});
  json sources = {
      {"digest", to_hex(stream.sources_digest)}, {"samples", stream.samples}, {"weights", stream.weights}};
  if (!stream.names.empty()) sources["names"] = stream.names;
  json body = {{"order", stream.order},
               {"epoch_end", stream.epoch_end},
               {"seed", stream.seed},
               {"global_batch", stream.global_batch},
               {"sources", std::move(sources)},
               {"segments", std::move(segments)},
               {"cursor", stream.cursor},
               {"batches", stream.batches},
               {"digest", to_hex(stream.digest)}};
  if (stream.window_shards != 0) body["window_shards"] = stream.window_shards;
  if (stream.first_known_slot != 0) body["first_known"] = stream.first_known_slot;
  if (!stream.accepted_differences.empty()) body["accepted"] = std::move(accepted);
  return encode_state_with_digest(std::move(body));
}

StoredStream decode_stream(std::string_view text) {
  const Result<json> body = parse_json(text, kStateBytesMax, kStateDepthMax);
  if (!body) refuse_state(body.error().message());
  check_state_is_complete(text, *body);
  std::optional<Error> complaint;
  Fields f(*body, "stream", complaint);
  constexpr std::uint64_t kUint64Max = std::numeric_limits<std::uint64_t>::max();
  check_state_format(f);
  StoredStream stream;
  stream.order = f.text("order", kOrderBytesMax);
  stream.epoch_end = f.text("epoch_end", kShortTextBytesMax);
  stream.window_shards = f.optional_whole_number("window_shards", kUint64Max);
  stream.seed = f.whole("seed", kUint64Max);
  stream.global_batch = f.whole("global_batch", kGlobalBatchMax);
  read_sources(f.object("sources"), stream);
  for (const json& item : f.list("segments", kSegmentsMax))
    stream.segments.push_back(read_segment(f.child(item, "segments[]")));
  if (stream.segments.empty()) f.complain("segments", "at least one");
  stream.cursor = f.whole("cursor", kSlotsMax);
  stream.batches = f.whole("batches", kSlotsMax);
  stream.digest = read_digest(f);
  stream.first_known_slot = f.optional_whole_number("first_known", kSlotsMax);
  for (const json& item : f.list("accepted", kAcceptedDifferencesMax))
    stream.accepted_differences.push_back(read_accepted_difference(f.child(item, "accepted[]")));
  if (complaint) refuse_state(complaint->message());
  return stream;
}

StoredStream store_recipe(const Recipe& recipe) {
  StoredStream stream;
  stream.order = name_of_order(recipe);
  stream.epoch_end = name_of(recipe.epoch_end);
  stream.window_shards = recipe.window_shards;
  stream.seed = recipe.seed;
  stream.global_batch = recipe.global_batch;
  stream.sources_digest = digest_of(recipe.sources);
  stream.weights = recipe.weights;
  const bool has_names = do_names_fit_state(recipe.sources);
  for (const RecipeSource& source : recipe.sources) {
    stream.samples.push_back(source.samples);
    if (has_names) stream.names.push_back(source.name);
  }
  return stream;
}

std::vector<StoredSegment> store_segments(const Plan& plan) {
  std::vector<StoredSegment> stored;
  const Mixture* before = nullptr;
  for (const Segment& segment : plan.segments) {
    stored.push_back({.previous_end = segment.previous_end,
                      .start = segment.start,
                      .first_batch = segment.first_batch,
                      .global_batch = segment.global_batch,
                      .requested_start = std::nullopt,
                      .weights = {}});
    if (segment.requested_start != default_requested_start(plan, segment))
      stored.back().requested_start = segment.requested_start;
    const bool is_news = segment.mixture.get() != before &&
                         (before != nullptr || segment.mixture->weights != plan.recipe->weights);
    if (is_news) stored.back().weights = segment.mixture->weights;
    before = segment.mixture.get();
  }
  return stored;
}

Plan restore_plan(const StoredStream& stored, std::shared_ptr<const Recipe> recipe) {
  Plan plan{.recipe = std::move(recipe), .segments = {}, .first_known_slot = stored.first_known_slot};
  for (const StoredSegment& from : stored.segments) {
    Segment segment{.previous_end = from.previous_end,
                    .start = from.start,
                    .requested_start = from.start,
                    .first_batch = from.first_batch,
                    .global_batch = from.global_batch,
                    .mixture = plan.segments.empty() ? nullptr : plan.last_segment().mixture};
    if (can_make_batches(*plan.recipe, segment.global_batch))
      segment.requested_start = from.requested_start.value_or(default_requested_start(plan, segment));
    check_segment(plan, segment);
    if (plan.recipe->is_mixture()) {
      if (!from.weights.empty())
        segment.mixture = restore_mixture(from, plan, from.weights);
      else if (plan.segments.empty())
        segment.mixture = restore_mixture(from, plan, stored.weights);
    } else if (!from.weights.empty()) {
      refuse_state("a segment has weights, but there is one source");
    }
    plan.segments.push_back(std::move(segment));
  }
  const bool is_known =
      stored.first_known_slot == 0 || stored.first_known_slot == plan.segments.front().start;
  if (!is_known || stored.batches < plan.last_segment().first_batch ||
      plan.cursor_after(stored.batches) != stored.cursor)
    refuse_state("the cursor at slot " + std::to_string(stored.cursor) + " is not where " +
                 std::to_string(stored.batches) + " batches end");
  return plan;
}

}  // namespace ratoon::data
