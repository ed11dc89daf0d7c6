// PluginCredentials: the token of a credential plugin, fetched again shortly before it expires and after a
// refusal by the server. A certificate of a plugin is used as long as the program runs, because connections
// are made with it.
//
// Thread contract: any thread; one thread runs the plugin, and the others wait for it.
#pragma once

#include <mutex>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/access/api_server_access.h"
#include "operator/runtime/api_server/run_program.h"

namespace ratoon::runtime {

// Runs the plugin and returns its credential. If the program does not exist, the error has the install hint
// of the kubeconfig.
[[nodiscard]] Result<kube::PluginCredential> fetch_credential(const kube::CredentialPlugin& plugin,
                                                              const RunProgram& run);

class PluginCredentials {
 public:
  // `first` is the credential that was fetched before. The clock must outlive this object.
  PluginCredentials(kube::CredentialPlugin plugin, kube::PluginCredential first, const Clock& clock,
                    RunProgram run);

  // The value is empty if the plugin gives only a certificate.
  [[nodiscard]] Result<std::string> token();
  // Reports that the server refused that token: the next call fetches another token, unless this was done
  // already.
  void doubt(const std::string& token);

 private:
  const kube::CredentialPlugin plugin_;
  const Clock& clock_;
  const RunProgram run_;
  std::mutex mutex_;
  kube::PluginCredential credential_;  // guarded by mutex_
  bool is_refused_ = false;            // guarded by mutex_
};

}  // namespace ratoon::runtime
