// At its end a run writes its weights for other programs, as one plain safetensors file. The weights come
// from the last checkpoint. The weights in the file are therefore verified, and complete even if each rank
// had a part of them. When the file is written, the tracked objects may be destroyed already.
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

// Returns the file's path, or an empty path if no file is wanted (--final-weights ''). A name without a
// folder is in the run's folder; a run in a bucket has no folder, and writes no file.
[[nodiscard]] std::filesystem::path final_weights_file(const Options& options);

// Call check_final_weights_file() before the first step. Returns kInvalid if the path, also through links,
// leads to a file that a run made or will make: at the end the weights would replace that file. If the disk
// does not answer now, the error is reported at the run's end.
[[nodiscard]] Result<void> check_final_weights_file(const Options& options,
                                                    checkpoint::CallsWithTimeout& calls);

// The file is written from begin to end, and then closed (replacing_file.h). Tensors have the names that they
// have in the checkpoint. Tensors that only another rank had are left out of the file. The metadata has the
// run, the attempt and the step. Returns the number of tensors; without tensors no file is created.
using CreateFile = std::function<Result<std::unique_ptr<checkpoint::WriteFile>>()>;
[[nodiscard]] Result<std::size_t> write_final_weights(checkpoint::CheckpointReader& reader,
                                                      const std::function<bool(std::string_view)>& is_weight,
                                                      const std::string& run_name, const ResumePoint& point,
                                                      const CreateFile& create);

}  // namespace ratoon::session
