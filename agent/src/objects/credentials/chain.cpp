#include "agent/src/objects/credentials/chain.h"

#include <utility>

#include "agent/src/objects/credentials/served_sources.h"
#include "agent/src/objects/credentials/static_sources.h"
#include "agent/src/objects/credentials/sts.h"

namespace ratoon::objects {
namespace {

class FirstOf final : public CredentialSource {
 public:
  explicit FirstOf(std::vector<std::unique_ptr<CredentialSource>> sources) : sources_(std::move(sources)) {}

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
      looked.append(looked.empty() ? "" : "; ").append(source->why_not());
    }
    why_not_ = std::move(looked);
    return std::optional<Credentials>();
  }

  std::string why_not() const override { return chosen_ != nullptr ? chosen_->why_not() : why_not_; }

 private:
  std::vector<std::unique_ptr<CredentialSource>> sources_;
  CredentialSource* chosen_ = nullptr;
  std::string why_not_;
};

}  // namespace

std::unique_ptr<CredentialSource> first_of(std::vector<std::unique_ptr<CredentialSource>> sources) {
  return std::make_unique<FirstOf>(std::move(sources));
}

std::unique_ptr<CredentialSource> default_chain(const HttpDependencies& dependencies,
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
  return first_of(std::move(sources));
}

}  // namespace ratoon::objects
