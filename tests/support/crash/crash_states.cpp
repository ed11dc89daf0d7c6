#include "tests/support/crash/crash_states.h"

#include <algorithm>
#include <functional>

#include "base/core/xxh3.h"

namespace ratoon::test {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kSector = 512;

bool flip(std::mt19937_64& chance) {
  return (chance() & 1) != 0;
}

std::size_t below(std::size_t limit, std::mt19937_64& chance) {
  return static_cast<std::size_t>(chance() % limit);
}

struct Pending {
  std::map<FileId, std::vector<Write>> bytes;
  std::map<FolderId, std::vector<DiskOp>> names;
};

// The part of the state that is on the disk for certain, and the part that may be lost.
Pending settle(DiskImage& image, std::span<const DiskOp> ops, std::vector<std::string>& acknowledged) {
  Pending pending;
  for (const DiskOp& op : ops) {
    if (const auto* write = std::get_if<Write>(&op)) {
      pending.bytes[write->file].push_back(*write);
    } else if (const auto* link = std::get_if<Link>(&op)) {
      pending.names[link->folder].push_back(op);
    } else if (const auto* unlink = std::get_if<Unlink>(&op)) {
      pending.names[unlink->folder].push_back(op);
    } else if (const auto* move = std::get_if<Move>(&op)) {
      pending.names[move->folder].push_back(op);
    } else if (const auto* file = std::get_if<SyncFile>(&op)) {
      image.files[file->file];
      for (const Write& waiting : pending.bytes[file->file]) carry_out(image, waiting);
      pending.bytes.erase(file->file);
    } else if (const auto* lost = std::get_if<LosePages>(&op)) {
      pending.bytes.erase(lost->file);
    } else if (const auto* folder = std::get_if<SyncFolder>(&op)) {
      for (const DiskOp& waiting : pending.names[folder->folder]) carry_out(image, waiting);
      pending.names.erase(folder->folder);
    } else if (const auto* said = std::get_if<Acknowledge>(&op)) {
      acknowledged.push_back(said->what);
    }
  }
  return pending;
}

void write_blocks(DiskImage& image, const Write& write, std::mt19937_64& chance) {
  for (std::size_t at = 0; at < write.bytes.size(); at += kBlock) {
    if (flip(chance)) carry_out(image, Write{write.file, write.at + at, write.bytes.substr(at, kBlock)});
  }
}

void persist_some_bytes(DiskImage& image, const std::vector<Write>& writes, std::mt19937_64& chance) {
  const std::size_t whole = below(writes.size() + 1, chance);
  for (std::size_t i = 0; i < whole; ++i) carry_out(image, writes[i]);
  if (whole == writes.size()) return;
  const Write& next = writes[whole];
  switch (below(4, chance)) {
    case 0:
      return;
    case 1:  // torn
      return carry_out(image,
                       Write{next.file, next.at,
                             next.bytes.substr(0, below(next.bytes.size() / kSector + 1, chance) * kSector)});
    case 2:  // any blocks of what is left
      for (std::size_t i = whole; i < writes.size(); ++i) write_blocks(image, writes[i], chance);
      return;
    default:  // the length, without the bytes
      carry_out(image, Write{next.file, next.at, std::string(next.bytes.size(), '\0')});
  }
}

void persist_some_names(DiskImage& image, const std::vector<DiskOp>& ops, NameOrder order,
                        std::mt19937_64& chance) {
  if (order == NameOrder::kOrdered) {
    const std::size_t count = below(ops.size() + 1, chance);
    for (std::size_t i = 0; i < count; ++i) carry_out(image, ops[i]);
    return;
  }
  for (const DiskOp& op : ops) {
    if (flip(chance)) carry_out(image, op);
  }
}

}  // namespace

CrashState crash(const DiskImage& before, std::span<const DiskOp> ops, Fate fate, NameOrder order,
                 std::mt19937_64& chance) {
  CrashState state{.image = before, .acknowledged = {}};
  const Pending pending = settle(state.image, ops, state.acknowledged);
  for (const auto& [file, writes] : pending.bytes) {
    state.image.files[file];
    if (fate == Fate::kEverything || fate == Fate::kBytesOnly)
      for (const Write& write : writes) carry_out(state.image, write);
    if (fate == Fate::kChance) persist_some_bytes(state.image, writes, chance);
  }
  for (const auto& [folder, changes] : pending.names) {
    state.image.folders[folder];
    if (fate == Fate::kEverything || fate == Fate::kNamesOnly)
      for (const DiskOp& op : changes) carry_out(state.image, op);
    if (fate == Fate::kChance) persist_some_names(state.image, changes, order, chance);
  }
  return state;
}

std::uint64_t fingerprint(const DiskImage& image) {
  Xxh3Stream hash;
  const auto add = [&](const std::string& text) {
    const std::uint64_t size = text.size();
    hash.update(std::as_bytes(std::span(&size, 1)));
    hash.update(std::as_bytes(std::span(text)));
  };
  const std::function<void(FolderId)> walk = [&](FolderId folder) {
    const auto found = image.folders.find(folder);
    if (found == image.folders.end()) return;
    for (const auto& [name, named] : found->second) {
      add(name);
      if (named.is_folder) {
        add("{");
        walk(named.id);
        add("}");
      } else {
        const auto bytes = image.files.find(named.id);
        add(bytes == image.files.end() ? std::string() : bytes->second);
      }
    }
  };
  walk(0);
  return hash.digest64();
}

}  // namespace ratoon::test
