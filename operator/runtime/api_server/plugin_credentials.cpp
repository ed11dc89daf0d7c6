#include "operator/runtime/api_server/plugin_credentials.h"

#include <utility>

namespace ratoon::runtime {
namespace {

constexpr Duration kRefreshBeforeExpiry = std::chrono::seconds(10);

}  // namespace

Result<kube::PluginCredential> fetch_credential(const kube::CredentialPlugin& plugin, const RunProgram& run) {
  ProgramCall call{.words = {plugin.command}, .variables = plugin.variables};
  call.words.insert(call.words.end(), plugin.arguments.begin(), plugin.arguments.end());
  const auto printed = run(call);
  if (printed) return kube::decode_plugin_credential(plugin, *printed);
  const Error failed = printed.error().with_context("fetching credentials with the plugin of the kubeconfig");
  if (failed.kind() != ErrorKind::kNotFound) return failed;
  return Error(
      ErrorKind::kNotFound,
      failed.message() + (plugin.install_hint.empty() ? "; install it, and check that PATH has its folder"
                                                      : "; the kubeconfig says: " + plugin.install_hint));
}

PluginCredentials::PluginCredentials(kube::CredentialPlugin plugin, kube::PluginCredential first,
                                     const Clock& clock, RunProgram run)
    : plugin_(std::move(plugin)),
      clock_(clock),
      run_program_(std::move(run)),
      credential_(std::move(first)) {}

Result<std::string> PluginCredentials::token() {
  const MutexLock lock(mutex_);
  const bool is_over =
      credential_.expires_at &&
      clock_.wall_now().since_epoch >= credential_.expires_at->since_epoch - kRefreshBeforeExpiry;
  if (!is_over && !is_refused_) return credential_.token;
  auto fetched = fetch_credential(plugin_, run_program_);
  if (!fetched) return fetched.error();
  is_refused_ = false;
  credential_ = *std::move(fetched);
  return credential_.token;
}

void PluginCredentials::mark_refused(const std::string& token) {
  const MutexLock lock(mutex_);
  if (token == credential_.token) is_refused_ = true;
}

}  // namespace ratoon::runtime
