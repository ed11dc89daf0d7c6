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
using ReadField = std::function<std::string(const json& value)>;
using FieldReaders = std::map<std::string, ReadField>;

ReadField text(std::string& into) {
  return [&into](const json& value) -> std::string {
    if (!value.is_string() || value.get<std::string>().empty()) return "a text";
    into = value.get<std::string>();
    return "";
  };
}

ReadField flag(bool& into) {
  return [&into](const json& value) -> std::string {
    if (!value.is_boolean()) return "true or false";
    into = value.get<bool>();
    return "";
  };
}

// Accepts a number from 1 to `max`.
template <class Number>
ReadField number(const char* what, std::type_identity_t<Number> max, Number& into) {
  return [what, max, &into](const json& value) -> std::string {
    const auto found = value.is_string() ? kube::parse_unsigned(value.get<std::string>()) : std::nullopt;
    if (!found || *found == 0 || *found > max) return std::string(what) + " from 1 to " + std::to_string(max);
    into = static_cast<Number>(*found);
    return "";
  };
}

ReadField port(std::uint16_t& into) {
  return number("a port", std::numeric_limits<std::uint16_t>::max(), into);
}

ReadField exactly(const char* word) {
  return [word](const json& value) -> std::string { return value == word ? "" : word; };
}

ReadField log_format(bool& is_text) {
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
  const FieldReaders tls = {{"folder", text(options.tls_folder)},
                            {"secret", text(options.tls_secret)},
                            {"serverName", text(options.tls_server_name)}};
  const FieldReaders election = {{"enabled", flag(options.is_elected)},
                                 {"leaseName", text(options.lease_name)}};
  Result<void> nested;
  const auto object = [&nested](const FieldReaders& of_it, const std::string& prefix) -> ReadField {
    return [&nested, &of_it, prefix](const json& value) -> std::string {
      if (!value.is_object()) return "an object";
      if (nested) nested = read_fields(value, of_it, prefix);
      return "";
    };
  };
  const FieldReaders fields = {
      {"apiVersion", exactly(kVersion)},
      {"kind", exactly(kKind)},
      {"namespace", text(options.name_space)},
      {"kubeconfig", text(options.kubeconfig_path)},
      {"advertiseUrl", text(options.advertise_url)},
      {"notices", text(options.notices_path)},
      {"launcherImage", text(options.launcher_image)},
      {"launcherPullPolicy", text(options.launcher_pull_policy)},
      {"coordinatorPort", port(options.coordinator_port)},
      {"metricsPort", port(options.metrics_port)},
      {"probePort", port(options.probe_port)},
      {"workers", number("a number", kWorkersMax, options.workers)},
      {"processesPerNamespace",
       number("a number", std::numeric_limits<std::uint32_t>::max(), options.processes_per_namespace)},
      {"log", log_format(options.is_text_log)},
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
