// What LibTorch throws when an accelerator fails, told apart from a program that is wrong.
#pragma once

namespace ratoon {

// From now on such errors are explained where a process ends with one.
void attach_device_errors();

}  // namespace ratoon
