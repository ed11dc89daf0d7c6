// A run's folder whose manifests are gone, as after a copy that was cut short: it looks like that of a run
// that never committed anything, and who began anew there would remove the packs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ratoon::checkpoint {

// The name of a `latest` link that leads to a pack, though there is no manifest in the folder: neither of a
// checkpoint nor of one that was set aside. Links are made after commits alone. Nothing where all is well.
[[nodiscard]] std::optional<std::string> link_without_manifests(const std::filesystem::path& run_folder);

// The same where `latest` is gone as well: there are packs, and kCommitted says that one of them was in a
// checkpoint. It is made after the first commit, so that it is in no folder of a run that never got so far.
[[nodiscard]] bool has_packs_without_manifests(const std::filesystem::path& run_folder);

}  // namespace ratoon::checkpoint
