#include "operator/runtime/installation_check.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/contract/names.h"
#include "base/core/threads/pause.h"
#include "operator/kube/lenient_json.h"
#include "operator/kube/request.h"
#include "operator/runtime/api_server/discovery.h"

namespace ratoon::runtime {
namespace {

using nlohmann::json;

constexpr kube::Resource kDeployments{"/apis/apps/v1", "deployments"};
constexpr Duration kPollInterval = std::chrono::milliseconds(500);
constexpr Duration kCallTimeout = std::chrono::seconds(10);

// Returns why the Deployment is not available; empty if it is.
std::string why_unavailable(const json& deployment) {
  for (const json& condition : kube::items_of(kube::child(deployment, "status"), "conditions")) {
    if (kube::string_field(condition, "type") != "Available") continue;
    return kube::string_field(condition, "status") == "True" ? "" : kube::string_field(condition, "message");
  }
  return "its status has no condition Available yet";
}

// Returns why the installed operator does not run jobs yet, or an empty text if it does.
Result<std::string> why_not_serving(const ApiClient& client, const InstallationCheck& check) {
  const auto deployment =
      client.call(kube::get({kDeployments, client.name_space(), check.deployment}), {}, kCallTimeout);
  if (!deployment) return deployment.error().with_context("reading Deployment " + check.deployment);
  if (const std::string why = why_unavailable(*deployment); !why.empty())
    return "Deployment " + check.deployment + " is not available: " + why;
  const auto lease =
      client.call(kube::get({kube::kLeases, client.name_space(), check.lease_name}), {}, kCallTimeout);
  if (!lease && lease.error().kind() == ErrorKind::kNotFound)
    return "Lease " + check.lease_name + " does not exist: no operator leads";
  if (!lease) return lease.error().with_context("reading Lease " + check.lease_name);
  const bool is_held = !kube::string_field(kube::child(*lease, "spec"), "holderIdentity").empty();
  return is_held ? "" : "Lease " + check.lease_name + " has no holder: no operator leads";
}

json minimal_job(const std::string& name_space) {
  json trainer = {{"name", "trainer"}, {"image", "trainer"}, {"command", {"trainer"}}};
  json pod = {{"spec", {{"containers", json::array({std::move(trainer)})}}}};
  json role = {{"name", "worker"}, {"template", std::move(pod)}};
  return {{"apiVersion", names::kApiVersion},
          {"kind", names::kKind},
          {"metadata", {{"name", "installation-check"}, {"namespace", name_space}}},
          {"spec", {{"roles", json::array({std::move(role)})}}}};
}

}  // namespace

Result<void> check_installation(const ApiClient& client, const Clock& clock, const InstallationCheck& check) {
  const Timestamp deadline = clock.now() + check.timeout;
  for (;;) {
    const auto why = why_not_serving(client, check);
    if (!why && !why.error().is_retryable()) return why.error();
    if (why && why->empty()) break;
    if (clock.now() >= deadline) return why ? Error(ErrorKind::kUnavailable, *why) : why.error();
    static_cast<void>(pause_for(kPollInterval, {}));
  }
  auto request = kube::create({kube::kTrainingJobs, client.name_space()}, minimal_job(client.name_space()),
                              kube::UnknownFields::kRefused);
  if (request) request->target += "&dryRun=All";
  for (;;) {
    const auto taken = client.call(request, {}, kCallTimeout);
    if (taken) return {};
    if (!taken.error().is_retryable() || clock.now() >= deadline)
      return taken.error().with_context("checking a TrainingJob as a dry run");
    static_cast<void>(pause_for(kPollInterval, {}));
  }
}

Result<void> run_installation_check(const OperatorOptions& options, const std::string& deployment) {
  auto access = find_api_server_access(options.kubeconfig_path, options.environment);
  if (!access) return access.error();
  const SystemClock clock;
  const ApiClient client(std::move(*access), clock);
  return check_installation(client, clock, {.deployment = deployment, .lease_name = options.lease_name});
}

}  // namespace ratoon::runtime
