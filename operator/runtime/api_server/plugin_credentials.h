// PluginCredentials: stores the token of a credential plugin, and runs the plugin again shortly before the
// token expires and after the server refused it. PluginCredentials does not renew a certificate from a
// plugin: all connections to the API server use the plugin's first certificate.
//
// Thread contract: any thread may call its methods; one thread runs the plugin, and other callers wait.
#pragma once

#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "base/core/threads/mutex.h"
#include "operator/kube/access/api_server_access.h"
#include "operator/runtime/api_server/run_program.h"

namespace ratoon::runtime {

// Runs the plugin and returns its credential. If the plugin is not installed, the error contains the
// kubeconfig's installHint.
[[nodiscard]] Result<kube::PluginCredential> fetch_credential(const kube::CredentialPlugin& plugin,
                                                              const RunProgram& run);

class PluginCredentials {
 public:
  // `first`: the credential that fetch_credential() returned before. The clock must outlive this object.
  PluginCredentials(kube::CredentialPlugin plugin, kube::PluginCredential first, const Clock& clock,
                    RunProgram run);

  // Returns the token, which is empty if the plugin gives only a certificate.
  [[nodiscard]] Result<std::string> token();
  // Records that the server refused the token: the next call of token() runs the plugin again, unless another
  // thread has already run it after the refusal.
  void mark_refused(const std::string& token);

 private:
  const kube::CredentialPlugin plugin_;
  const Clock& clock_;
  const RunProgram run_program_;
  Mutex mutex_;
  kube::PluginCredential credential_ RATOON_GUARDED_BY(mutex_);
  bool is_refused_ RATOON_GUARDED_BY(mutex_) = false;
};

}  // namespace ratoon::runtime
