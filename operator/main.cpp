// ratoon-operator: watches TrainingJobs and runs them. One process contains the coordinator, the caches and
// the controller. All state is in the cluster's API server, so that another operator can take over.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/contract/exit_code.h"
#include "base/core/streams/standard_output.h"
#include "operator/runtime/installation_check.h"
#include "operator/runtime/operator.h"
#include "operator/runtime/operator_config.h"

namespace {

constexpr const char* kExamples = R"(Examples:
  ratoon-operator --namespace training       in a pod, for the jobs of one namespace
  ratoon-operator --all-namespaces           in a pod, for the jobs of all namespaces
  ratoon-operator --kubeconfig ~/.kube/config --advertise-url http://192.0.2.10:9443
                                             outside of the cluster; members must reach that address

Metrics are on port 9402, the probes /healthz and /readyz on port 9403.
Exit codes: 0 stopped by SIGTERM or SIGINT, 1 the cluster cannot be used, the lease was lost or the
installation does not pass --check-installation, 82 the command line is wrong,
84 standard output cannot be written.)";

// Applies the file that --config names, before the flags are parsed, so that flags override the file.
ratoon::Result<void> apply_config_file(int argc, char** argv, ratoon::runtime::OperatorOptions& options) {
  std::string path;
  CLI::App app;
  app.allow_extras();
  app.set_help_flag();
  app.add_option("--config", path);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError&) {
    return {};  // the full parse reports the error
  }
  return path.empty() ? ratoon::Result<void>() : ratoon::runtime::read_operator_config(path, options);
}

// Returns the exit code of a command that has printed text: 0, or another code, after an error message, if a
// part of the text could not be written.
int flush_and_exit_code() {
  const auto written = ratoon::flush_output();
  if (written) return 0;
  std::fprintf(stderr, "ratoon-operator: %s\n", written.error().message().c_str());
  return static_cast<int>(ratoon::exit_code_of(written.error().kind()));
}

int run_check(const ratoon::runtime::OperatorOptions& options, const std::string& deployment) {
  if (const auto passed = ratoon::runtime::run_installation_check(options, deployment); !passed) {
    std::fprintf(stderr, "ratoon-operator: %s\n", passed.error().message().c_str());
    return 1;
  }
  std::printf("Deployment %s is available, an operator leads, and the API server accepts a TrainingJob.\n",
              deployment.c_str());
  return flush_and_exit_code();
}

std::optional<std::string> find_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void add_launcher_options(CLI::App& app, ratoon::runtime::OperatorOptions& options) {
  app.add_option("--launcher-image", options.launcher_image,
                 "The image from which an init container copies ratoon-launcher into pods of roles with "
                 "agent: Launcher (default: none, and such roles are refused)");
  app.add_option("--launcher-pull-policy", options.launcher_pull_policy,
                 "The imagePullPolicy of the init container with ratoon-launcher (default: the API server's)")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}));
}

int run(const ratoon::runtime::OperatorOptions& options) {
  const auto ended = ratoon::runtime::run_operator(options);
  if (ended) return 0;
  std::fprintf(stderr, "ratoon-operator: %s\n", ended.error().message().c_str());
  return ended.error().kind() == ratoon::ErrorKind::kInvalid ? 82 : 1;
}

void add_namespace_limits(CLI::App& app, ratoon::runtime::OperatorOptions& options) {
  app.add_option("--workers", options.workers, "How many jobs of one namespace are handled at once")
      ->check(CLI::Range(1, ratoon::runtime::kWorkersMax))
      ->capture_default_str();
  app.add_option(
         "--processes-per-namespace", options.processes_per_namespace,
         "How many processes the jobs of one namespace may have together; a job that would exceed the limit "
         "waits without pods (default: no limit)")
      ->check(CLI::Range(std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("COUNT");
}

}  // namespace

int main(int argc, char** argv) {
  ratoon::runtime::OperatorOptions options;
  options.environment = find_variable;
  if (const auto applied = apply_config_file(argc, argv, options); !applied) {
    std::fprintf(stderr, "ratoon-operator: %s\n", applied.error().message().c_str());
    return 82;
  }
  std::string config_path;
  std::string checked_deployment;
  bool is_for_all = false;
  CLI::App app(
      "Runs TrainingJobs on Kubernetes: replaces members that are lost and brings the rest back to "
      "work in seconds.",
      "ratoon-operator");
  app.footer(kExamples);
  app.add_option("--config", config_path,
                 "Read options from this file (docs/operate/install.md); flags take precedence");
  auto* one = app.add_option("--namespace", options.name_space, "Serve only the jobs of this namespace");
  app.add_flag("--all-namespaces", is_for_all, "Serve the jobs of all namespaces (the default)")
      ->excludes(one);
  app.add_option("--kubeconfig", options.kubeconfig_path,
                 "Use this kubeconfig, not the pod's service account")
      ->check(CLI::ExistingFile);
  app.add_option("--advertise-url", options.advertise_url,
                 "The address that members call (default: that of the Service named by "
                 "RATOON_COORDINATOR_SERVICE)");
  auto* folder =
      app.add_option(
             "--tls-folder", options.tls_folder,
             "Members call over TLS: the folder of tls.crt, tls.key and ca.crt, read again when they change "
             "(default: plain HTTP)")
          ->check(CLI::ExistingDirectory);
  app.add_option("--tls-secret", options.tls_secret,
                 "Members call over TLS with a certificate that the operator makes, renews and keeps in this "
                 "Secret of its own namespace")
      ->excludes(folder);
  app.add_option(
      "--tls-server-name", options.tls_server_name,
      "The name that members expect in the certificate (default: the host of the address that they call)");
  app.add_option("--notices", options.notices_path,
                 "A file with changes of the rules about nodes that will end (docs/operate/notices.yaml)");
  add_launcher_options(app, options);
  app.add_option("--coordinator-port", options.coordinator_port, "Port for members")->capture_default_str();
  app.add_option("--metrics-port", options.metrics_port, "Port for metrics")->capture_default_str();
  app.add_option("--probe-port", options.probe_port, "Port for the probes /healthz and /readyz")
      ->capture_default_str();
  add_namespace_limits(app, options);
  app.add_flag("--leader-elect,!--no-leader-elect", options.uses_election,
               "Run jobs only while this operator holds the lease; other operators stand by");
  app.add_option("--lease-name", options.lease_name,
                 "The name of the lease of the leading operator, in the operator's own namespace")
      ->capture_default_str();
  app.add_option(
         "--check-installation", checked_deployment,
         "Run no jobs: check that this Deployment is available, that one of its operators leads and that "
         "the API server accepts a TrainingJob, then exit")
      ->type_name("DEPLOYMENT");
  app.add_flag("--text-log,!--json-log", options.is_text_log, "Write the log for people, not as JSON lines");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? flush_and_exit_code() : 82;
  }
  if (is_for_all) options.name_space.clear();
  return checked_deployment.empty() ? run(options) : run_check(options, checked_deployment);
}
