#include "agent/src/objects/credentials/chain.h"

#include <utility>

#include "agent/src/objects/credentials/http_credential_sources.h"
#include "agent/src/objects/credentials/static_sources.h"
#include "agent/src/objects/credentials/sts.h"

namespace ratoon::objects {
namespace {

class CredentialChain final : public CredentialSource {
 public:
  explicit CredentialChain(std::vector<std::unique_ptr<CredentialSource>> sources)
      : sources_(std::move(sources)) {}

  Result<std::optional<Credentials>> fetch(const std::stop_token& stop) override {
    if (chosen_ != nullptr) return chosen_->fetch(stop);
    std::string looked;
    for (const auto& source : sources_) {
      auto found = source->fetch(stop);
      if (!found) return found;
      if (*found) {
        chosen_ = source.get();
        return found;
      }
      looked.append(looked.empty() ? "" : "; ").append(source->missing_reason());
    }
    missing_reason_ = std::move(looked);
    return std::optional<Credentials>();
  }

  std::string missing_reason() const override {
    return chosen_ != nullptr ? chosen_->missing_reason() : missing_reason_;
  }

 private:
  std::vector<std::unique_ptr<CredentialSource>> sources_;
  CredentialSource* chosen_ = nullptr;
  std::string missing_reason_;
};

}  // namespace

std::unique_ptr<CredentialSource> make_credential_chain(
    std::vector<std::unique_ptr<CredentialSource>> sources) {
  return std::make_unique<CredentialChain>(std::move(sources));
}

std::unique_ptr<CredentialSource> make_default_credential_chain(const HttpDependencies& dependencies,
                                                                const StoreOptions& options) {
  std::vector<std::unique_ptr<CredentialSource>> sources;
  // A profile that the program names is used before keys in the environment; a profile that AWS_PROFILE names
  // is used after them.
  if (options.profile.empty()) sources.push_back(environment_source(dependencies.environment));
  sources.push_back(profile_role_source(dependencies, options));
  sources.push_back(web_identity_source(dependencies, options));
  sources.push_back(profile_source(dependencies.environment, options));
  sources.push_back(container_source(dependencies));
  sources.push_back(metadata_source(dependencies));
  return make_credential_chain(std::move(sources));
}

}  // namespace ratoon::objects
