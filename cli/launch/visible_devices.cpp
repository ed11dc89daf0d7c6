#include "cli/launch/visible_devices.h"

#include <functional>
#include <string_view>
#include <system_error>

#include "base/core/split_join.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

// Returns true for "nvidia0", and false for "nvidiactl".
bool is_device_file(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == name.npos;
}

// CUDA numbers the GPUs of a process from 0 on. Their device files may have other numbers.
std::vector<std::string> list_device_numbers(const fs::path& folder,
                                             const std::function<bool(const std::string& name)>& counts) {
  std::vector<std::string> devices;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    if (counts(at->path().filename())) devices.push_back(std::to_string(devices.size()));
  return devices;
}

}  // namespace

std::vector<std::string> visible_devices(const std::optional<std::string>& listed,
                                         const fs::path& device_files, const fs::path& driver_entries) {
  if (listed) {
    auto named = split(*listed, ',');
    std::erase(named, "");
    return named;
  }
  auto devices = list_device_numbers(device_files, is_device_file);
  if (devices.empty()) devices = list_device_numbers(driver_entries, [](const std::string&) { return true; });
  return devices;
}

}  // namespace ratoon::cli
