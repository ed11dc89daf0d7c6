// The whole operator as one call: caches, coordinator, controller, metrics, and the order in which they start
// and stop.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/result.h>

#include "base/contract/names.h"
#include "operator/runtime/whereabouts.h"

namespace ratoon::runtime {

constexpr int kWorkersMax = 64;

struct OperatorOptions {
  std::string name_space;       // empty: all
  std::string kubeconfig_path;  // empty: the service account of the pod that we run in
  std::string advertise_url;    // empty: the address of the Service that RATOON_COORDINATOR_SERVICE names
  std::string tls_folder;       // tls.crt, tls.key and ca.crt of the door; empty: it is plain HTTP
  std::string tls_server_name;  // in that certificate; empty: the host of the address that members call
  std::uint16_t coordinator_port = names::port::kCoordinator;
  std::uint16_t metrics_port = names::port::kOperatorMetrics;
  // Jobs that are looked at and written at once: each has a call to the API server under way at most.
  std::uint16_t workers = 4;
  bool is_text_log = false;
  bool is_elected = false;  // several of us run: lead only while the lease is ours
  std::string lease_name = "ratoon-operator";
  Environment environment;
};

// Serves until SIGTERM or SIGINT, which it blocks in the calling thread; that must be the first. An error
// says why it cannot begin, or that another operator leads now.
[[nodiscard]] Result<void> run_operator(const OperatorOptions& options);

}  // namespace ratoon::runtime
