// PluginCredentials: the token of a credential plugin, fetched again shortly before it ends and where the
// server refuses it. A certificate that a plugin gives is used as long as the program runs: connections are
// made with it.
//
// Thread contract: any thread; one of them runs the plugin, and the others wait for it.
#pragma once

#include <mutex>
#include <string>

#include <ratoon/result.h>

#include "base/core/clock.h"
#include "operator/kube/access.h"
#include "operator/runtime/run_program.h"

namespace ratoon::runtime {

// What the plugin gives now. A program that is not there is named with the hint of the kubeconfig.
[[nodiscard]] Result<kube::PluginCredential> fetch_credential(const kube::CredentialPlugin& plugin,
                                                              const RunProgram& run);

class PluginCredentials {
 public:
  // `first` was fetched before. The clock outlives it.
  PluginCredentials(kube::CredentialPlugin plugin, kube::PluginCredential first, const Clock& clock,
                    RunProgram run);

  // Empty where the plugin gives a certificate alone.
  [[nodiscard]] Result<std::string> token();
  // The server refused that token: the next call fetches another one, unless it is another one already.
  void doubt(const std::string& token);

 private:
  const kube::CredentialPlugin plugin_;
  const Clock& clock_;
  const RunProgram run_;
  std::mutex mutex_;
  kube::PluginCredential credential_;  // guarded by mutex_
  bool is_doubted_ = false;            // guarded by mutex_
};

}  // namespace ratoon::runtime
