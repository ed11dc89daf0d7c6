#include "agent/src/devices/health/watched_devices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "agent/src/devices/health/device_watch.h"
#include "agent/src/devices/health/nvml.h"
#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"

namespace ratoon::devices {
namespace {

struct DeviceWatchRegistry {
  Mutex mutex;
  std::map<std::string, std::shared_ptr<DeviceWatch>> by_bus_id RATOON_GUARDED_BY(mutex);
};

DeviceWatchRegistry& device_watch_registry() {
  static const NeverDestroyed<DeviceWatchRegistry> all;
  return *all;
}

std::vector<std::shared_ptr<DeviceWatch>> all_device_watches() {
  const MutexLock lock(device_watch_registry().mutex);
  std::vector<std::shared_ptr<DeviceWatch>> all;
  for (const auto& [bus_id, watch] : device_watch_registry().by_bus_id) all.push_back(watch);
  return all;
}

}  // namespace

void watch_device(const std::string& bus_id, const std::function<void(const std::string&)>& tell) {
  const MutexLock lock(device_watch_registry().mutex);
  auto& watch = device_watch_registry().by_bus_id[bus_id];
  if (watch) return;
  watch = std::make_shared<DeviceWatch>([bus_id] { return open_nvml_device(kNvmlFile, bus_id); }, tell);
}

std::vector<WatchedDevice> watched_devices() {
  std::vector<WatchedDevice> devices;
  for (const auto& watch : all_device_watches())
    if (auto uuid = watch->uuid(); !uuid.empty())
      devices.push_back({.uuid = std::move(uuid), .record = watch->record()});
  return devices;
}

DeviceFacts read_device_facts(Duration within) {
  const SystemClock clock;
  const Timestamp until = clock.now() + within;
  DeviceFacts facts;
  for (const auto& watch : all_device_watches())
    facts = merge_facts(facts, watch->facts(std::max(until - clock.now(), Duration::zero())));
  return facts;
}

}  // namespace ratoon::devices
