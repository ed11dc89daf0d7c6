// The stages of gpu_probe. Each stage prints its rows and returns an exit code: 0 if all its promises held.
#pragma once

namespace ratoon::gpu_probe {

int facts();      // what is linked and what is here
int bits();       // gradients averaged on the accelerator have the bits of the CPU
int own_group();  // gradients go over a ProcessGroupNCCL that the program has made
int averaging();  // what averaging costs a step, and how much of it goes on beside backward()
int restart();    // connecting and aborting again and again leaves nothing behind
// Faults: each fault runs in a process of its own, which the fault ends.
int device_assert();
int stuck_kernel();
int out_of_memory();

}  // namespace ratoon::gpu_probe
