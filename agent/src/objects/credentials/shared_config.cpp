#include "agent/src/objects/credentials/shared_config.h"

#include <array>

#include "base/core/read_file.h"

namespace ratoon::objects {
namespace {

std::string config_file_path(const Environment& environment, const std::string& name,
                             const std::string& usual) {
  std::string path = environment(name).value_or(usual);
  if (path.starts_with("~/")) path = environment("HOME").value_or("") + path.substr(1);
  return path;
}

Result<Sections> read_sections(const std::string& path) {
  // As for boto3, a file that does not exist or may not be read has no settings: for example, a container
  // runs as another user than that of its home folder and gets its keys from the environment.
  const auto text = read_file_or_none(path);
  if (!text) return text.error().with_context("reading the shared settings");
  return parse_shared_file(*text, path);
}

}  // namespace

Result<SharedConfig> read_shared_config(const Environment& environment, const StoreOptions& options) {
  SharedConfig shared{
      .credentials_path = config_file_path(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
      .config_path = config_file_path(environment, "AWS_CONFIG_FILE", "~/.aws/config")};
  auto credentials = read_sections(shared.credentials_path);
  if (!credentials) return credentials.error();
  auto config = read_sections(shared.config_path);
  if (!config) return config.error();
  shared.credentials = *std::move(credentials);
  shared.config = *std::move(config);

  auto asked_for = environment("AWS_PROFILE");
  if (!asked_for) asked_for = environment("AWS_DEFAULT_PROFILE");
  if (!options.profile.empty()) asked_for = options.profile;
  shared.profile_name = asked_for.value_or("default");
  shared.profile = find_profile(shared.profile_name, shared.credentials, shared.config);
  if (!shared.profile && asked_for && *asked_for != "default") {
    return Error(ErrorKind::kInvalid, "the profile '" + *asked_for + "' is neither in " +
                                          shared.credentials_path + " nor in " + shared.config_path +
                                          "; check the option profile or AWS_PROFILE");
  }
  return shared;
}

std::string region_of(const Environment& environment, const SharedConfig& shared,
                      const StoreOptions& options) {
  if (!options.region.empty()) return options.region;
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = environment(name)) return *region;
  }
  return shared.get("region");
}

std::string endpoint_of(const std::string& service, const Environment& environment,
                        const SharedConfig& shared) {
  if (environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").value_or("") == "true") return "";
  if (auto url = environment(service == "s3" ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL_STS")) return *url;
  if (auto url = environment("AWS_ENDPOINT_URL")) return *url;
  if (shared.profile) {
    const auto& services = shared.profile->services;
    if (const auto own = services.find(service + ".endpoint_url"); own != services.end()) return own->second;
    if (std::string url = shared.get("endpoint_url"); !url.empty()) return url;
  }
  return service == "s3" ? environment("S3_ENDPOINT_URL").value_or("") : "";
}

std::optional<bool> path_style_of(const SharedConfig& shared, const StoreOptions& options) {
  if (options.uses_path_style) return options.uses_path_style;
  const std::string style = shared.get("s3.addressing_style");
  if (style == "path") return true;
  if (style == "virtual") return false;
  return std::nullopt;
}

}  // namespace ratoon::objects
