#include "base/core/boot_id.h"

#include <filesystem>
#include <system_error>

#include "base/core/read_file.h"

namespace ratoon {
namespace {

constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";
constexpr const char* kNetworkNamespacePath = "/proc/self/ns/net";

}  // namespace

Result<std::string> read_boot_id() {
  auto text = read_file_or_none(kBootIdPath);
  if (!text) return text.error().with_context("identifying this machine");
  while (text->ends_with('\n')) text->pop_back();
  return text;
}

Result<std::string> read_network_namespace() {
  std::error_code code;
  const auto name = std::filesystem::read_symlink(kNetworkNamespacePath, code);
  if (!code) return name.string();
  const Error error =
      system_error(code.value(), std::string("identifying this machine: ") + kNetworkNamespacePath);
  if (error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kPermissionDenied)
    return std::string();
  return error;
}

}  // namespace ratoon
