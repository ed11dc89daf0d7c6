#include "agent/src/checkpoint/file_names.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string numbered(char prefix, int digits, std::uint64_t value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%c%0*llu", prefix, digits, static_cast<unsigned long long>(value));
  return text.data();
}

std::string attempt_name(Attempt attempt) {
  return numbered('a', 4, attempt.value());
}
std::string step_name(Step step) {
  return numbered('s', 10, step.value());
}

fs::path checkpoint_folder(const fs::path& run, const char* kind, const CheckpointId& id) {
  return run / kind / attempt_name(id.attempt) / step_name(id.step);
}

}  // namespace

fs::path manifests_folder(const fs::path& run) {
  return run / "manifests";
}

fs::path manifest_path(const fs::path& run, const CheckpointId& id) {
  return manifests_folder(run) / (step_name(id.step) + "." + attempt_name(id.attempt) + ".json");
}

fs::path packs_folder(const fs::path& run) {
  return run / "packs";
}

fs::path packs_folder(const fs::path& run, const CheckpointId& id) {
  return checkpoint_folder(run, "packs", id);
}
fs::path receipts_folder(const fs::path& run, const CheckpointId& id) {
  return checkpoint_folder(run, "receipts", id);
}
std::string pack_name(Rank rank) {
  return numbered('r', 4, rank.value()) + ".safetensors";
}
std::string receipt_name(Rank rank) {
  return numbered('r', 4, rank.value()) + ".json";
}

std::optional<Attempt> parse_attempt_name(std::string_view name) {
  std::uint64_t attempt = 0;
  if (name.size() > 1) std::from_chars(name.data() + 1, name.data() + name.size(), attempt);
  if (attempt_name(Attempt(attempt)) != name) return std::nullopt;
  return Attempt(attempt);
}

std::optional<CheckpointId> parse_manifest_name(std::string_view name) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || name.size() < dot + 3 || name.front() != 's' || name[dot + 1] != 'a') {
    return std::nullopt;
  }
  std::uint64_t step = 0;
  std::uint64_t attempt = 0;
  std::from_chars(name.data() + 1, name.data() + dot, step);
  std::from_chars(name.data() + dot + 2, name.data() + name.size(), attempt);
  const CheckpointId id{.attempt = Attempt(attempt), .step = Step(step)};
  // Only a name that we would give ourselves counts: this refuses signs, spaces, missing zeros and other
  // endings.
  if (manifest_path("", id).filename() != name) return std::nullopt;
  return id;
}

}  // namespace ratoon::checkpoint
