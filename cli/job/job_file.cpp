#include "cli/job/job_file.h"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/core/never_destroyed.h"
#include "base/core/read_file.h"
#include "cli/job/complaint_line.h"
#include "cli/job/job_definition.h"
#include "cli/job/unknown_fields.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

// Converts a YAML word to a number, a boolean, null or a text, as kubectl does; a quoted word stays a text.
json scalar_to_json(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // quoted, or !!str
  for (const char* word : {"true", "True", "TRUE"})
    if (text == word) return true;
  for (const char* word : {"false", "False", "FALSE"})
    if (text == word) return false;
  for (const char* word : {"", "~", "null", "Null", "NULL"})
    if (text == word) return nullptr;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::uint64_t whole = 0;
  if (const auto [stop, code] = std::from_chars(begin, end, whole); code == std::errc() && stop == end)
    return whole;
  std::int64_t negative = 0;
  if (const auto [stop, code] = std::from_chars(begin, end, negative); code == std::errc() && stop == end) {
    return negative;
  }
  double number = 0;
  if (const auto [stop, code] = std::from_chars(begin, end, number);
      code == std::errc() && stop == end && std::isfinite(number)) {
    return number;
  }
  return text;
}

// `values_left` limits the number of values, because aliases of aliases could produce billions.
json to_json(const YAML::Node& node, int depth, std::size_t& values_left) {
  constexpr int kDepthMax = 64;
  if (depth > kDepthMax) throw YAML::Exception(node.Mark(), "nested too deep");
  if (values_left-- == 0) throw YAML::Exception(node.Mark(), "too many values");
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar_to_json(node);
    case YAML::NodeType::Sequence: {
      json list = json::array();
      for (const auto& item : node) list.push_back(to_json(item, depth + 1, values_left));
      return list;
    }
    case YAML::NodeType::Map: {
      json object = json::object();
      for (const auto& item : node) {
        const auto key = item.first.as<std::string>();
        if (object.contains(key)) throw YAML::Exception(item.first.Mark(), "key '" + key + "' is set twice");
        object[key] = to_json(item.second, depth + 1, values_left);
      }
      return object;
    }
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return nullptr;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  auto text = read_file(path);
  if (text) return text;
  const std::string next = "give the path of a TrainingJob file";
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  return Error(is_folder ? ErrorKind::kInvalid : text.error().kind(),
               text.error().kind() == ErrorKind::kNotFound ? "there is no file " + path.string() + ": " + next
                                                           : text.error().message() + "; " + next);
}

std::string path_with_line(const std::filesystem::path& path, int line) {
  return path.string() + ":" + std::to_string(line);
}

// Appends the user's arguments to the document, so that status.json shows the command that runs. The trainer
// expands $(NAME) in the arguments. Ignores an invalid job: the job's decoder reports it later.
void append_arguments(const std::vector<std::string>& more, json& document) {
  const json::json_pointer trainer("/spec/roles/0/template/spec/containers/0");
  if (more.empty() || !document.contains(trainer) || !document[trainer].is_object()) return;
  json& arguments = document[trainer]["args"];
  if (!arguments.is_null() && !arguments.is_array()) return;
  for (const std::string& word : more) arguments.push_back(api::escape_variables(word));
}

}  // namespace

Result<api::TrainingJob> parse_job(const std::string& text, const std::filesystem::path& path,
                                   const std::vector<std::string>& more_arguments) {
  json document;
  YAML::Node file;
  try {
    std::size_t values_left = 100'000;
    file = YAML::Load(text);
    document = to_json(file, 0, values_left);  // first, since it bounds how far aliases can grow
    static const NeverDestroyed<YAML::Node> definition(YAML::Load(job_definition()));
    if (const auto unknown = find_unknown_field(file, *definition)) {
      return Error(ErrorKind::kInvalid, path_with_line(path, unknown->line) + ": " + unknown->sentence);
    }
  } catch (const YAML::ParserException& error) {
    return Error(ErrorKind::kInvalid, path_with_line(path, error.mark.line + 1) + ": this is not YAML (" +
                                          error.msg +
                                          "): check this line and the line before for a wrong indent, a "
                                          "missing or extra ':', a quote or bracket left open, a tab");
  } catch (const YAML::Exception& error) {
    return Error(ErrorKind::kInvalid, path_with_line(path, error.mark.line + 1) + ": " + error.msg);
  }
  if (document.is_null())
    return Error(ErrorKind::kInvalid,
                 path.string() + " is empty: expected a TrainingJob, see docs/reference/job.md");
  if (!document.is_object())
    return Error(ErrorKind::kInvalid,
                 path.string() +
                     ":1: expected a TrainingJob, with fields like 'kind: TrainingJob' and "
                     "'spec:', see docs/reference/job.md");
  document.erase("status");  // the status of a cluster, in a file that came from one; a local run has its own
  append_arguments(more_arguments, document);
  auto job = api::decode_training_job(document);
  if (job) return job;
  const auto line = find_error_line(file, job.error().message());
  return job.error().with_context(line ? path_with_line(path, *line) : path.string());
}

Result<api::TrainingJob> read_job_file(const std::filesystem::path& path,
                                       const std::vector<std::string>& more_arguments) {
  const auto text = read_text(path);
  if (!text) return text.error();
  return parse_job(*text, path, more_arguments);
}

}  // namespace ratoon::cli
