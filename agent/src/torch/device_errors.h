// Distinguishes the errors that LibTorch throws when an accelerator fails from errors of the program.
#pragma once

namespace ratoon {

// Only the error decides, because no other fact about the device is known when the error is thrown. CUDA
// counts the devices only once, when a process starts. A device's files in /dev remain even if the device
// fell off its bus. The kernel's log, which has the Xid events, is not readable in most containers. A test
// kernel on a broken device may never end, and this process ends anyway, so device_for() of the next process
// detects whether a device is missing.
//
// If attach_device_errors() was called, a process that ends with an accelerator's error explains it.
void attach_device_errors();

}  // namespace ratoon
