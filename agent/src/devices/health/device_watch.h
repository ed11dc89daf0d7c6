// DeviceWatch: reads a device once a second on a thread, so that a driver that does not answer stops only
// this thread.
//
// Thread contract: any thread may call any function.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <ratoon/result.h>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/device_record.h"
#include "agent/src/devices/health/device_source.h"
#include "base/core/clock.h"

namespace ratoon::devices {

class DeviceWatch {
 public:
  using OpenDevice = std::function<Result<std::unique_ptr<DeviceSource>>()>;
  using ReportFunction = std::function<void(const std::string&)>;
  // A thread opens the device. The thread calls `tell` with a message for the user about the first error
  // event of each number. It also calls `tell` if `open` fails, except with kNotFound.
  DeviceWatch(OpenDevice open, ReportFunction tell);
  // Makes the thread end after its current call to the driver, and does not wait for the thread.
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  [[nodiscard]] std::string uuid() const;  // empty if the device is not open
  [[nodiscard]] DeviceRecord record() const;
  // Reads the device again, and returns the facts about it. If the driver does not answer within `within`,
  // returns the facts that were known before.
  [[nodiscard]] DeviceFacts facts(Duration within);

 private:
  struct Shared {
    OpenDevice open;
    ReportFunction tell;
    std::unique_ptr<DeviceSource> source;  // only the thread uses it, and the two functions above
    std::mutex mutex;
    std::condition_variable changed;
    std::string uuid;  // guarded by mutex, like the members below
    DeviceRecord record;
    std::uint64_t readings_requested = 0;  // the number of calls of facts()
    std::uint64_t readings_served = 0;     // the calls of facts() before the newest reading began
    bool is_ending = false;
    bool has_ended = false;
  };

  [[nodiscard]] static bool open(Shared& shared);
  static void run_watch_loop(Shared& shared);
  static void read(Shared& shared);
  static void record_xid(Shared& shared, std::uint64_t xid);
  static void wait_for_xid_or_request(Shared& shared, Timestamp until);

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace ratoon::devices
