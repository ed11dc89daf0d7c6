#include "operator/runtime/operator_config.h"

#include <functional>
#include <limits>
#include <map>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/core/split_join.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"
#include "operator/runtime/api_server/read_yaml.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

constexpr const char* kVersion = "operator.ratoon.dev/v1alpha1";
constexpr const char* kKind = "OperatorConfig";

// Stores the value and returns an empty text. If the value is invalid, returns a text about valid values.
using FieldReader = std::function<std::string(const json& value)>;
using FieldReaders = std::map<std::string, FieldReader>;

FieldReader text_reader(std::string& into) {
  return [&into](const json& value) -> std::string {
    if (!value.is_string() || value.get<std::string>().empty()) return "a text";
    into = value.get<std::string>();
    return "";
  };
}

FieldReader flag_reader(bool& into) {
  return [&into](const json& value) -> std::string {
    if (!value.is_boolean()) return "true or false";
    into = value.get<bool>();
    return "";
  };
}

// Accepts a number from 1 to `max`.
template <class Number>
FieldReader number_reader(const char* what, std::type_identity_t<Number> max, Number& into) {
  return [what, max, &into](const json& value) -> std::string {
    const auto found = value.is_string() ? kube::parse_unsigned(value.get<std::string>()) : std::nullopt;
    if (!found || *found == 0 || *found > max) return std::string(what) + " from 1 to " + std::to_string(max);
    into = static_cast<Number>(*found);
    return "";
  };
}

FieldReader port_reader(std::uint16_t& into) {
  return number_reader("a port", std::numeric_limits<std::uint16_t>::max(), into);
}

FieldReader exact_text_reader(const char* word) {
  return [word](const json& value) -> std::string { return value == word ? "" : word; };
}

FieldReader log_format_reader(bool& is_text) {
  return [&is_text](const json& value) -> std::string {
    if (value != "json" && value != "text") return "json or text";
    is_text = value == "text";
    return "";
  };
}

Result<void> read_fields(const json& object, const FieldReaders& fields, const std::string& prefix) {
  for (const auto& [name, value] : object.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      const auto name_of = [](const auto& item) { return item.first; };
      return Error(ErrorKind::kInvalid, prefix + cut_text(name, 60) +
                                            " is not a field of this file; the fields are " +
                                            join(fields, ", ", name_of));
    }
    if (const std::string expected = field->second(value); !expected.empty())
      return Error(ErrorKind::kInvalid,
                   prefix + name + " must be " + expected + ", found " + cut_text(kube::dump(value), 60));
  }
  return {};
}

}  // namespace

Result<void> apply_operator_config(const json& document, OperatorOptions& options) {
  if (kube::string_field(document, "apiVersion") != kVersion || kube::string_field(document, "kind") != kKind)
    return Error(ErrorKind::kInvalid,
                 std::string("the file must begin with apiVersion: ") + kVersion + " and kind: " + kKind);
  const FieldReaders tls = {{"folder", text_reader(options.tls_folder)},
                            {"secret", text_reader(options.tls_secret)},
                            {"serverName", text_reader(options.tls_server_name)}};
  const FieldReaders election = {{"enabled", flag_reader(options.uses_election)},
                                 {"leaseName", text_reader(options.lease_name)}};
  Result<void> nested;
  const auto object = [&nested](const FieldReaders& of_it, const std::string& prefix) -> FieldReader {
    return [&nested, &of_it, prefix](const json& value) -> std::string {
      if (!value.is_object()) return "an object";
      if (nested) nested = read_fields(value, of_it, prefix);
      return "";
    };
  };
  const FieldReaders fields = {
      {"apiVersion", exact_text_reader(kVersion)},
      {"kind", exact_text_reader(kKind)},
      {"namespace", text_reader(options.name_space)},
      {"kubeconfig", text_reader(options.kubeconfig_path)},
      {"advertiseUrl", text_reader(options.advertise_url)},
      {"notices", text_reader(options.notices_path)},
      {"launcherImage", text_reader(options.launcher_image)},
      {"launcherPullPolicy", text_reader(options.launcher_pull_policy)},
      {"coordinatorPort", port_reader(options.coordinator_port)},
      {"metricsPort", port_reader(options.metrics_port)},
      {"probePort", port_reader(options.probe_port)},
      {"workers", number_reader("a number", kWorkersMax, options.workers)},
      {"processesPerNamespace",
       number_reader("a number", std::numeric_limits<std::uint32_t>::max(), options.processes_per_namespace)},
      {"log", log_format_reader(options.is_text_log)},
      {"tls", object(tls, "tls.")},
      {"leaderElection", object(election, "leaderElection.")}};
  if (auto taken = read_fields(document, fields, ""); !taken) return taken;
  return nested;
}

Result<void> read_operator_config(const std::string& path, OperatorOptions& options) {
  const auto document = read_yaml(path);
  if (!document) return document.error();
  auto applied = apply_operator_config(*document, options);
  if (!applied) return applied.error().with_context(path);
  return applied;
}

}  // namespace ratoon::runtime
