// Runs the whole operator by one function, which starts and stops the caches, the coordinator, the controller
// and the metrics in the right order.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/result.h>

#include "base/contract/names.h"
#include "operator/kube/objects/election.h"
#include "operator/runtime/api_server/discovery.h"

namespace ratoon::runtime {

constexpr int kWorkersMax = 64;
inline constexpr std::uint16_t kProbePort = 9403;

struct OperatorOptions {
  std::string name_space;       // empty: all
  std::string kubeconfig_path;  // empty: the service account of this pod
  std::string advertise_url;    // empty: the address of the Service that RATOON_COORDINATOR_SERVICE names
  // The certificate for members comes from tls.crt, tls.key and ca.crt in the folder `tls_folder`.
  // Alternatively, the operator makes it and keeps it in the Secret `tls_secret`. If `tls_folder` and
  // `tls_secret` are empty, members call by plain HTTP.
  std::string tls_folder;
  std::string tls_secret;
  std::string tls_server_name;  // in that certificate; empty: the host of the address that members call
  std::string notices_path;     // a file of rules that change the built-in rules about notices; empty: none
  std::string launcher_image;   // with ratoon-launcher, for roles with agent: Launcher; empty: none
  std::string launcher_pull_policy;  // of that image, such as IfNotPresent; empty: the API server's default
  std::uint16_t coordinator_port = names::port::kCoordinator;
  std::uint16_t metrics_port = names::port::kOperatorMetrics;
  std::uint16_t probe_port = kProbePort;
  // The operator handles at most this many jobs of one namespace at once. Each job makes one call to the API
  // server at a time.
  std::uint16_t workers = 4;
  std::uint32_t processes_per_namespace = 0;  // of the jobs that have pods, together; 0: no limit
  bool is_text_log = false;
  bool uses_election = false;  // several operators run: lead only while holding the lease
  std::string lease_name = "ratoon-operator";
  kube::ElectionTimes election_times{};
  EnvironmentLookup environment;

  [[nodiscard]] bool is_tls() const { return !tls_folder.empty() || !tls_secret.empty(); }
};

// Runs until SIGTERM or SIGINT. Blocks SIGTERM and SIGINT in the calling thread, which must be the process's
// first thread. An error explains why the operator cannot start, or says that another operator leads now.
[[nodiscard]] Result<void> run_operator(const OperatorOptions& options);

}  // namespace ratoon::runtime
