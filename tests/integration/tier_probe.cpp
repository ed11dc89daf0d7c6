// tier_probe [--attempts N] COMMAND ... "-" in place of a folder means that there is no folder
//
//   save FOLDER|URI ATTEMPT STEP RANKS BYTES     commits a checkpoint whose bytes follow from its name; ranks
//                                                but the first have a 64th of them
//   mirror FOLDER ATTEMPT STEP URI [THREADS]     into a store
//   list FOLDER URI ...                          every checkpoint of the tiers, and what would be resumed
//   load FOLDER URI ...                          loads all ranks of that, and compares the bytes
//   retire FOLDER|URI ATTEMPT LAST               what a run does after a commit
//   begin LOAD_PATH                              what a run without checkpoints begins with
//
// Prints a line for each thing done; an error as "error KIND: SENTENCE", with exit code 1.
#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/tiers/load_path.h"
#include "agent/src/checkpoint/tiers/stores/mirror.h"
#include "agent/src/checkpoint/tiers/tiers.h"
#include "base/core/random_name.h"

namespace {

using namespace ratoon;              // NOLINT
using namespace ratoon::checkpoint;  // NOLINT
using Words = std::vector<std::string>;

StoreOptions store_options;

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int fail(const Error& error) {
  print("error " + std::string(name_of(error.kind())) + ": " + error.message());
  return 1;
}

CheckpointId id_from(const std::string& attempt, const std::string& step) {
  return {.attempt = Attempt(number(attempt)), .step = Step(number(step))};
}

std::string shown(const CheckpointId& id) {
  return std::to_string(id.attempt.value()) + "/" + std::to_string(id.step.value());
}

// Bytes of xorshift: every byte follows from the name.
std::string bytes_of(const CheckpointId& id, Rank rank, std::uint64_t size) {
  std::uint64_t state =
      (id.attempt.value() << 40) ^ (id.step.value() << 8) ^ rank.value() ^ 0x9e3779b97f4a7c15;
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

TierLocations members_max_of(const Words& words, std::size_t from) {
  TierLocations places{.folder = words.at(from) == "-" ? "" : words.at(from), .store_options = store_options};
  places.stores.assign(words.begin() + static_cast<std::ptrdiff_t>(from) + 1, words.end());
  return places;
}

Result<std::shared_ptr<Disk>> open_place(const std::string& place) {
  TierLocations places{.store_options = store_options};
  if (place.find("://") == std::string::npos)
    places.folder = place;
  else
    places.stores = {place};
  const auto tiers = Tiers::open(places);
  if (!tiers) return tiers.error();
  return tiers->home().disk;
}

int save(const Words& words) {
  const auto disk = open_place(words.at(1));
  if (!disk) return fail(disk.error());
  const auto run = RunStore::open(*disk, random_hex_name());
  if (!run) return fail(run.error());
  const CheckpointId id = id_from(words.at(2), words.at(3));
  const auto ranks = static_cast<std::uint32_t>(number(words.at(4)));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string bytes = bytes_of(id, Rank(rank), number(words.at(5)) / (rank == 0 ? 1 : 64));
    const TensorView view{.name = "w", .shape = {bytes.size()}, .bytes = std::as_bytes(std::span(bytes))};
    const auto written = run->write_pack(id, Rank(rank), std::span(&view, 1));
    if (!written) return fail(written.error());
  }
  const auto committed = run->try_commit(id, ranks);
  if (!committed) return fail(committed.error());
  print("committed " + shown(id) + " " + (*committed)->digest);
  return 0;
}

int mirror(const Words& words) {
  const auto from = RealDisk::open_folder(words.at(1));
  if (!from) return fail(from.error());
  auto store = objects::open_store(words.at(4), store_options);
  if (!store) return fail(store.error());
  ObjectStoreDisk to(*std::move(store));
  MirrorOptions options{.part_bytes = 5 << 20};
  if (words.size() > 5) options.threads = static_cast<std::uint32_t>(number(words.at(5)));
  const auto mirrored = mirror_checkpoint(**from, id_from(words.at(2), words.at(3)), to, options);
  if (!mirrored) return fail(mirrored.error());
  print("mirrored " + mirrored->digest + " sent " + std::to_string(mirrored->packs_sent) + " there " +
        std::to_string(mirrored->packs_already_in_store) +
        (mirrored->was_committed ? " committed before" : ""));
  return 0;
}

std::string shown_tiers(const TieredCheckpoint& checkpoint) {
  std::string text;
  for (const std::size_t tier : checkpoint.tiers) text += " " + std::to_string(tier);
  return text;
}

int list(const Words& words) {
  const auto tiers = Tiers::open(members_max_of(words, 1));
  if (!tiers) return fail(tiers.error());
  const auto found = tiers->inventory();
  if (!found) return fail(found.error());
  for (const auto& one : found->complete) print(shown(one.id) + " in" + shown_tiers(one));
  for (const auto& one : found->damaged) print(shown(id_of(one)) + " " + one.digest);
  print("newest attempt " + std::to_string(found->newest_attempt.value()));
  return 0;
}

int load(const Words& words) {
  const auto tiers = Tiers::open(members_max_of(words, 1));
  if (!tiers) return fail(tiers.error());
  const auto found = tiers->inventory();
  if (!found) return fail(found.error());
  const auto start = choose_start(*found, {}, [](const auto&) { return true; });
  if (!start) return fail(start.error());
  if (!start->checkpoint) {
    print(found->is_of_a_new_run() ? "nothing was ever saved" : "none is good");
    return found->is_of_a_new_run() ? 0 : 1;
  }
  const auto& chosen = *start->checkpoint;
  const auto manifest = read_manifest(*tiers->all().at(chosen.tiers.front()).disk, chosen.id);
  if (!manifest) return fail(manifest.error());
  for (const PackRecord& pack : manifest->manifest.packs) {
    const auto loaded = tiers->load(chosen, pack.rank);
    if (!loaded) return fail(loaded.error());
    const std::string& bytes = loaded->tensors.at("w").bytes;
    if (bytes != bytes_of(chosen.id, pack.rank, bytes.size())) {
      print("WRONG BYTES in " + shown(chosen.id));
      return 3;
    }
    for (const auto& [tier, error] : loaded->damaged_copies)
      print("bad in " + std::to_string(tier) + ": " + error.message());
    print("loaded " + shown(chosen.id) + " rank " + std::to_string(pack.rank.value()) + " from " +
          std::to_string(loaded->tier) + " bytes " + std::to_string(bytes.size()));
  }
  return 0;
}

int begin_from(const std::string& load_path) {
  const auto source = open_load_path(load_path, store_options);
  if (!source) return fail(source.error());
  const auto tensors = load_tensors_of_rank(*source, Rank(0));
  if (!tensors) return fail(tensors.error());
  const std::string& bytes = tensors->at("w").bytes;
  if (bytes != bytes_of(source->id, Rank(0), bytes.size())) return 3;
  print("begun from " + shown(source->id) + " bytes " + std::to_string(bytes.size()));
  return 0;
}

int retire(const Words& words) {
  const auto disk = open_place(words.at(1));
  if (!disk) return fail(disk.error());
  const auto run = RunStore::open(*disk, random_hex_name());
  if (!run) return fail(run.error());
  const auto retired = run->retire_old({.last = number(words.at(3))}, Attempt(number(words.at(2))));
  if (!retired) return fail(retired.error());
  print("retired");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Words words(argv + 1, argv + argc);
  if (words.size() > 2 && words.front() == "--attempts") {
    store_options.attempts_max = static_cast<std::uint32_t>(number(words.at(1)));
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 2) return 2;
  const std::string& command = words.front();
  if (command == "save" && words.size() == 6) return save(words);
  if (command == "mirror" && words.size() >= 5) return mirror(words);
  if (command == "list") return list(words);
  if (command == "load") return load(words);
  if (command == "begin") return begin_from(words.at(1));
  if (command == "retire" && words.size() == 4) return retire(words);
  return 2;
}
