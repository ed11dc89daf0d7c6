// Distinguishes two kinds of errors: errors of a failed accelerator, which LibTorch throws, and errors of the
// program.
#pragma once

namespace ratoon {

// register_device_error_explainer() judges an error by its kind and by the facts that the driver reports
// about the devices of this process (devices/health). If the driver reports that a device is broken, every
// exception counts as the device's failure, also an exception of another library than LibTorch. A broken
// device can make every library fail. The device is not tested, because a test kernel on a broken device may
// never end. The next process detects in device_for() whether a device is missing.
//
// After register_device_error_explainer() was called, a process that ends because of an error of an
// accelerator prints an explanation.
void register_device_error_explainer();

}  // namespace ratoon
