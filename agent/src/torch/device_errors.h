// Distinguishes the errors that LibTorch throws when an accelerator fails from errors of the program.
#pragma once

namespace ratoon {

// The decision depends on the error alone, because no other fact about the device is known when LibTorch
// throws it. CUDA counts the devices only once, when the process uses it for the first time. The files of a
// device in /dev remain even if the device no longer responds on the PCI bus. In most containers a process
// cannot read the log of the Linux kernel, which contains the driver's error events (Xid). The device is not
// tested here, because a test kernel on a broken device may never end. The next process detects in
// device_for() whether a device is missing.
//
// After attach_device_errors() was called, a process that ends because of an error of an accelerator prints
// an explanation.
void attach_device_errors();

}  // namespace ratoon
