#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "agent/src/checkpoint/commit/run_files.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "base/core/atomic_fill.h"
#include "base/core/count_with_noun.h"
#include "base/core/threads/ignore_signal.h"
#include "base/core/utf8.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/commands/export_name.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/run_folder.h"
#include "cli/checkpoint/run_location.h"
#include "cli/checkpoint/tensor_stream.h"
#include "cli/command.h"
#include "cli/text/progress.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kExportExamples = R"(Examples:
  ratoon checkpoint export checkpoints/digits weights.safetensors --tensors 'net.*'
  ratoon checkpoint export checkpoints/digits state.pt --step 1200   torch.load("state.pt", weights_only=True)
  ratoon checkpoint export checkpoints/digits rank0.pt --rank 0      as rank 0 had it, parts as they are
  ratoon checkpoint export checkpoints/digits '{run_name}-ep{epoch}.pt'         digits-ep3.pt
  ratoon checkpoint export s3://bucket/runs/digits weights.safetensors

Every byte is verified on its way. The file appears whole, durable and at once, or not at all.

Exit codes: 0 written, 82 no such checkpoint, a file that exists, or the command line is wrong, 83 the
checkpoint is damaged, 84 the disk cannot be read or written, or the store does not answer.)";

constexpr std::size_t kWriteBufferBytes = 1 << 20;

struct ExportArguments {
  CommonArguments common;
  std::string file;
  std::string format;
  CheckpointSelection selection;
  std::optional<std::uint32_t> rank;
  std::vector<std::string> tensors;
  bool overwrites = false;
};

// Buffers small pieces, because otherwise each header in a zip file would cost a system call.
class FileSink final : public checkpoint::ByteSink {
 public:
  FileSink(int fd, const std::string& shown) : fd_(fd), shown_(shown) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (gathered_.size() + bytes.size() > kWriteBufferBytes) {
      if (auto flushed = flush(); !flushed) return flushed;
    }
    if (bytes.size() > kWriteBufferBytes) return write(bytes);
    gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Result<void> flush() {
    auto written = write(gathered_);
    gathered_.clear();
    return written;
  }

 private:
  Result<void> write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(errno, "writing " + shown_);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  const int fd_;
  const std::string shown_;
  std::vector<std::byte> gathered_;
};

Result<std::string> format_of(const ExportArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  for (const std::string format : {"safetensors", "pt"})
    if (arguments.file.ends_with("." + format)) return format;
  return Error(ErrorKind::kInvalid, "the format is not clear from the name " + arguments.file +
                                        ": let it end with .safetensors or .pt, or give --format");
}

Result<void> check_target(const ExportArguments& arguments) {
  if (auto is_there = check_parent_folder(arguments.file); !is_there) return is_there;
  std::error_code ignored;
  if (checkpoint::belongs_to_run(arguments.file))
    return Error(
        ErrorKind::kInvalid,
        arguments.file + " is in a folder where a run keeps its checkpoints: write to another folder");
  const auto there = std::filesystem::symlink_status(arguments.file, ignored);
  if (!std::filesystem::exists(there)) return {};
  if (std::filesystem::is_directory(there))
    return Error(ErrorKind::kInvalid, arguments.file + " is a folder: give the name of a file");
  const auto target = std::filesystem::status(arguments.file, ignored);
  const bool is_file_or_broken_link =
      std::filesystem::is_regular_file(target) || !std::filesystem::exists(target);
  if (!is_file_or_broken_link)
    return Error(ErrorKind::kInvalid,
                 arguments.file + " is not a file, but a pipe or a device: write to another file");
  if (arguments.overwrites) return {};
  return Error(ErrorKind::kAlreadyExists, arguments.file + " exists already: pass --overwrite to replace it");
}

// Reserves disk space, so that a full disk is reported now and not after most bytes are written. On file
// systems without fallocate(), does nothing and returns success.
Result<void> preallocate_file(int fd, std::uint64_t bytes, const std::string& shown) {
  if (bytes == 0 || ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return {};
  return system_error(errno, "reserving " + size_text(bytes) + " for " + shown);
}

Result<void> write_file(const ExportArguments& arguments, const std::string& format,
                        const TensorStream& stream, Progress& progress) {
  const auto sources = stream.sources([&](std::uint64_t bytes) { progress.advance(bytes); });
  const auto fill = [&](int fd) -> Result<void> {
    if (auto reserved = preallocate_file(fd, stream.size_bytes(), arguments.file); !reserved) return reserved;
    FileSink sink(fd, arguments.file);
    auto written = format == "pt" ? checkpoint::write_pt(sources, sink)
                                  : checkpoint::write_safetensors(sources, sink, {{"format", "pt"}});
    if (!written) return written;
    return sink.flush();
  };
  sweep_temporary_files(arguments.file);
  return fill_file_atomically(arguments.file, fill, {.replaces = arguments.overwrites});
}

void report(const ExportArguments& arguments, const std::string& format, const OpenCheckpoint& opened,
            const TensorStream& stream, std::size_t tensors) {
  if (!arguments.common.is_json) {
    std::string text = printable(arguments.file) + ": " + count_with_noun(tensors, "tensor") + ", " +
                       size_text(stream.size_bytes()) + ", of the checkpoint of " +
                       checkpoint_text(opened.found.id) + "\n";
    if (stream.unjoined_parts() != 0)
      text += std::to_string(stream.unjoined_parts()) +
              " of them are parts of larger tensors, as that rank stored them\n";
    for (const std::string& name : stream.left_out_tensors())
      text += "without " + printable(name) +
              ", which differs on each rank: --rank exports the tensors of one rank\n";
    return print_text(text);
  }
  nlohmann::json document = begin_json_document(arguments.common);
  document["file"] = arguments.file;
  document["format"] = format;
  document["step"] = opened.found.id.step.value();
  document["attempt"] = opened.found.id.attempt.value();
  document["tensors"] = tensors;
  document["parts"] = stream.unjoined_parts();
  document["left_out"] = stream.left_out_tensors();
  document["size_bytes"] = stream.size_bytes();
  print_json(document);
}

// Exports once. Returns kConflict if the run has retired this checkpoint: the caller may choose another.
Result<void> export_from(const checkpoint::Disk& disk, const ExportArguments& arguments,
                         const std::string& format) {
  const auto opened = open_checkpoint(disk, arguments.selection, arguments.rank);
  if (!opened) return opened.error();
  const auto stream = TensorStream::make(opened->packs, arguments.tensors, arguments.rank.has_value());
  if (!stream) return stream.error();
  const std::size_t tensors = stream->sources({}).size();
  if (tensors == 0 && !arguments.tensors.empty())
    return Error(ErrorKind::kNotFound, "no tensor has that name: `ratoon checkpoint show` lists the names");
  const SystemClock clock;
  auto named = make_export_name(arguments.file, arguments.common.run, *opened->found.manifest, arguments.rank,
                                clock.wall_now());
  if (!named) return named.error();
  ExportArguments told = arguments;
  told.file = *std::move(named);
  if (auto checked = check_target(told); !checked) return checked;
  Progress progress("export", stream->size_bytes(), clock);
  const auto written = write_file(told, format, *stream, progress);
  progress.clear();
  if (written) {
    report(told, format, *opened, *stream, tensors);
    return {};
  }
  const Error& error = written.error();
  const bool is_gone = error.kind() == ErrorKind::kNotFound && is_retired(disk, opened->found.id);
  if (is_gone) return Error(ErrorKind::kConflict, error.message());
  if (error.kind() != ErrorKind::kCorrupted) return error;
  return Error(ErrorKind::kCorrupted,
               error.message() + "; `ratoon checkpoint verify` shows which other checkpoints are good");
}

int run_export(const ExportArguments& arguments) {
  raise_limit_of_open_files();
  ignore_signal(SIGXFSZ);  // a file larger than `ulimit -f` is reported as an error
  const auto format = format_of(arguments);
  if (!format) return print_error_and_exit_code(format.error());
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  const auto exported = retry_if_retired([&] { return export_from(place->disk(), arguments, *format); });
  return exported ? 0 : print_error_and_exit_code(exported.error());
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "Write a checkpoint as one file for other programs");
  command->footer(kExportExamples);
  add_common_arguments(*command, arguments->common);
  command
      ->add_option("file", arguments->file,
                   "The name of the exported file: NAME.safetensors or NAME.pt; {run_name}, {epoch}, "
                   "{batch}, {rank} and "
                   "{timestamp} in NAME "
                   "are replaced by their values")
      ->required();
  command->add_option("--format", arguments->format, "safetensors or pt (default: by the file's ending)")
      ->check(CLI::IsMember({"safetensors", "pt"}));
  add_selection_options(*command, arguments->selection);
  command->add_option("--rank", arguments->rank,
                      "Only the tensors of this rank (default: all ranks, joined)");
  command->add_option("--tensors", arguments->tensors,
                      "Names of tensors, with * and ? as in a shell (default: all)");
  command->add_flag("--overwrite", arguments->overwrites, "Replace the file if it exists");
  command->callback([arguments, &exit_code] { exit_code = run_export(*arguments); });
}

}  // namespace ratoon::cli
