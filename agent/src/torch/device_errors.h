// Distinguishes the errors that LibTorch throws when an accelerator fails from errors of the program.
#pragma once

namespace ratoon {

// The error alone decides, because no other fact about the device is known when the error is thrown. CUDA
// counts the devices of a process once, when it starts. A device's files in /dev remain even if the device
// fell off its bus. The kernel's log with the Xid events is not readable in most containers. A test kernel on
// a broken device may never end, and this process ends anyway. device_for() of the next process detects
// whether a device is missing.
//
// After attach_device_errors(), a process that ends with an error of an accelerator explains the error.
void attach_device_errors();

}  // namespace ratoon
