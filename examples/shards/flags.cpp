#include "flags.h"

#include <charconv>
#include <limits>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

const char* const kHelp =
    R"(shards [DATA] [flags]: reads a data set in MDS format for some epochs. Kill it at any
time; the same command resumes with the next sample.

DATA is a folder, http(s)://host/path or s3://bucket/prefix. Without it, a small data set of
shapes is made in ./shards-data first.

  --samples N       samples in the data set that is made (20000)
  --cache FOLDER    a folder for fetched shards; other processes may share it
  --cache-bytes N   the limit of that folder; 0: no limit (0)
  --epochs N        of the whole run (3)
  --batch N         samples per step, over all processes (64)
  --window N        shards that are shuffled together; 0: all (16)
  --seed N          the seed of the order and of the augmentation (17)
  --threads N       threads that prefetch; 0: none (2)
  --pause-ms N      the simulated duration of a step (5)
  --list            prints every sample of every step, with a digest of its augmented content

Flags of Ratoon, of which --ratoon-help lists all; its --seed is --ratoon-seed here:
  --save-folder FOLDER, --run-name NAME   where the run keeps its state (shards-runs, first)
  --save-every N, --keep-last N           steps between checkpoints, how many are kept (20, 3)
  --stores URL,URL, --load-from WHERE     copies of checkpoints; another run's weights to start with

Examples:
  shards                                     makes the data; kill -9 it; the same command resumes
  shards --run-name second --list            another run, which lists its samples
  shards /data/digits --threads 4            your own shards
  shards s3://bucket/digits --cache /tmp/c   with credentials where boto3 finds them
  ratoon run examples/shards/job.yaml        the same on two processes

Exit codes: 0 done; 82 the command line or the data is wrong; 84 files or servers
cannot be read or written; README.md has the others.
)";

namespace {

using ratoon::Error;
using ratoon::ErrorKind;
using ratoon::Result;

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

struct Row {
  std::string_view flag;
  std::variant<std::uint64_t*, std::string*, bool*> target;
  std::uint64_t least = 0;
  std::uint64_t most = kAny;
};

std::vector<Row> rows_of(Flags& flags) {
  return {{"--samples", &flags.samples, 1, 100'000'000},
          {"--cache", &flags.cache},
          {"--cache-bytes", &flags.cache_bytes},
          {"--epochs", &flags.epochs, 0, 1'000'000},
          {"--batch", &flags.batch, 1, 1 << 20},
          {"--window", &flags.window},
          {"--seed", &flags.seed},
          {"--threads", &flags.threads, 0, 256},
          {"--pause-ms", &flags.pause_ms, 0, 60'000},
          {"--list", &flags.lists_samples},
          {"--help", &flags.wants_help},
          {"-h", &flags.wants_help}};
}

Result<void> assign(const Row& row, std::string_view text) {
  if (const auto* words = std::get_if<std::string*>(&row.target)) {
    **words = text;
    return {};
  }
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < row.least || number > row.most) {
    return Error(ErrorKind::kInvalid, std::string(row.flag) + " must be a whole number from " +
                                          std::to_string(row.least) + " to " + std::to_string(row.most) +
                                          ", found '" + std::string(text) + "'");
  }
  *std::get<std::uint64_t*>(row.target) = number;
  return {};
}

// Reads the word at the front, and its value if it has one, and removes them from `words`.
Result<void> read_word(Flags& flags, std::span<const char* const>& words) {
  const std::string_view word = words.front();
  words = words.subspan(1);
  if (word == "--") return {};
  if (!word.starts_with("-")) {
    if (!flags.makes_data)
      return Error(ErrorKind::kInvalid, "a second data set, '" + std::string(word) + "': it takes one");
    flags.data = word;
    flags.makes_data = false;
    return {};
  }
  const std::string_view name = word.substr(0, word.find('='));
  const auto value = [&]() -> Result<std::string_view> {
    if (name.size() < word.size()) return word.substr(name.size() + 1);
    if (words.empty()) return Error(ErrorKind::kInvalid, std::string(name) + " needs a value after it");
    const std::string_view next = words.front();
    words = words.subspan(1);
    return next;
  };
  for (const Row& row : rows_of(flags)) {
    if (name != row.flag) continue;
    if (auto* const* is_set = std::get_if<bool*>(&row.target)) {
      if (name != word) return Error(ErrorKind::kInvalid, std::string(name) + " takes no value");
      **is_set = true;
      return {};
    }
    return value().and_then([&](std::string_view text) { return assign(row, text); });
  }
  return Error(ErrorKind::kInvalid, "there is no flag " + std::string(name) + "; shards --help lists them");
}

}  // namespace

// If a flag is given twice, the last value is used, so that `ratoon run job.yaml -- --epochs 5` overrides the
// file.
Result<Flags> read_flags(int argc, const char* const* argv) {
  Flags flags;
  std::span<const char* const> words(argv + 1, argv + argc);
  while (!words.empty()) {
    if (const auto read = read_word(flags, words); !read) return read.error();
  }
  const bool is_elsewhere = flags.data.find("://") != std::string::npos && !flags.data.starts_with("file:");
  if (is_elsewhere && flags.cache.empty()) {
    return Error(ErrorKind::kInvalid, flags.data +
                                          " is not on this machine: say with --cache FOLDER where its "
                                          "shards are kept while they are read");
  }
  return flags;
}
