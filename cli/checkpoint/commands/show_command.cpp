#include <map>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "agent/src/checkpoint/pack/part_index.h"
#include "base/core/utf8.h"
#include "base/core/xxh3.h"
#include "cli/checkpoint/commands/commands.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/run_location.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr const char* kShowExamples = R"(Examples:
  ratoon checkpoint show checkpoints/counter                        the newest one: packs and tensors
  ratoon checkpoint show checkpoints/counter --step 1200 --rank 0   the pack of rank 0
  ratoon checkpoint show s3://bucket/runs/digits --tensors 'net.*' --json

Headers are verified, data is not read: see `ratoon checkpoint verify`.

Exit codes: 0 shown, 82 no such checkpoint or the command line is wrong, 83 it is damaged, 84 the disk or
the store cannot be read.)";

struct ShowArguments {
  CommonArguments common;
  CheckpointSelection selection;
  std::optional<std::uint32_t> rank;
  std::vector<std::string> tensors;
};

struct TensorPart {
  std::uint32_t rank = 0;
  const checkpoint::PackedTensor* tensor = nullptr;
  Hash128 hash;
  bool is_part_file = false;
};
using PartsByTensor = std::map<std::string, std::vector<TensorPart>>;  // by name

PartsByTensor parts_of(const std::vector<OpenPack>& packs, const std::vector<std::string>& patterns) {
  PartsByTensor parts;
  for (const OpenPack& pack : packs) {
    const auto& header = pack.reader.header();
    for (std::size_t i = 0; i < header.layout.tensors.size(); ++i) {
      const auto& tensor = header.layout.tensors[i];
      if (matches_any(tensor.name, patterns))
        parts[tensor.name].push_back({pack.record.rank.value(), &tensor, header.hashes[i], pack.is_part});
    }
  }
  return parts;
}

// Names the ranks of a tensor, such as `all ranks`, `rank 3`, `parts on 4 ranks` or `4 ranks, not alike`.
std::string describe_ranks(const std::vector<TensorPart>& parts, std::size_t ranks) {
  const TensorPart& first = parts.front();
  if (parts.size() == 1 && !first.tensor->box && ranks > 1) return "rank " + std::to_string(first.rank);
  if (first.is_part_file) return std::to_string(parts.size()) + " part files";
  bool are_alike = true;
  for (const TensorPart& part : parts) {
    if (part.tensor->box) return "parts on " + std::to_string(parts.size()) + " ranks";
    are_alike = are_alike && part.hash == first.hash;
  }
  const std::string all = parts.size() == ranks ? "all ranks" : std::to_string(parts.size()) + " ranks";
  return are_alike ? all : all + ", not alike";
}

void print_tables(const OpenCheckpoint& opened, const PartsByTensor& parts) {
  const auto& manifest = *opened.found.manifest;
  print_text("checkpoint of " + checkpoint_text(opened.found.id) + ", written by " +
             printable(manifest.writer) + ", digest " + opened.found.digest + "\n" +
             (opened.found.is_pinned ? "pinned: " + opened.found.pin_reason + "\n\n" : "\n"));
  std::vector<std::vector<std::string>> rows = {{"RANK", "SIZE", "TENSORS", "HEADER DIGEST"}};
  for (const OpenPack& pack : opened.packs)
    if (!pack.is_part)
      rows.push_back({std::to_string(pack.record.rank.value()), size_text(pack.record.size_bytes),
                      std::to_string(pack.reader.header().layout.tensors.size()), pack.record.header_digest});
  print_text(table_text(rows) + "\n");
  rows = {{"TENSOR", "TYPE", "SHAPE", "SIZE", "WHERE"}};
  for (const auto& [name, found] : parts) {
    const auto& tensor = *found.front().tensor;
    const TensorShape& shape = checkpoint::whole_shape_of(tensor);
    rows.push_back({name, std::string(checkpoint::safetensors_name(tensor.type)),
                    "[" + checkpoint::to_text(shape) + "]",
                    size_text(checkpoint::count_bytes(tensor.type, shape).value_or(0)),
                    describe_ranks(found, manifest.packs.size())});
  }
  print_text(table_text(rows));
}

nlohmann::json to_json(const std::string& name, const std::vector<TensorPart>& parts) {
  const auto& tensor = *parts.front().tensor;
  nlohmann::json object = {{"name", name},
                           {"dtype", checkpoint::safetensors_name(tensor.type)},
                           {"shape", checkpoint::whole_shape_of(tensor)},
                           {"parts", nlohmann::json::array()}};
  for (const TensorPart& part : parts) {
    nlohmann::json one = {{"rank", part.rank},
                          {"size_bytes", part.tensor->end - part.tensor->begin},
                          {"digest", to_hex(part.hash)}};
    if (part.tensor->box) {
      one["begin"] = part.tensor->box->begin;
      one["shape"] = part.tensor->shape;
    }
    object["parts"].push_back(std::move(one));
  }
  return object;
}

void print_document(const ShowArguments& arguments, const OpenCheckpoint& opened,
                    const PartsByTensor& parts) {
  nlohmann::json document = begin_json_document(arguments.common);
  document["step"] = opened.found.id.step.value();
  document["attempt"] = opened.found.id.attempt.value();
  document["digest"] = opened.found.digest;
  document["writer"] = opened.found.manifest->writer;
  document["ranks"] = opened.found.manifest->packs.size();
  document["pinned"] = opened.found.is_pinned;
  if (opened.found.is_pinned) document["pinned_why"] = opened.found.pin_reason;
  document["packs"] = nlohmann::json::array();
  for (const OpenPack& pack : opened.packs) {
    if (pack.is_part) continue;
    document["packs"].push_back({{"rank", pack.record.rank.value()},
                                 {"path", checkpoint::pack_path(opened.found.id, pack.record.rank)},
                                 {"size_bytes", pack.record.size_bytes},
                                 {"header_bytes", pack.record.header_bytes},
                                 {"header_digest", pack.record.header_digest}});
  }
  document["tensors"] = nlohmann::json::array();
  for (const auto& [name, found] : parts) document["tensors"].push_back(to_json(name, found));
  print_json(document);
}

int show(const ShowArguments& arguments) {
  raise_limit_of_open_files();
  const auto place = RunLocation::open(arguments.common.run);
  if (!place) return print_error_and_exit_code(place.error());
  const auto opened = open_checkpoint(place->disk(), arguments.selection, arguments.rank);
  if (!opened) return print_error_and_exit_code(opened.error());
  const PartsByTensor parts = parts_of(opened->packs, arguments.tensors);
  if (arguments.common.is_json)
    print_document(arguments, *opened, parts);
  else
    print_tables(*opened, parts);
  return 0;
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command =
      app.add_subcommand("show", "Show the packs (tensor files) and the tensors of one checkpoint");
  command->footer(kShowExamples);
  add_common_arguments(*command, arguments->common);
  add_selection_options(*command, arguments->selection);
  command->add_option("--rank", arguments->rank, "Show only the pack (tensor file) of this rank");
  command->add_option("--tensors", arguments->tensors,
                      "Names of tensors, with * and ? as in a shell (default: all)");
  command->callback([arguments, &exit_code] { exit_code = show(*arguments); });
}

}  // namespace ratoon::cli
