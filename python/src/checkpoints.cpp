#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ratoon/load.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/tiers/load_path.h"
#include "agent/src/checkpoint/tiers/stores/object_store_disk.h"
#include "agent/src/data/sets/mapped_file.h"
#include "agent/src/objects/object_store.h"
#include "base/contract/exit_code.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/survey.h"
#include "cli/checkpoint/verify.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/interruptible.h"
#include "python/src/store_options.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

using checkpoint::ObjectStoreDisk;
using cli::FoundCheckpoint;

// A run's folder, or its place in a store.
std::shared_ptr<ObjectStoreDisk> open_place(const std::string& place, const StoreOptions& options,
                                            const std::stop_token& stop) {
  return std::make_shared<ObjectStoreDisk>(value_of(objects::open_store(place, options)), stop);
}

cli::Survey survey_of(const std::shared_ptr<ObjectStoreDisk>& disk) {
  return value_of(cli::take_survey(*disk));
}

nb::dict dict_of(const FoundCheckpoint& found) {
  const std::string_view state = name_of(found.standing);
  nb::dict row;
  row["step"] = found.id.step.value();
  row["attempt"] = found.id.attempt.value();
  row["state"] = nb::str(state.data(), state.size());
  row["why"] = found.why;
  row["digest"] = found.digest;
  row["ranks"] = found.manifest ? found.manifest->packs.size() : 0;
  row["size_bytes"] = found.size_bytes;
  row["is_pinned"] = found.is_pinned;
  return row;
}

nb::list list_checkpoints(const std::string& place, const nb::object& store) {
  const auto survey =
      run_interruptibly([place, options = store_options_of(store)](const std::stop_token& stop) {
        return survey_of(open_place(place, options, stop));
      });
  nb::list rows;
  for (const FoundCheckpoint& found : survey.checkpoints) rows.append(dict_of(found));
  return rows;
}

std::vector<cli::VerifyResult> verify_all(const std::string& place, const StoreOptions& options,
                                          const cli::CheckpointSelection& selection,
                                          const std::stop_token& stop) {
  const auto disk = open_place(place, options, stop);
  const cli::Survey survey = survey_of(disk);
  std::vector<cli::VerifyResult> verified;
  for (const FoundCheckpoint& found : survey.checkpoints) {
    const bool is_selected = (!selection.step || found.id.step.value() == *selection.step) &&
                             (!selection.attempt || found.id.attempt.value() == *selection.attempt);
    if (!is_selected) continue;
    verified.push_back(cli::verify_checkpoint(*disk, found, [&](std::uint64_t) {
      if (stop.stop_requested())
        throw Failure(static_cast<int>(ExitCode::kInterruptedByUser), "interrupted while verifying " + place);
    }));
  }
  if (verified.empty())
    static_cast<void>(value_of(cli::choose_checkpoint(survey, selection)));  // says which there are
  return verified;
}

nb::list verify(const std::string& place, const cli::CheckpointSelection& selection,
                const nb::object& store) {
  const auto verified =
      run_interruptibly([place, selection, options = store_options_of(store)](const std::stop_token& stop) {
        return verify_all(place, options, selection, stop);
      });
  nb::list rows;
  for (const cli::VerifyResult& one : verified) {
    const std::string_view verdict = name_of(one.verdict);
    nb::dict row;
    row["step"] = one.id.step.value();
    row["attempt"] = one.id.attempt.value();
    row["verdict"] = nb::str(verdict.data(), verdict.size());
    row["why"] = one.why;
    row["size_bytes"] = one.size_bytes;
    rows.append(row);
  }
  return rows;
}

// Those that are shared, and those of the rank: rank r of a world of another size has what rank r modulo its
// size saved.
std::vector<std::string> names_in(const ObjectStoreDisk& disk, const checkpoint::CheckpointId& id,
                                  const checkpoint::Manifest& manifest, std::uint32_t rank) {
  std::set<std::string> names;
  const auto own = rank % static_cast<std::uint32_t>(manifest.packs.size());
  check(cli::visit_packs(disk, id, manifest, {}, [&](const cli::OpenPack& pack) -> Result<void> {
    const bool is_own = pack.record.rank.value() == own;
    for (const auto& tensor : pack.reader.header().layout.tensors)
      if (is_own || (tensor.box && !pack.is_part)) names.insert(tensor.name);
    return {};
  }));
  return {names.begin(), names.end()};
}

bool is_file(const std::string& place) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(place, ignored);
}

struct Loaded {
  std::map<std::string, TensorValue> tensors{};
  std::string what{};                      // the manifest or file
  std::optional<std::uint64_t> step{};     // none: a file
  std::vector<std::string> passed_over{};  // why newer checkpoints were not taken
};

struct Wanted {
  LoadFrom from;
  std::optional<std::vector<std::string>> names;  // none: all of the rank
};

Loaded load_from_file(const Wanted& wanted) {
  if (wanted.from.step) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration),
                  wanted.from.place + " is one file and has no steps to choose from");
  }
  std::vector<std::string> names;
  if (wanted.names) {
    names = *wanted.names;
  } else {
    const auto file = value_of(data::MappedFile::open(wanted.from.place));
    const auto tensors = checkpoint::read_safetensors(file.bytes());
    if (!tensors) {
      throw Failure(static_cast<int>(ExitCode::kConfiguration),
                    wanted.from.place + " is no whole safetensors file: " + tensors.error().message());
    }
    for (const TensorView& tensor : *tensors) names.push_back(tensor.name);
  }
  return {.tensors = load_tensors(wanted.from, names), .what = wanted.from.place};
}

Loaded load_one(const ObjectStoreDisk& disk, const checkpoint::CheckpointId& id, const Wanted& wanted) {
  const auto sealed = value_of(checkpoint::read_manifest(disk, id));
  std::vector<std::string> names;
  if (wanted.names)
    names = *wanted.names;
  else
    names = names_in(disk, id, sealed.manifest, wanted.from.rank);
  LoadFrom from = wanted.from;
  from.step.reset();  // the manifest says it
  from.place = disk.shown(checkpoint::manifest_path(id));
  return {.tensors = load_tensors(from, names), .what = from.place, .step = id.step.value()};
}

// The newest that is sound; nothing where all that there is has to be looked at anew, since the run retired
// meanwhile what was chosen.
std::optional<Loaded> load_newest(const ObjectStoreDisk& disk, const Wanted& wanted) {
  const auto survey = value_of(cli::take_survey(disk));
  std::vector<std::string> passed_over;
  for (const FoundCheckpoint& found : survey.checkpoints) {
    if (wanted.from.step && found.id.step.value() != *wanted.from.step) continue;
    if (found.standing == cli::CheckpointState::kSetAside) continue;
    if (found.standing != cli::CheckpointState::kComplete) {
      passed_over.push_back(found.why);
      continue;
    }
    try {
      Loaded loaded = load_one(disk, found.id, wanted);
      loaded.passed_over = std::move(passed_over);
      return loaded;
    } catch (const Failure& failure) {
      if (cli::is_retired(disk, found.id)) return std::nullopt;
      if (failure.exit_code != static_cast<int>(ExitCode::kCheckpointsBad)) throw;
      passed_over.emplace_back(failure.what());
    }
  }
  if (!passed_over.empty()) {
    throw Failure(
        static_cast<int>(ExitCode::kCheckpointsBad),
        "no checkpoint in " + disk.shown(checkpoint::kManifests) + " is sound: " + passed_over.front());
  }
  static_cast<void>(
      value_of(cli::choose_checkpoint(survey, {.step = wanted.from.step})));  // says which there are
  return std::nullopt;
}

Loaded load_wanted(const Wanted& wanted, const std::stop_token& stop) {
  constexpr int kLooksMax = 100;  // a run that retires what is being read is one that saves
  const auto place = checkpoint::parse_load_path(wanted.from.place);
  if (is_file(wanted.from.place) && !place.id) return load_from_file(wanted);
  const auto disk = open_place(place.uri, wanted.from.store_options, stop);
  if (place.id) return load_one(*disk, *place.id, wanted);
  for (int look = 0; look < kLooksMax && !stop.stop_requested(); ++look)
    if (auto loaded = load_newest(*disk, wanted)) return *std::move(loaded);
  throw Failure(static_cast<int>(ExitCode::kStorage),
                "the run in " + wanted.from.place +
                    " removes its checkpoints faster than they can be loaded: let the run keep more "
                    "checkpoints (--keep-last), or wait for its end");
}

// The bytes themselves, which live as long as what Python has of them.
nb::object memory_of(std::vector<std::byte> bytes) {
  if (bytes.empty()) return nb::bytearray("", 0);
  auto owned = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  const nb::capsule owner(owned.get(), [](void* pointer) noexcept {
    std::unique_ptr<std::vector<std::byte>>(static_cast<std::vector<std::byte>*>(pointer)).reset();
  });
  const auto* const kept = owned.release();
  return nb::cast(nb::ndarray<nb::memview, std::uint8_t, nb::ndim<1>>(const_cast<std::byte*>(kept->data()),
                                                                      {kept->size()}, owner));
}

nb::dict dict_of(Loaded loaded) {
  nb::dict tensors;
  for (auto& [name, tensor] : loaded.tensors) {
    nb::list shape;
    for (const std::uint64_t length : tensor.shape) shape.append(length);
    const std::string_view type = name_of(tensor.type);
    tensors[name.c_str()] = nb::make_tuple(nb::str(type.data(), type.size()), nb::tuple(shape),
                                           memory_of(std::move(tensor.bytes)));
  }
  nb::dict result;
  result["tensors"] = tensors;
  result["what"] = loaded.what;
  result["step"] = loaded.step;
  result["passed_over"] = loaded.passed_over;
  return result;
}

}  // namespace

void bind_checkpoints(nb::module_& module) {
  module.def("list_checkpoints", list_checkpoints, "place"_a, "store"_a.none(),
             nb::sig("def list_checkpoints(place: str, store: object | None) -> list[dict]"));
  module.def(
      "verify_checkpoints",
      [](const std::string& place, std::optional<std::uint64_t> step, std::optional<std::uint64_t> attempt,
         const nb::object& store) { return verify(place, {.step = step, .attempt = attempt}, store); },
      "place"_a, "step"_a.none(), "attempt"_a.none(), "store"_a.none(),
      nb::sig("def verify_checkpoints(place: str, step: int | None, attempt: int | None, store: object | "
              "None) -> "
              "list[dict]"));
  module.def(
      "load_checkpoint",
      [](std::string place, std::optional<std::vector<std::string>> names, std::optional<std::uint64_t> step,
         std::uint32_t rank, const nb::object& store) {
        Wanted wanted{.from = {.place = std::move(place),
                               .step = step,
                               .rank = rank,
                               .store_options = store_options_of(store)},
                      .names = std::move(names)};
        return dict_of(run_interruptibly(
            [wanted = std::move(wanted)](const std::stop_token& stop) { return load_wanted(wanted, stop); }));
      },
      "place"_a, "names"_a.none(), "step"_a.none(), "rank"_a, "store"_a.none(),
      nb::sig("def load_checkpoint(place: str, names: list[str] | None, step: int | None, rank: int, store: "
              "object | "
              "None) -> dict"));
}

}  // namespace ratoon::python
