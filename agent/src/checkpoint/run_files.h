// Which files are a run's own, of whichever run: nothing else may be written in their place.
#pragma once

#include <filesystem>

namespace ratoon::checkpoint {

// Whether checkpoints of a run are in it: it has a folder of manifests.
[[nodiscard]] bool is_run_folder(const std::filesystem::path& folder);

// Whether a run made the file, or would make one of that name: somewhere above it is a run's folder. Links on
// the way are followed; where the disk does not say, it is nobody's.
[[nodiscard]] bool is_of_a_run(const std::filesystem::path& file);

}  // namespace ratoon::checkpoint
