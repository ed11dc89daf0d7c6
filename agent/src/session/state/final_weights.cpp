#include "agent/src/session/state/final_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/commit/run_files.h"
#include "agent/src/checkpoint/interop/append_sink.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/session/options/location_options.h"

namespace ratoon::session {
namespace {

using checkpoint::CheckpointReader;
using checkpoint::TensorSource;

constexpr std::uint64_t kReadPieceBytesMax = 16ULL << 20;

// Writes a tensor in pieces. A piece has as many rows of the first dimension as fit into a small buffer, so
// that the write needs little memory.
Result<void> write_tensor(CheckpointReader& reader, const std::string& name,
                          const CheckpointReader::TensorForm& form, checkpoint::ByteSink& sink) {
  const std::uint64_t bytes = checkpoint::count_bytes(form.type, form.shape).value_or(0);
  const std::uint64_t rows = form.shape.empty() ? 1 : std::max<std::uint64_t>(form.shape.front(), 1);
  const std::uint64_t at_once =
      std::clamp<std::uint64_t>(kReadPieceBytesMax / std::max<std::uint64_t>(bytes / rows, 1), 1, rows);
  std::vector<std::byte> piece;
  for (std::uint64_t row = 0; row < rows && bytes != 0; row += at_once) {
    checkpoint::TensorSpec wanted{.name = name, .type = form.type, .shape = form.shape, .box = {}};
    if (at_once < rows) {
      wanted.shape.front() = std::min(at_once, rows - row);
      wanted.box = TensorBox{.begin = TensorShape(form.shape.size()), .whole_shape = form.shape};
      wanted.box->begin.front() = row;
    }
    piece.resize(checkpoint::count_bytes(wanted.type, wanted.shape).value_or(0));
    const std::span<std::byte> into(piece);
    if (auto loaded = reader.load(std::span(&wanted, 1), std::span(&into, 1)); !loaded) return loaded.error();
    if (auto appended = sink.append(piece); !appended) return appended;
  }
  return {};
}

}  // namespace

std::filesystem::path final_weights_file(const Options& options) {
  if (options.final_weights.empty()) return {};
  const std::filesystem::path name(options.final_weights);
  if (name.has_parent_path()) return name;
  return is_home_in_store(options) ? std::filesystem::path() : run_folder(options) / name;
}

std::string missing_weights_advice(const Options& options) {
  if (options.final_weights.empty() || !final_weights_file(options).empty()) return "";
  const std::string run = home_location(options);
  return "no file of the final weights was written, because the run saves into the store " + run +
         ", and --final-weights '" + options.final_weights + "' names no folder: `ratoon checkpoint export " +
         run + " " + options.final_weights +
         "` writes the tensors of the last checkpoint to a file; if --final-weights names a folder, the next "
         "run writes its file there";
}

Result<void> check_final_weights_file(const Options& options, checkpoint::CallsWithTimeout& calls) {
  const std::filesystem::path file = final_weights_file(options);
  if (file.empty()) return {};
  const auto is_taken =
      calls("looking at " + file.string(), [file] { return Result<bool>(checkpoint::belongs_to_run(file)); });
  if (!is_taken || !*is_taken) return {};
  return Error(ErrorKind::kInvalid,
               "--final-weights " + file.string() +
                   " is a name that a run uses for its checkpoints: choose another name");
}

Result<std::size_t> write_final_weights(CheckpointReader& reader,
                                        const std::function<bool(std::string_view)>& is_weight,
                                        const std::string& run_name, const ResumePoint& point,
                                        const std::string& best, const CreateFile& create) {
  const auto names = reader.names();
  if (!names) return names.error();
  std::vector<TensorSource> sources;
  for (const std::string& name : *names) {
    if (!is_weight(name)) continue;
    const auto form = reader.find(name);
    if (!form) return form.error();
    sources.push_back({.name = name,
                       .type = (*form)->type,
                       .shape = (*form)->shape,
                       .write = [&reader, name, form = **form](checkpoint::ByteSink& sink) {
                         return write_tensor(reader, name, form, sink);
                       }});
  }
  if (sources.empty()) return std::size_t{0};
  checkpoint::SafetensorsMetadata metadata{{"format", "pt"},
                                           {"ratoon.run", run_name},
                                           {"ratoon.attempt", std::to_string(point.attempt.value())},
                                           {"ratoon.step", std::to_string(point.step.value())}};
  if (!best.empty()) metadata["ratoon.best"] = best;
  const auto file = create();
  if (!file) return file.error();
  std::uint64_t at = 0;
  const checkpoint::AppendSink::Append append = [&](std::span<const std::byte> bytes) {
    return (*file)->write(std::exchange(at, at + bytes.size()), bytes);
  };
  checkpoint::AppendSink sink(append);
  if (auto written = checkpoint::write_safetensors(sources, sink, metadata); !written) return written.error();
  if (auto closed = (*file)->close(); !closed) return closed.error();
  return sources.size();
}

}  // namespace ratoon::session
