#include "agent/src/objects/remote/open_remote_store.h"

#include <utility>

#include "agent/src/objects/credentials/chain.h"
#include "agent/src/objects/credentials/keeper.h"
#include "agent/src/objects/credentials/shared_config.h"
#include "agent/src/objects/remote/http_store.h"
#include "agent/src/objects/remote/open_with.h"
#include "agent/src/objects/s3/s3_store.h"

namespace ratoon::objects {
namespace {

using Opened = Result<std::shared_ptr<ObjectStore>>;

Opened open_s3(const StoreUri& uri, const StoreOptions& options, const Surroundings& surroundings) {
  const auto shared = read_shared_config(surroundings.environment, options);
  if (!shared) return shared.error().with_context("opening " + uri.shown);
  S3Place place{.endpoint = options.endpoint,
                .region = region_of(surroundings.environment, *shared, options),
                .bucket = uri.bucket,
                .uses_path_style = path_style_of(*shared, options)};
  if (place.endpoint.empty()) place.endpoint = endpoint_of("s3", surroundings.environment, *shared);
  if (place.region.empty()) place.region = "us-east-1";
  std::unique_ptr<CredentialKeeper> keeper;
  if (!options.is_anonymous)
    keeper = std::make_unique<CredentialKeeper>(default_chain(surroundings, options), surroundings.clock);
  auto client = S3Client::make(surroundings, std::move(place), std::move(keeper), patience_of(options));
  if (!client) return client.error().with_context("opening " + uri.shown);
  return std::shared_ptr<ObjectStore>(std::make_shared<S3Store>(std::move(*client), uri.path, uri.shown));
}

}  // namespace

Opened open_remote_store_with(const StoreUri& uri, const StoreOptions& options,
                              const Surroundings& surroundings) {
  if (uri.scheme == StoreScheme::kS3) return open_s3(uri, options, surroundings);
  return std::shared_ptr<ObjectStore>(std::make_shared<HttpStore>(surroundings, uri, options));
}

Opened open_remote_store(const StoreUri& uri, const StoreOptions& options) {
  const auto surroundings = system_surroundings(options);
  if (!surroundings) return surroundings.error().with_context("opening " + uri.shown);
  return open_remote_store_with(uri, options, *surroundings);
}

}  // namespace ratoon::objects
