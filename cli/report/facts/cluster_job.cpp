#include "cli/report/facts/cluster_job.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/contract/fields.h"
#include "base/core/read_file.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kJobBytesMax = 64U << 20;
constexpr int kJobDepthMax = 64;

WallTime created_at(const api::TrainingJob& job, WallTime otherwise) {
  const json metadata = job.document ? kube::child(*job.document, "metadata") : json();
  return parse_rfc3339(kube::string_field(metadata, "creationTimestamp")).value_or(otherwise);
}

}  // namespace

Result<api::TrainingJob> read_cluster_job(const std::string& given) {
  Result<std::string> text =
      given.starts_with('{') ? Result<std::string>(given) : read_file(given, kJobBytesMax);
  if (!text) return text.error();
  const auto document = parse_json(*text, kJobBytesMax, kJobDepthMax);
  if (!document) return document.error().with_context("the TrainingJob of --job");
  auto job = api::decode_training_job(*document);
  if (!job) return job.error().with_context("the TrainingJob of --job");
  return job;
}

void add_cluster_job(const api::TrainingJob& job, WallTime now, RunFacts& facts) {
  facts.name = job.meta.name;
  facts.status = job.status;
  const WallTime end = job.status.completed_at.value_or(now);
  const WallTime begin = created_at(job, end);
  facts.job_time = JobTime{.begin = begin, .end = std::max(begin, end)};
}

json job_for_report(const api::TrainingJob& job) {
  const json whole = job.document ? *job.document : json::object();
  const json& metadata = kube::child(whole, "metadata");
  json kept = {{"apiVersion", kube::child(whole, "apiVersion")}, {"kind", kube::child(whole, "kind")}};
  for (const char* field : {"name", "namespace", "uid", "creationTimestamp"})
    if (const json& value = kube::child(metadata, field); !value.is_null()) kept["metadata"][field] = value;
  kept["spec"] = kube::child(whole, "spec");
  const json trainer = {{"name", "trainer"}, {"command", json::array({"trainer"})}};
  for (json& role : kept["spec"]["roles"])
    role["template"] = {{"spec", {{"containers", json::array({trainer})}}}};
  kept["status"] = kube::child(whole, "status");
  if (kept["status"].is_object()) kept["status"].erase("members");
  return kept;
}

}  // namespace ratoon::cli
