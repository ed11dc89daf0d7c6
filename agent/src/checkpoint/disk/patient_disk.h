// PatientDisk: a disk with a deadline for each call, for who must not hang with it. What is written is
// copied, since a call that hangs keeps it: for small files. A saver has a thread of its own for packs
// (watched_disk.h).
#pragma once

#include <memory>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/patient_calls.h"

namespace ratoon::checkpoint {

// What hangs is an error, kTimeout, that names the file; a file of which one call hangs is not called again.
[[nodiscard]] std::shared_ptr<Disk> make_patient(std::shared_ptr<Disk> disk,
                                                 std::shared_ptr<PatientCalls> calls);

// The same of one file, which messages call `shown`.
[[nodiscard]] std::unique_ptr<WriteFile> make_patient(std::unique_ptr<WriteFile> file,
                                                      std::shared_ptr<PatientCalls> calls, std::string shown);

}  // namespace ratoon::checkpoint
