#include "agent/src/checkpoint/format/manifest.h"

#include <algorithm>
#include <limits>

#include "agent/src/checkpoint/format/sealed_json.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "base/contract/fields.h"

namespace ratoon::checkpoint {
namespace {

using nlohmann::json;

constexpr std::uint64_t kManifestFormat = 2;
constexpr std::uint64_t kManifestCountMax = (1ULL << 53) - 1;
constexpr std::size_t kRanksMax = 65536;
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kWriterBytesMax = 200;
constexpr std::size_t kTensorNameBytesMax = 64 * 1024;

json to_json(const CheckpointId& id) {
  return {{"attempt", id.attempt.value()}, {"step", id.step.value()}};
}

json to_json(const TensorInParts& tensor) {
  json parts = json::array();
  for (const PartRecord& part : tensor.parts) {
    json one = to_json(part.saved_in);
    one["header_bytes"] = part.header_bytes;
    one["header_digest"] = part.header_digest;
    one["rows_digest"] = to_hex(part.rows_digest);
    parts.push_back(std::move(one));
  }
  return {{"name", tensor.name},
          {"dtype", safetensors_name(tensor.type)},
          {"shape", tensor.shape},
          {"rows_per_part", tensor.rows_per_part},
          {"parts", std::move(parts)}};
}

json to_json(const PackRecord& pack) {
  json body = {{"rank", pack.rank.value()},
               {"size_bytes", pack.size_bytes},
               {"header_bytes", pack.header_bytes},
               {"header_digest", pack.header_digest}};
  if (!pack.owner.empty()) body["owner"] = pack.owner;
  for (const TensorInParts& tensor : pack.tensors_in_parts) body["in_parts"].push_back(to_json(tensor));
  if (pack.parts_base_checkpoint) body["parts_base"] = to_json(*pack.parts_base_checkpoint);
  return body;
}

json to_json(const Numerics& numerics) {
  return {{"library", numerics.library},
          {"device", numerics.device},
          {"cpu_capability", numerics.cpu_capability},
          {"threads", numerics.threads},
          {"deterministic", numerics.is_deterministic}};
}

json to_json(const PendingRequests& requests) {
  json body = json::object();
  if (requests.save) body["save"] = true;
  if (!requests.keep.empty()) body["keep"] = requests.keep;
  if (!requests.finish.empty()) body["finish"] = requests.finish;
  return body;
}

json to_json(const BestCheckpointList& best) {
  json kept = json::array();
  for (const BestCheckpoint& one : best.kept)
    kept.push_back(
        {{"attempt", one.id.attempt.value()}, {"step", one.id.step.value()}, {"value", one.value}});
  return {{"name", best.name}, {"keep", best.keep}, {"kept", std::move(kept)}};
}

// The counts of a run (of samples, for example) may exceed the greatest number that a reader accepts. The
// writer writes this greatest number in place of a count above it, so that the save succeeds.
json to_json(const RunRecord& run) {
  json body = {{"batches", std::min(run.batches, kManifestCountMax)},
               {"samples", std::min(run.samples, kManifestCountMax)},
               {"epoch_samples", std::min(run.epoch_samples, kManifestCountMax)},
               {"trained_nanoseconds", std::min(run.trained_nanoseconds, kTrainedNanosecondsMax)}};
  if (run.history_attempt != 0)
    body["history"] = {{"attempt", std::min(run.history_attempt, kManifestCountMax)},
                       {"bytes", std::min(run.history_bytes, kManifestCountMax)}};
  if (run.early_end) body["finished"] = {{"reason", run.early_end->reason}, {"until", run.early_end->until}};
  if (run.numerics) body["numerics"] = to_json(*run.numerics);
  if (run.seed) body["seed"] = *run.seed;
  if (!run.keep.empty()) body["keep"] = run.keep;
  if (!run.requests.is_empty()) body["wishes"] = to_json(run.requests);
  for (const BestCheckpointList& best : run.best) body["best"].push_back(to_json(best));
  for (const UnpinnedStep& one : run.unpinned)
    body["unpinned"].push_back({{"step", one.step},
                                {"since_attempt", one.since.attempt.value()},
                                {"since_step", one.since.step.value()}});
  if (run.begins_epoch) body["begins_epoch"] = true;
  return body;
}

// A text that is read may be 3 times as long as its limit: the writer replaces each byte that is not UTF-8 by
// U+FFFD, which takes three bytes.
std::string read_text(Fields& f, const char* name, std::size_t bytes_max) {
  return f.optional_text(name, 3 * bytes_max);
}

Numerics read_numerics(Fields f) {
  return {.library = read_text(f, "library", kNumericsTextBytesMax),
          .device = read_text(f, "device", kNumericsTextBytesMax),
          .cpu_capability = read_text(f, "cpu_capability", kNumericsTextBytesMax),
          .threads = static_cast<std::uint32_t>(f.optional_whole_number("threads", 0xffffffffU)),
          .is_deterministic = f.flag("deterministic")};
}

PendingRequests read_pending_requests(Fields f) {
  return {.save = f.flag("save"),
          .keep = read_text(f, "keep", kReasonBytesMax),
          .finish = read_text(f, "finish", kReasonBytesMax)};
}

BestCheckpointList read_best_list(Fields f) {
  BestCheckpointList best{.name = f.text("name", kBestNameBytesMax), .keep = f.whole("keep", kBestKeptMax)};
  for (const auto& item : f.list("kept", kBestKeptMax + kBestSpareEntries)) {
    Fields one = f.child(item, "kept[]");
    const json* const value = one.find("value");
    if (value == nullptr || !value->is_number()) one.complain("value", "a number");
    best.kept.push_back({.id = {.attempt = Attempt(one.whole("attempt", kAttemptMax)),
                                .step = Step(one.whole("step", kNumberMax))},
                         .value = value != nullptr && value->is_number() ? value->get<double>() : 0});
  }
  if (best.kept.empty()) f.complain("kept", "at least one checkpoint");
  return best;
}

// Returns nothing if the JSON has no run record: older versions of Ratoon wrote none, and most receipts of
// ranks other than 0 have none.
std::optional<RunRecord> read_run(Fields& parent) {
  if (parent.find("run") == nullptr) return std::nullopt;
  Fields f = parent.object("run");
  RunRecord run;
  run.batches = f.whole("batches", kManifestCountMax);
  run.samples = f.whole("samples", kManifestCountMax);
  run.epoch_samples = f.whole("epoch_samples", kManifestCountMax);
  run.trained_nanoseconds = f.whole("trained_nanoseconds", std::numeric_limits<std::uint64_t>::max());
  if (f.find("history") != nullptr) {
    Fields history = f.object("history");
    run.history_attempt = history.whole("attempt", kManifestCountMax);
    run.history_bytes = history.whole("bytes", kManifestCountMax);
  }
  if (f.find("finished") != nullptr) {
    Fields finished = f.object("finished");
    run.early_end = EarlyEnd{.reason = read_text(finished, "reason", kReasonBytesMax),
                             .until = read_text(finished, "until", kPlannedEndBytesMax)};
  }
  if (f.find("numerics") != nullptr) run.numerics = read_numerics(f.object("numerics"));
  if (f.find("seed") != nullptr) run.seed = f.whole("seed", std::numeric_limits<std::uint64_t>::max());
  run.keep = read_text(f, "keep", kReasonBytesMax);
  if (f.find("wishes") != nullptr) run.requests = read_pending_requests(f.object("wishes"));
  for (const auto& item : f.list("best", kBestNamesMax))
    run.best.push_back(read_best_list(f.child(item, "best[]")));
  for (const auto& item : f.list("unpinned", kUnpinnedMax)) {
    Fields one = f.child(item, "unpinned[]");
    run.unpinned.push_back({.step = one.whole("step", kNumberMax),
                            .since = {.attempt = Attempt(one.whole("since_attempt", kAttemptMax)),
                                      .step = Step(one.whole("since_step", kNumberMax))}});
  }
  run.begins_epoch = f.flag("begins_epoch");
  return run;
}

// Returns an error for a training time that is longer than any run: the text is then damaged although its
// checksum is right.
Result<void> check_trained_time(const std::optional<RunRecord>& run, const std::string& whose) {
  if (!run || run->trained_nanoseconds <= kTrainedNanosecondsMax) return {};
  return Error(ErrorKind::kCorrupted, whose + ".run.trained_nanoseconds is " +
                                          std::to_string(run->trained_nanoseconds) +
                                          ", and no run has trained for more than 146 years");
}

CheckpointId read_id(Fields& f) {
  return {.attempt = Attempt(f.whole("attempt", kAttemptMax)), .step = Step(f.whole("step", kNumberMax))};
}

PartRecord read_part(Fields f) {
  PartRecord part{.saved_in = read_id(f),
                  .header_bytes = f.whole("header_bytes", kManifestCountMax),
                  .header_digest = f.text("header_digest", kDigestBytes)};
  if (!parse_hash128(part.header_digest)) f.complain("header_digest", "32 hexadecimal digits");
  const auto rows = parse_hash128(f.text("rows_digest", kDigestBytes));
  if (rows)
    part.rows_digest = *rows;
  else
    f.complain("rows_digest", "32 hexadecimal digits");
  return part;
}

TensorInParts read_tensor_in_parts(Fields f) {
  TensorInParts tensor{.name = f.text("name", kTensorNameBytesMax)};
  if (const auto type = element_type_named(f.text("dtype", kDigestBytes)))
    tensor.type = *type;
  else
    f.complain("dtype", "an element type of safetensors");
  for (const json& length : f.list("shape", kDimensionsMax)) {
    if (!length.is_number_unsigned()) f.complain("shape", "whole numbers");
    tensor.shape.push_back(length.is_number_unsigned() ? length.get<std::uint64_t>() : 0);
  }
  tensor.rows_per_part = f.whole("rows_per_part", kManifestCountMax);
  for (const auto& item : f.list("parts", kPartsMax))
    tensor.parts.push_back(read_part(f.child(item, "parts[]")));
  const auto bytes = count_bytes(tensor.type, tensor.shape);
  const std::uint64_t rows = tensor.shape.empty() ? 0 : tensor.shape.front();
  if (!bytes || rows == 0 || tensor.rows_per_part == 0 ||
      (rows - 1) / std::max<std::uint64_t>(tensor.rows_per_part, 1) + 1 != tensor.parts.size())
    f.complain("parts", "as many parts as the shape and rows_per_part need");
  return tensor;
}

PackRecord read_pack(Fields f) {
  PackRecord pack;
  pack.rank = Rank(static_cast<std::uint32_t>(f.whole("rank", kRanksMax - 1)));
  pack.size_bytes = f.whole("size_bytes", kManifestCountMax);
  pack.header_bytes = f.whole("header_bytes", kManifestCountMax);
  pack.header_digest = f.text("header_digest", kDigestBytes);
  pack.owner = f.optional_text("owner", kOwnerBytesMax);
  for (const auto& item : f.list("in_parts", kPartsMax))
    pack.tensors_in_parts.push_back(read_tensor_in_parts(f.child(item, "in_parts[]")));
  if (f.find("parts_base") != nullptr) {
    Fields base = f.object("parts_base");
    pack.parts_base_checkpoint = read_id(base);
  }
  return pack;
}

void check_format(Fields& f) {
  if (f.whole("format", kManifestCountMax) != kManifestFormat)
    f.complain("format", "2, the format of this version; use the Ratoon that wrote it");
}

}  // namespace

std::optional<std::string> find_two_owners(std::span<const PackRecord> packs) {
  const PackRecord* first = nullptr;
  for (const PackRecord& pack : packs) {
    if (pack.owner.empty()) continue;
    if (first == nullptr) first = &pack;
    if (pack.owner == first->owner) continue;
    return "the packs are of two jobs: the pack of rank " + std::to_string(first->rank.value()) +
           " was written by " + first->owner + " and that of rank " + std::to_string(pack.rank.value()) +
           " by " + pack.owner + "; each job needs a --run-name of its own";
  }
  return std::nullopt;
}

std::string owner_of(std::span<const PackRecord> packs) {
  for (const PackRecord& pack : packs)
    if (!pack.owner.empty()) return pack.owner;
  return "";
}

std::string encode_receipt(const PackRecord& receipt) {
  json body = {{"format", kManifestFormat}, {"pack", to_json(receipt)}};
  if (receipt.run) body["run"] = to_json(*receipt.run);
  return encode_with_checksum(body);
}

Result<PackRecord> decode_receipt(std::string_view text) {
  Result<json> body = decode_with_checksum(text, kManifestBytesMax);
  if (!body) return body.error();
  std::optional<Error> complaint;
  Fields f(*body, "receipt", complaint);
  check_format(f);
  PackRecord receipt = read_pack(f.object("pack"));
  receipt.run = read_run(f);
  if (complaint) return *complaint;
  if (auto checked = check_trained_time(receipt.run, "receipt"); !checked) return checked.error();
  return receipt;
}

std::string encode_manifest(const Manifest& manifest) {
  json packs = json::array();
  for (const auto& pack : manifest.packs) packs.push_back(to_json(pack));
  json body = {{"format", kManifestFormat},
               {"attempt", manifest.id.attempt.value()},
               {"step", manifest.id.step.value()},
               {"writer", manifest.writer},
               {"packs", std::move(packs)}};
  if (manifest.run) body["run"] = to_json(*manifest.run);
  return encode_with_checksum(body);
}

Result<Manifest> decode_manifest(std::string_view text) {
  Result<json> body = decode_with_checksum(text, kManifestBytesMax);
  if (!body) return body.error();
  std::optional<Error> complaint;
  Fields f(*body, "manifest", complaint);
  check_format(f);
  Manifest manifest;
  manifest.id = {.attempt = Attempt(f.whole("attempt", kAttemptMax)),
                 .step = Step(f.whole("step", kNumberMax))};
  manifest.writer = f.text("writer", kWriterBytesMax);
  for (const auto& item : f.list("packs", kRanksMax)) {
    manifest.packs.push_back(read_pack(f.child(item, "packs[]")));
    if (manifest.packs.back().rank.value() + 1 != manifest.packs.size())
      f.complain("packs", "one pack for each rank, in order");
  }
  if (manifest.packs.empty()) f.complain("packs", "at least one pack");
  manifest.run = read_run(f);
  if (complaint) return *complaint;
  if (auto checked = check_trained_time(manifest.run, "manifest"); !checked) return checked.error();
  if (const auto mixture = find_two_owners(manifest.packs)) return Error(ErrorKind::kCorrupted, *mixture);
  return manifest;
}

}  // namespace ratoon::checkpoint
