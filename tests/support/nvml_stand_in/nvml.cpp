// A stand-in of NVML with one device, for tests: a script says what each function returns, and may change
// while a program runs. The environment variable TEST_NVML names the script. Each line of the script is a
// name and a number:
//
//   temperature 71
//   xid 79             an error event; each line is one event, in their order
//   lost 1             each function says that the device is lost
//   blocked 1          reading blocks until the script has no such line
//
// A function whose name is not in the script says that the device does not support it.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kDone = 0;
constexpr int kNotSupported = 3;
constexpr int kNoDevice = 6;
constexpr int kTimeout = 10;
constexpr int kLost = 15;
constexpr unsigned long long kXidEvent = 8;

std::vector<unsigned long long> all(std::string_view wanted) {
  std::vector<unsigned long long> found;
  const char* path = std::getenv("TEST_NVML");
  std::ifstream script(path == nullptr ? "" : path);
  std::string name;
  for (unsigned long long number = 0; script >> name >> number;)
    if (name == wanted) found.push_back(number);
  return found;
}

std::optional<unsigned long long> one(std::string_view name) {
  const auto found = all(name);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

template <class Number>
int give(std::string_view name, Number* into) {
  if (one("lost")) return kLost;
  const auto number = one(name);
  if (!number) return kNotSupported;
  *into = static_cast<Number>(*number);
  return kDone;
}

void write_text(char* into, unsigned size, std::string_view text) {
  const std::size_t count = std::min<std::size_t>(size - 1, text.size());
  std::copy_n(text.data(), count, into);
  into[count] = '\0';
}

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

int device = 0;
int events = 0;
std::atomic<std::size_t> events_given = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const auto status = one("init");
  return status ? static_cast<int>(*status) : kDone;
}
const char* nvmlErrorString(int) {
  return "words of the library";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** found) {
  if (std::string_view(bus_id) != "0000:01:00.0") return kNoDevice;
  *found = &device;
  return kDone;
}
int nvmlDeviceGetUUID(void*, char* uuid, unsigned size) {
  write_text(uuid, size, "GPU-of-a-test");
  return kDone;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* into) {
  while (one("blocked")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return give("temperature", into);
}
int nvmlDeviceGetPowerUsage(void*, unsigned* into) {
  return give("power", into);
}
int nvmlDeviceGetClockInfo(void*, unsigned, unsigned* into) {
  return give("clock", into);
}
int nvmlDeviceGetUtilizationRates(void*, Utilization* into) {
  return give("utilization", &into->gpu);
}
int nvmlDeviceGetMemoryInfo(void*, Memory* into) {
  if (const int status = give("memory", &into->total); status != kDone) return status;
  return give("memory_used", &into->used);
}
int nvmlDeviceGetTotalEccErrors(void*, unsigned kind, unsigned, unsigned long long* into) {
  return give(kind == 0 ? "corrected" : "uncorrectable", into);
}
int nvmlDeviceGetRemappedRows(void*, unsigned*, unsigned*, unsigned* is_pending, unsigned* has_failed) {
  if (const int status = give("remap_pending", is_pending); status != kDone) return status;
  return give("remap_failed", has_failed);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* into) {
  return give("slowdown", into);
}
int nvmlEventSetCreate(void** set) {
  *set = &events;
  return kDone;
}
int nvmlEventSetFree(void*) {
  return kDone;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) {
  return one("no_events") ? kNotSupported : kDone;
}
int nvmlEventSetWait_v2(void*, Event* event, unsigned milliseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    if (const auto xids = all("xid"); events_given < xids.size()) {
      *event = {.device = &device,
                .type = kXidEvent,
                .data = xids[events_given++],
                .gpu_instance = 0,
                .compute_instance = 0};
      return kDone;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < until);
  return kTimeout;
}
// Of the CUDA runtime, for a program that asks it for the address of its device.
int cudaDeviceGetPCIBusId(char* id, int size, int) {
  write_text(id, static_cast<unsigned>(size), "0000:01:00.0");
  return kDone;
}
}
