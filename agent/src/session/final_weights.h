// What a run leaves at its end for other programs: its weights in one plain safetensors file, taken from its
// last checkpoint. So they are verified, they are whole where ranks had parts of them, and what was tracked
// may be gone by then.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/disk/patient_calls.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// Nothing where none is wanted (--final-weights ''). A name alone lies in the run's folder, if there is one:
// a run in a bucket leaves no file.
[[nodiscard]] std::filesystem::path final_weights_file(const Options& options);

// Before anything is trained. kInvalid: a run made that file or would make one of its name, whichever way
// leads there; at the end the weights would take its place. Where the disk does not answer now, the end says
// so.
[[nodiscard]] Result<void> check_final_weights_file(const Options& options, checkpoint::PatientCalls& calls);

// Written in order and closed: see replacing_file.h. Tensors have the names that they have in the checkpoint;
// those that only another rank had are not in it. The metadata says run, attempt and step. How many tensors
// there are; where there is none, no file is created.
using CreateFile = std::function<Result<std::unique_ptr<checkpoint::WriteFile>>()>;
[[nodiscard]] Result<std::size_t> write_final_weights(checkpoint::CheckpointReader& reader,
                                                      const std::function<bool(std::string_view)>& is_weight,
                                                      const std::string& run_name, const ResumePoint& point,
                                                      const CreateFile& create);

}  // namespace ratoon::session
