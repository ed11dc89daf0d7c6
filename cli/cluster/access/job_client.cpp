#include "cli/cluster/access/job_client.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/http/tls/certificate.h"
#include "operator/api/training_job.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/metadata.h"
#include "operator/runtime/api_server/kubeconfig.h"
#include "operator/runtime/api_server/list_objects.h"

namespace ratoon::cli {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = std::chrono::seconds(10);

std::optional<std::string> find_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<kube::ApiServerAccess> find_api_server_access(const ClusterSelection& selection) {
  const auto path = choose_kubeconfig(selection, find_variable, [](const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
  });
  if (!path) return path.error();
  if (path->empty()) return runtime::find_api_server_access("", find_variable);
  return runtime::read_kubeconfig(*path, selection.context);
}

}  // namespace

bool is_over(const json& job) {
  const std::string phase = kube::string_field(kube::child(job, "status"), "phase");
  return phase == api::name_of(api::JobPhase::kSucceeded) || phase == api::name_of(api::JobPhase::kFailed);
}

namespace {

std::optional<WallTime> certificate_end_of(const std::string& certificate_pem) {
  const auto validity = http::certificate_validity(certificate_pem);
  return validity ? std::optional(validity->ends) : std::nullopt;
}

}  // namespace

JobClient::JobClient(kube::ApiServerAccess access, const ClusterSelection& selection)
    : query_{.server = access.server,
             .name_space = selection.is_for_all_namespaces ? ""
                           : selection.name_space.empty()  ? access.name_space
                                                           : selection.name_space,
             .certificate_end = certificate_end_of(access.certificate_pem)},
      api_(std::move(access), clock_) {}

Result<std::unique_ptr<JobClient>> JobClient::connect(const ClusterSelection& selection) {
  auto access = find_api_server_access(selection);
  if (!access) return access.error();
  return std::make_unique<JobClient>(*std::move(access), selection);
}

kube::Selection JobClient::selection(const std::string& name) const {
  return {.resource = kube::kTrainingJobs,
          .name_space = query_.name_space,
          .field_selector = name.empty() ? "" : "metadata.name=" + name};
}

Result<std::vector<json>> JobClient::list(const std::string& name) const {
  std::vector<json> objects;
  std::optional<kube::ApiFailure> refusal;
  const auto listed = runtime::list_objects(
      api_, {.selection = selection(name), .page_timeout = kTimeout},
      [&](const json& object) { objects.push_back(object); }, {}, refusal);
  if (!listed) return explain_failure(query_, "list", listed.error(), refusal, clock_.wall_now());
  return objects;
}

Result<std::vector<json>> JobClient::find(const std::string& name) const {
  auto objects = list(name);
  if (!objects || !objects->empty()) return objects;
  if (name.empty()) return Error(ErrorKind::kNotFound, "there is no TrainingJob in " + query_text(query_));
  const auto others = list("");
  if (!others) return others.error();
  std::vector<std::string> names;
  for (const auto& other : *others) names.push_back(kube::job_key_in(other).name);
  return explain_missing_job(query_, name, names);
}

Result<void> JobClient::set_suspended(const std::string& name, bool is_suspended) const {
  const auto request = kube::make_patch_request(
      {.resource = kube::kTrainingJobs, .name_space = query_.name_space, .name = name},
      {{"spec", {{"suspend", is_suspended}}}});
  if (!request) return request.error();
  std::optional<kube::ApiFailure> refusal;
  const auto patched = api_.call(*request, {}, kTimeout, refusal);
  if (!patched) return explain_failure(query_, "patch", patched.error(), refusal, clock_.wall_now());
  return {};
}

}  // namespace ratoon::cli
