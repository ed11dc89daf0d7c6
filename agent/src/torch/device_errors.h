// What LibTorch throws when an accelerator fails, told apart from a program that is wrong.
#pragma once

namespace ratoon {

// Nothing is known there but the error. CUDA counts the devices of a process once, when it starts; the files
// of a device stay where it fell off its bus; and the kernel's log, which has the Xid events, is closed to
// most containers. A kernel that would probe a broken device may never end, and this process ends anyway. So
// the error alone decides, and device_for() of the next process finds out whether a device is gone.
//
// From now on such errors are explained where a process ends with one.
void attach_device_errors();

}  // namespace ratoon
