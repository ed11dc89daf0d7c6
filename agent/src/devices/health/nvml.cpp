#include "agent/src/devices/health/nvml.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <dlfcn.h>

#include "base/core/threads/pause.h"

namespace ratoon::devices {
namespace {

// Declares the part of NVML's binary interface that this file uses: numbers, structures and functions.
using NvmlHandle = void*;
using NvmlEventSet = void*;
using NvmlStatus = int;
constexpr NvmlStatus kNvmlSuccess = 0;
constexpr NvmlStatus kNvmlTimeout = 10;
constexpr NvmlStatus kNvmlGpuIsLost = 15;
constexpr unsigned kGpuTemperatureSensor = 0;
constexpr unsigned kSmClock = 1;
constexpr unsigned kCorrectedErrors = 0;
constexpr unsigned kUncorrectedErrors = 1;
constexpr unsigned kVolatileEccCounter = 0;
constexpr unsigned long long kXidEvent = 8;
constexpr std::size_t kUuidBytesMax = 96;
// The causes of lower clocks, as bits.
constexpr unsigned long long kPowerLimitBit = 0x4;
constexpr unsigned long long kHardwareSlowdownBit = 0x8;
constexpr unsigned long long kTemperatureBits = 0x20 | 0x40;
constexpr unsigned long long kPowerSupplyBit = 0x80;

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;
};
struct NvmlEvent {
  NvmlHandle device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

// NvmlLibrary holds the functions of NVML. NVML is never unloaded, because it may have started threads. A
// function that this version of NVML lacks is null.
struct NvmlLibrary {
  void* handle = nullptr;

  template <class Signature>
  [[nodiscard]] Signature* find(const char* name) const {
    return reinterpret_cast<Signature*>(::dlsym(handle, name));
  }

  NvmlStatus (*init)() = find<NvmlStatus()>("nvmlInit_v2");
  const char* (*describe)(NvmlStatus) = find<const char*(NvmlStatus)>("nvmlErrorString");
  NvmlStatus (*device_at)(const char*, NvmlHandle*) =
      find<NvmlStatus(const char*, NvmlHandle*)>("nvmlDeviceGetHandleByPciBusId_v2");
  NvmlStatus (*uuid)(NvmlHandle, char*,
                     unsigned) = find<NvmlStatus(NvmlHandle, char*, unsigned)>("nvmlDeviceGetUUID");
  NvmlStatus (*temperature)(NvmlHandle, unsigned, unsigned*) =
      find<NvmlStatus(NvmlHandle, unsigned, unsigned*)>("nvmlDeviceGetTemperature");
  NvmlStatus (*power)(NvmlHandle,
                      unsigned*) = find<NvmlStatus(NvmlHandle, unsigned*)>("nvmlDeviceGetPowerUsage");
  NvmlStatus (*clock)(NvmlHandle, unsigned, unsigned*) =
      find<NvmlStatus(NvmlHandle, unsigned, unsigned*)>("nvmlDeviceGetClockInfo");
  NvmlStatus (*utilization)(NvmlHandle, NvmlUtilization*) =
      find<NvmlStatus(NvmlHandle, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates");
  NvmlStatus (*memory)(NvmlHandle,
                       NvmlMemory*) = find<NvmlStatus(NvmlHandle, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  NvmlStatus (*errors)(NvmlHandle, unsigned, unsigned, unsigned long long*) =
      find<NvmlStatus(NvmlHandle, unsigned, unsigned, unsigned long long*)>("nvmlDeviceGetTotalEccErrors");
  NvmlStatus (*remapped)(NvmlHandle, unsigned*, unsigned*, unsigned*, unsigned*) =
      find<NvmlStatus(NvmlHandle, unsigned*, unsigned*, unsigned*, unsigned*)>("nvmlDeviceGetRemappedRows");
  NvmlStatus (*slowdown)(NvmlHandle, unsigned long long*) =
      find<NvmlStatus(NvmlHandle, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  NvmlStatus (*make_events)(NvmlEventSet*) = find<NvmlStatus(NvmlEventSet*)>("nvmlEventSetCreate");
  NvmlStatus (*free_events)(NvmlEventSet) = find<NvmlStatus(NvmlEventSet)>("nvmlEventSetFree");
  NvmlStatus (*add_events)(NvmlHandle, unsigned long long, NvmlEventSet) =
      find<NvmlStatus(NvmlHandle, unsigned long long, NvmlEventSet)>("nvmlDeviceRegisterEvents");
  NvmlStatus (*wait)(NvmlEventSet, NvmlEvent*,
                     unsigned) = find<NvmlStatus(NvmlEventSet, NvmlEvent*, unsigned)>("nvmlEventSetWait_v2");
};

class NvmlDevice final : public DeviceSource {
 public:
  NvmlDevice(const NvmlLibrary& library, NvmlHandle device, std::string uuid)
      : nvml_(library), device_(device), uuid_(std::move(uuid)) {
    if (!nvml_.make_events || !nvml_.free_events || !nvml_.add_events || !nvml_.wait) return;
    if (nvml_.make_events(&events_) != kNvmlSuccess) {
      events_ = nullptr;
    } else if (nvml_.add_events(device_, kXidEvent, events_) != kNvmlSuccess) {
      nvml_.free_events(events_);
      events_ = nullptr;
    }
  }
  ~NvmlDevice() override {
    if (events_ != nullptr) nvml_.free_events(events_);
  }

  [[nodiscard]] std::string uuid() const override { return uuid_; }
  [[nodiscard]] bool reports_xids() const override { return events_ != nullptr; }

  DeviceReading read() override {
    DeviceReading reading;
    is_lost_ = false;
    if (const auto celsius = ask<unsigned>(nvml_.temperature, kGpuTemperatureSensor))
      reading.temperature_celsius = *celsius;
    if (const auto milliwatts = ask<unsigned>(nvml_.power)) reading.power_watts = *milliwatts / 1e3;
    if (const auto megahertz = ask<unsigned>(nvml_.clock, kSmClock)) reading.clock_hertz = *megahertz * 1e6;
    if (const auto percent = ask<NvmlUtilization>(nvml_.utilization))
      reading.utilization = percent->gpu / 1e2;
    if (const auto memory = ask<NvmlMemory>(nvml_.memory)) {
      reading.memory_bytes = memory->total;
      reading.memory_used_bytes = memory->used;
    }
    reading.corrected_errors = count_errors(kCorrectedErrors);
    reading.uncorrectable_errors = count_errors(kUncorrectedErrors);
    read_remapped_rows(reading);
    if (const auto bits = ask<unsigned long long>(nvml_.slowdown)) {
      reading.slowdown = ClockSlowdown{.is_by_power_limit = (*bits & kPowerLimitBit) != 0,
                                       .is_by_temperature = (*bits & kTemperatureBits) != 0,
                                       .is_by_power_supply = (*bits & kPowerSupplyBit) != 0,
                                       .is_by_hardware_signal = (*bits & kHardwareSlowdownBit) != 0};
    }
    reading.is_lost = is_lost_;
    return reading;
  }

  std::optional<std::uint64_t> wait_for_xid(Duration at_most) override {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    NvmlEvent event{};
    const NvmlStatus status = nvml_.wait(events_, &event, static_cast<unsigned>(std::max<long>(limit, 0)));
    // A driver whose call fails, for example because the device is lost, does not wait.
    if (status != kNvmlSuccess && status != kNvmlTimeout) static_cast<void>(pause_for(at_most, {}));
    if (status != kNvmlSuccess || event.type != kXidEvent) return std::nullopt;
    return event.data;
  }

 private:
  // Calls a function that stores its result in its last argument.
  template <class Value, class Function, class... Arguments>
  std::optional<Value> ask(Function function, Arguments... arguments) {
    Value value{};
    if (function == nullptr || !is_done(function(device_, arguments..., &value))) return std::nullopt;
    return value;
  }

  bool is_done(NvmlStatus status) {
    is_lost_ |= status == kNvmlGpuIsLost;
    return status == kNvmlSuccess;
  }

  std::optional<std::uint64_t> count_errors(unsigned kind) {
    const auto count = ask<unsigned long long>(nvml_.errors, kind, kVolatileEccCounter);
    return count ? std::optional<std::uint64_t>(*count) : std::nullopt;
  }

  void read_remapped_rows(DeviceReading& reading) {
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned is_pending = 0;
    unsigned has_failed = 0;
    if (nvml_.remapped == nullptr ||
        !is_done(nvml_.remapped(device_, &corrected, &uncorrected, &is_pending, &has_failed)))
      return;
    reading.is_row_remap_pending = is_pending != 0;
    reading.has_row_remap_failed = has_failed != 0;
  }

  const NvmlLibrary nvml_;
  const NvmlHandle device_;
  const std::string uuid_;
  NvmlEventSet events_ = nullptr;
  bool is_lost_ = false;  // in the present reading
};

Error nvml_error(const NvmlLibrary& nvml, const std::string& what, NvmlStatus status) {
  const char* words = nvml.describe == nullptr ? nullptr : nvml.describe(status);
  return {ErrorKind::kUnavailable, what + " failed with NVML's error " + std::to_string(status) +
                                       (words == nullptr ? "" : std::string(" (") + words + ")")};
}

}  // namespace

Result<std::unique_ptr<DeviceSource>> open_nvml_device(const std::string& library,
                                                       const std::string& bus_id) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return Error(ErrorKind::kNotFound, why == nullptr ? library + " cannot be loaded" : why);
  }
  const NvmlLibrary nvml{.handle = handle};
  if (nvml.init == nullptr || nvml.device_at == nullptr || nvml.uuid == nullptr)
    return Error(ErrorKind::kUnavailable, library + " lacks functions that every version of NVML has");
  if (const NvmlStatus status = nvml.init(); status != kNvmlSuccess)
    return nvml_error(nvml, "starting NVML", status);
  NvmlHandle device = nullptr;
  if (const NvmlStatus status = nvml.device_at(bus_id.c_str(), &device); status != kNvmlSuccess)
    return nvml_error(nvml, "finding the device " + bus_id, status);
  std::array<char, kUuidBytesMax> uuid{};
  if (const NvmlStatus status = nvml.uuid(device, uuid.data(), uuid.size() - 1); status != kNvmlSuccess)
    return nvml_error(nvml, "reading the identity of the device " + bus_id, status);
  return std::unique_ptr<DeviceSource>(std::make_unique<NvmlDevice>(nvml, device, uuid.data()));
}

}  // namespace ratoon::devices
