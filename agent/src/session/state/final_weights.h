// The file that a run leaves at its end for other programs: its weights as one plain safetensors file, read
// from its last checkpoint. The weights are therefore verified, and whole even if each rank had a part of
// them. The tracked objects may be destroyed by then.
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

// The value is empty if no file is wanted (--final-weights ''). A name without a folder lies in the run's
// folder, if there is one: a run in a bucket leaves no file.
[[nodiscard]] std::filesystem::path final_weights_file(const Options& options);

// The function is called before any step is trained. kInvalid: a run made that file or would make one of its
// name, also if the path leads there through links. At the end of the run the weights would replace that
// file. If the disk does not answer now, the error is reported at the end.
[[nodiscard]] Result<void> check_final_weights_file(const Options& options,
                                                    checkpoint::CallsWithTimeout& calls);

// The file is written in order and closed (replacing_file.h). Tensors have the names that they have in the
// checkpoint. Tensors that only another rank had are left out. The metadata has the run, the attempt and the
// step. Returns the number of tensors; for 0 tensors no file is created.
using CreateFile = std::function<Result<std::unique_ptr<checkpoint::WriteFile>>()>;
[[nodiscard]] Result<std::size_t> write_final_weights(checkpoint::CheckpointReader& reader,
                                                      const std::function<bool(std::string_view)>& is_weight,
                                                      const std::string& run_name, const ResumePoint& point,
                                                      const CreateFile& create);

}  // namespace ratoon::session
