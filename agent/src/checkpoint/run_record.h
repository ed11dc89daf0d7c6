// What a checkpoint knows of its run beside what is tracked: how far the run is, in counts and time, and
// where its history stands. Rank 0 says it with its pack, and the manifest keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ratoon/numerics.h>

namespace ratoon::checkpoint {

// How long texts may be; whoever fills them in cuts them.
inline constexpr std::size_t kNumericsTextBytesMax = 64;
inline constexpr std::size_t kReasonBytesMax = 256;
inline constexpr std::size_t kUntilBytesMax = 64;

// Longer than that, 146 years, no run has trained: who says so was no run. Two such times can be added.
inline constexpr std::uint64_t kTrainedNanosecondsMax = 1ULL << 62;

// The program ended the run before its time; the next start leaves it at that while the run's end is `until`.
struct EarlyEnd {
  std::string reason{};
  std::string until{};

  friend bool operator==(const EarlyEnd&, const EarlyEnd&) = default;
};

// What the program asked for in the step that is saved, and what takes effect at the end of the next one: a
// rank's own in its receipt, those of all ranks in the manifest.
struct PendingWishes {
  bool save = false;
  std::string keep{};    // why that save is to be kept; empty: as retention has it
  std::string finish{};  // why the next step is the run's last one; empty: it is not

  [[nodiscard]] bool is_empty() const { return !save && keep.empty() && finish.empty(); }
  // With those of another rank: the first reason stands.
  void join(const PendingWishes& other);

  friend bool operator==(const PendingWishes&, const PendingWishes&) = default;
};

// What rank 0 says of a wish of another rank, which alone knows the reason.
inline constexpr std::string_view kAnotherRank = "another rank says so";

// `keep`: the program wants this checkpoint kept, and why; whoever commits or copies it pins it there.
struct RunRecord {
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;              // slots before the stream's cursor
  std::uint64_t epoch_samples = 0;        // 0: no stream, or none with epochs
  std::uint64_t trained_nanoseconds = 0;  // in the training loop, of all attempts that led here
  std::uint64_t history_attempt = 0;      // whose file of the history goes on here; 0: there is none
  std::uint64_t history_bytes = 0;        // of that file
  std::optional<EarlyEnd> early_end{};    // of the run's last checkpoint alone
  std::optional<Numerics> numerics{};     // of rank 0; nothing where no library is attached
  std::optional<std::uint64_t> seed{};    // nothing where whoever wrote it had none
  std::string keep{};                     // empty: as retention has it
  PendingWishes wishes{};

  // With what another rank wished for: rank 0 knows no reasons but its own.
  void join(const RunRecord& other);

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

// Epochs that are over; 0 where nobody counted any.
[[nodiscard]] constexpr std::uint64_t epoch_of(const std::optional<RunRecord>& run) {
  return run && run->epoch_samples != 0 ? run->samples / run->epoch_samples : 0;
}

}  // namespace ratoon::checkpoint
