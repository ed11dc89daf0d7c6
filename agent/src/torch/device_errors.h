// Distinguishes the errors that LibTorch throws when an accelerator fails from errors of the program.
#pragma once

namespace ratoon {

// attach_device_errors() judges an error by its kind and by the facts that the driver reports about the
// devices of this process (devices/health). If the driver reports that a device is broken, each exception of
// another library counts as the device's failure, because a broken device makes libraries fail in any way.
// attach_device_errors() does not test the device, because a test kernel on a broken device may never end.
// The next process detects in device_for() whether a device is missing.
//
// After attach_device_errors() was called, a process that ends because of an error of an accelerator prints
// an explanation.
void attach_device_errors();

}  // namespace ratoon
