// Writes the weights of a completed run to one plain safetensors file, for other programs. The weights are
// read from the last checkpoint, because the tracked objects may already be destroyed when the file is
// written. The checksums of the weights are verified. A tensor that ranks saved in parts is written whole.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/calls_with_timeout.h"
#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "base/contract/messages.h"

namespace ratoon::session {

// Returns the path of the weights file; empty if --final-weights is empty and no file is written. A file name
// without a folder means a file in the run's folder. A run that saves to a bucket has no folder, so a name
// without a folder means that no file is written.
[[nodiscard]] std::filesystem::path final_weights_file(const Options& options);
// If the options name a weights file and none can be written, because the run saves to a bucket, returns a
// sentence that says so and how to get the weights; empty otherwise.
[[nodiscard]] std::string missing_weights_advice(const Options& options);

// Checks, before the first step of a run, the path of --final-weights. Returns kInvalid if the path is,
// directly or through links, a file of a run, because the weights would replace this file. If the disk does
// not answer, returns no error, because the write at the run's end reports a hanging disk.
[[nodiscard]] Result<void> check_final_weights_file(const Options& options,
                                                    checkpoint::CallsWithTimeout& calls);

// Writes the weights of a checkpoint to a new file. When the new file is closed, it replaces the old file
// (replacing_file.h). The tensors keep their names from the checkpoint. Tensors that only ranks other than
// the reader's rank saved are left out of the file. The metadata of the safetensors file has the names of run
// and attempt, and the step. If `best`, which describes the best checkpoints, is not empty, the metadata also
// has `best`. Returns the number of tensors. If there are no tensors, no file is created.
using CreateFile = std::function<Result<std::unique_ptr<checkpoint::WriteFile>>()>;
[[nodiscard]] Result<std::size_t> write_final_weights(checkpoint::CheckpointReader& reader,
                                                      const std::function<bool(std::string_view)>& is_weight,
                                                      const std::string& run_name, const ResumePoint& point,
                                                      const std::string& best, const CreateFile& create);

}  // namespace ratoon::session
