#include "agent/src/objects/remote/open_remote_store.h"

#include <utility>

#include "agent/src/objects/credentials/chain.h"
#include "agent/src/objects/credentials/credential_cache.h"
#include "agent/src/objects/credentials/shared_config.h"
#include "agent/src/objects/remote/http_store.h"
#include "agent/src/objects/remote/open_with.h"
#include "agent/src/objects/s3/s3_store.h"

namespace ratoon::objects {
namespace {

using OpenResult = Result<std::shared_ptr<ObjectStore>>;

OpenResult open_s3(const StoreUri& uri, const StoreOptions& options, const HttpDependencies& dependencies) {
  const auto shared = read_shared_config(dependencies.environment, options);
  if (!shared) return shared.error().with_context("opening " + uri.shown);
  S3Location place{.endpoint = options.endpoint,
                   .region = region_of(dependencies.environment, *shared, options),
                   .bucket = uri.bucket,
                   .uses_path_style = path_style_of(*shared, options)};
  if (place.endpoint.empty()) place.endpoint = endpoint_of("s3", dependencies.environment, *shared);
  if (place.region.empty()) place.region = "us-east-1";
  std::unique_ptr<CredentialCache> credential_cache;
  if (!options.is_anonymous)
    credential_cache = std::make_unique<CredentialCache>(make_default_credential_chain(dependencies, options),
                                                         dependencies.clock);
  auto client =
      S3Client::create(dependencies, std::move(place), std::move(credential_cache), timeouts_of(options));
  if (!client) return client.error().with_context("opening " + uri.shown);
  return std::shared_ptr<ObjectStore>(std::make_shared<S3Store>(std::move(*client), uri.path, uri.shown));
}

}  // namespace

OpenResult open_remote_store_with(const StoreUri& uri, const StoreOptions& options,
                                  const HttpDependencies& dependencies) {
  if (uri.scheme == StoreScheme::kS3) return open_s3(uri, options, dependencies);
  return std::shared_ptr<ObjectStore>(std::make_shared<HttpStore>(dependencies, uri, options));
}

OpenResult open_remote_store(const StoreUri& uri, const StoreOptions& options) {
  const auto dependencies = system_dependencies(options);
  if (!dependencies) return dependencies.error().with_context("opening " + uri.shown);
  return open_remote_store_with(uri, options, *dependencies);
}

}  // namespace ratoon::objects
