// DeviceWatch: reads a device once a second on a thread, so that a driver that does not answer stops only
// this thread.
//
// Thread contract: any thread may call any function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ratoon/result.h>

#include "agent/src/devices/fault_decision.h"
#include "agent/src/devices/health/device_record.h"
#include "agent/src/devices/health/device_source.h"
#include "base/core/clock.h"
#include "base/core/threads/condition_variable.h"

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
  struct SharedState {
    OpenDevice open;
    ReportFunction tell;
    std::unique_ptr<DeviceSource> source;  // only the thread uses it, and the two functions above
    Mutex mutex;
    ConditionVariable changed;
    // The thread writes uuid with the mutex locked. It reads uuid without the lock, because no other thread
    // writes it; other threads read it with the mutex locked.
    std::string uuid;
    DeviceRecord record RATOON_GUARDED_BY(mutex);
    // The number of calls of facts(), and how many of them came before the newest reading began.
    std::uint64_t readings_requested RATOON_GUARDED_BY(mutex) = 0;
    std::uint64_t readings_served RATOON_GUARDED_BY(mutex) = 0;
    bool is_ending RATOON_GUARDED_BY(mutex) = false;
    bool has_ended RATOON_GUARDED_BY(mutex) = false;
  };

  [[nodiscard]] static bool open(SharedState& shared);
  static void run_watch_loop(SharedState& shared);
  static void read(SharedState& shared);
  static void record_xid(SharedState& shared, std::uint64_t xid);
  static void wait_for_xid_or_request(SharedState& shared, Timestamp until);

  const std::shared_ptr<SharedState> shared_ = std::make_shared<SharedState>();
};

}  // namespace ratoon::devices
