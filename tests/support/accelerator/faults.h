// The faults that a test can cause on the test accelerator. Each fault holds for the whole process until
// heal().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ratoon::test::accelerator {

// A sticky error, as after an illegal access or an ECC error: each later call throws c10::AcceleratorError
// with this code, kernels in queues do nothing, and threads that wait for the device throw.
void break_device(std::int32_t code, const std::string& reason);

// The device is lost: no device is counted, and each call throws, except calls that only name streams.
void vanish();

// The next kernel that is queued, on any stream, starts and stays until end_hangs(). After end_hangs() the
// kernel does its work.
void hang_next_kernel();
void end_hangs();
// How many kernels hang now.
[[nodiscard]] std::size_t hanging_kernels();

// The n-th allocation from now throws c10::OutOfMemoryError, once. 1 is the next.
void fail_allocation(std::uint64_t n);

// Ends all faults. Kernels that hang continue.
void heal();

// Functions for the parts of the accelerator. `call` names the operation of the device, such as "allocate
// memory".
void check_is_alive(const char* call);
[[nodiscard]] bool is_alive();
[[nodiscard]] bool has_vanished();
// Called when a kernel is queued: returns the number of the end_hangs() after which the kernel continues, if
// it is to hang.
[[nodiscard]] std::optional<std::uint64_t> take_hang();
void hang_until_after(std::uint64_t end);
[[nodiscard]] bool take_allocation_failure();

}  // namespace ratoon::test::accelerator
