#include "tests/support/crash/model_disk.h"

#include <algorithm>

namespace ratoon::test {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

Error no_such(const std::string& path) {
  return {ErrorKind::kNotFound, "model:" + path + ": there is no such file"};
}

std::uint32_t newest_id(const DiskImage& image) {
  std::uint32_t newest = image.folders.rbegin()->first;
  if (!image.files.empty()) newest = std::max(newest, image.files.rbegin()->first);
  return newest;
}

}  // namespace

void carry_out(DiskImage& image, const DiskOp& op) {
  const Overloaded apply_one{
      [&](const Link& link) {
        image.folders[link.folder][link.name] = link.what;
        if (link.what.is_folder)
          image.folders[link.what.id];
        else
          image.files[link.what.id];
      },
      [&](const Unlink& unlink) { image.folders[unlink.folder].erase(unlink.name); },
      [&](const Move& move) {
        auto& names = image.folders[move.folder];
        names.erase(move.from);
        names[move.to] = move.what;
        image.files[move.what.id];
      },
      [&](const Write& write) {
        std::string& bytes = image.files[write.file];
        bytes.resize(std::max<std::size_t>(bytes.size(), write.at + write.bytes.size()));
        std::copy(write.bytes.begin(), write.bytes.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(write.at));
      },
      [](const SyncFile&) {},
      [](const LosePages&) {},
      [](const SyncFolder&) {},
      [](const Acknowledge&) {}};
  std::visit(apply_one, op);
}

class ModelWriteFile : public checkpoint::WriteFile {
 public:
  ModelWriteFile(ModelDisk& disk, FileId file, std::string path)
      : disk_(disk), held_(disk.weak_from_this().lock()), file_(file), path_(std::move(path)) {}

  Result<void> reserve(std::uint64_t) override {
    return disk_.with_fault(DiskCall::kReserve, path_, [] { return Result<void>(); });
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    const Fault fault = disk_.fault(DiskCall::kWrite, path_);
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (fault.short_write) text.resize(std::min<std::size_t>(text.size(), *fault.short_write));
    if (!fault.error || fault.short_write || fault.does_it_all_the_same)
      disk_.record(Write{file_, at, std::move(text)});
    if (fault.error) return *fault.error;
    return {};
  }
  Result<void> sync() override {
    const Fault fault = disk_.fault(DiskCall::kSync, path_);
    if (fault.loses_pages)
      disk_.record(LosePages{file_});
    else if (!fault.is_swallowed && (!fault.error || fault.does_it_all_the_same))
      disk_.record(SyncFile{file_});
    if (fault.error) return *fault.error;
    return {};
  }
  Result<void> close() override {
    return disk_.with_fault(DiskCall::kClose, path_, [] { return Result<void>(); });
  }

 private:
  ModelDisk& disk_;
  const std::shared_ptr<ModelDisk> held_;  // a call that hangs comes back to what is there
  const FileId file_;
  const std::string path_;
};

class ModelReadFile : public checkpoint::ReadFile {
 public:
  ModelReadFile(const ModelDisk& disk, const std::string& bytes, std::string path)
      : disk_(disk), bytes_(bytes), path_(std::move(path)) {}

  Result<std::uint64_t> size() const override { return bytes_.size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    const Fault fault = disk_.fault(DiskCall::kRead, path_);
    if (fault.error) return *fault.error;
    if (at > bytes_.size() || bytes.size() > bytes_.size() - at)
      return Error(ErrorKind::kCorrupted, "model:" + path_ + " ends too early");
    const auto all = std::as_bytes(std::span(bytes_)).subspan(at, bytes.size());
    std::copy(all.begin(), all.end(), bytes.begin());
    if (fault.flip_bit != 0 && !bytes.empty()) {
      const std::uint64_t bit = (fault.flip_bit - 1) % (bytes.size() * 8);
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    }
    return {};
  }

  void drop_from_page_cache() const override {}

 private:
  const ModelDisk& disk_;
  const std::string bytes_;
  const std::string path_;
};

ModelDisk::ModelDisk(DiskImage image) : image_(std::move(image)), next_id_(newest_id(image_) + 1) {}

std::string ModelDisk::shown(std::string_view path) const {
  return "model:" + std::string(path);
}

Fault ModelDisk::fault(DiskCall call, const std::string& path) const {
  return faults_ ? faults_(call, path) : Fault{};
}

Result<void> ModelDisk::with_fault(DiskCall call, const std::string& path,
                                   const std::function<Result<void>()>& act) {
  const Fault fault = this->fault(call, path);
  if (fault.error && !fault.does_it_all_the_same) return *fault.error;
  if (fault.is_swallowed) return {};
  if (auto done = act(); !done) return done;
  if (fault.error) return *fault.error;
  return {};
}

void ModelDisk::record(DiskOp op) {
  carry_out(image_, op);
  log_.push_back(std::move(op));
}

Result<FolderId> ModelDisk::folder_at(const std::string& path) const {
  if (path.empty()) return 0u;
  if (auto checked = checkpoint::check_path(path); !checked) return checked.error();
  FolderId at = 0;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto& names = image_.folders.at(at);
    const auto found = names.find(path.substr(begin, end - begin));
    if (found == names.end()) return no_such(path);
    if (!found->second.is_folder) return Error(ErrorKind::kInvalid, "model:" + path + " is no folder");
    at = found->second.id;
    begin = end + 1;
  }
  return at;
}

Result<ModelDisk::Place> ModelDisk::place_of(const std::string& path) const {
  if (auto checked = checkpoint::check_path(path); !checked) return checked.error();
  const std::string above = checkpoint::folder_of(path);
  const auto folder = folder_at(above);
  if (!folder) return folder.error();
  return Place{*folder, above.empty() ? path : path.substr(above.size() + 1)};
}

const Named* ModelDisk::find(const Place& place) const {
  const auto& names = image_.folders.at(place.folder);
  const auto found = names.find(place.name);
  return found == names.end() ? nullptr : &found->second;
}

std::string* ModelDisk::bytes_of(const std::string& path) {
  const auto place = place_of(path);
  const Named* const named = place ? find(*place) : nullptr;
  return named != nullptr && !named->is_folder ? &image_.files.at(named->id) : nullptr;
}

std::vector<std::string> ModelDisk::all_paths() const {
  std::vector<std::string> paths;
  const std::function<void(FolderId, const std::string&)> walk = [&](FolderId folder,
                                                                     const std::string& prefix) {
    for (const auto& [name, named] : image_.folders.at(folder)) {
      if (named.is_folder)
        walk(named.id, prefix + name + "/");
      else
        paths.push_back(prefix + name);
    }
  };
  walk(0, "");
  return paths;
}

Result<std::unique_ptr<checkpoint::WriteFile>> ModelDisk::create(const std::string& path) {
  const auto place = place_of(path);
  if (!place) return place.error();
  if (find(*place) != nullptr) return Error(ErrorKind::kAlreadyExists, "model:" + path + " exists");
  const FileId file = next_id_++;
  const auto made = with_fault(DiskCall::kCreate, path, [&] {
    record(Link{place->folder, place->name, {.is_folder = false, .id = file}});
    return Result<void>();
  });
  if (!made) return made.error();
  return std::unique_ptr<checkpoint::WriteFile>(std::make_unique<ModelWriteFile>(*this, file, path));
}

Result<std::unique_ptr<checkpoint::ReadFile>> ModelDisk::open(const std::string& path) const {
  if (const Fault broken = fault(DiskCall::kOpen, path); broken.error) return *broken.error;
  const auto place = place_of(path);
  if (!place) return place.error();
  const Named* const named = find(*place);
  if (named == nullptr) return no_such(path);
  if (named->is_folder) return Error(ErrorKind::kInvalid, "model:" + path + " is a folder");
  return std::unique_ptr<checkpoint::ReadFile>(
      std::make_unique<ModelReadFile>(*this, image_.files.at(named->id), path));
}

Result<void> ModelDisk::rename(const std::string& from, const std::string& to, bool replaces) {
  const auto source = place_of(from);
  if (!source) return source.error();
  const auto target = place_of(to);
  if (!target) return target.error();
  const Named* const named = find(*source);
  if (named == nullptr) return no_such(from);
  if (!replaces && find(*target) != nullptr)
    return Error(ErrorKind::kAlreadyExists, "model:" + to + " exists");
  return with_fault(DiskCall::kRename, to, [&] {
    const Named what = *named;
    if (source->folder == target->folder) {
      record(Move{source->folder, source->name, target->name, what});
    } else {
      record(Link{target->folder, target->name, what});
      record(Unlink{source->folder, source->name});
    }
    return Result<void>();
  });
}

Result<void> ModelDisk::rename_no_replace(const std::string& from, const std::string& to) {
  return rename(from, to, false);
}

Result<void> ModelDisk::rename_over(const std::string& from, const std::string& to) {
  return rename(from, to, true);
}

Result<void> ModelDisk::remove(const std::string& path) {
  const auto place = place_of(path);
  if (!place) return place.error();
  const Named* const named = find(*place);
  if (named == nullptr) return no_such(path);
  if (named->is_folder) return Error(ErrorKind::kInvalid, "model:" + path + " is a folder");
  return with_fault(DiskCall::kRemove, path, [&] {
    record(Unlink{place->folder, place->name});
    return Result<void>();
  });
}

Result<void> ModelDisk::remove_folder(const std::string& path) {
  const auto place = place_of(path);
  if (!place) return place.error();
  const Named* const named = find(*place);
  if (named == nullptr) return no_such(path);
  if (!named->is_folder || !image_.folders.at(named->id).empty())
    return Error(ErrorKind::kIo, "model:" + path + " is no empty folder");
  return with_fault(DiskCall::kRemove, path, [&] {
    record(Unlink{place->folder, place->name});
    return Result<void>();
  });
}

Result<void> ModelDisk::make_folder(const std::string& path) {
  const auto place = place_of(path);
  if (!place) return place.error();
  if (find(*place) != nullptr) return Error(ErrorKind::kAlreadyExists, "model:" + path + " exists");
  return with_fault(DiskCall::kMakeFolder, path, [&] {
    record(Link{place->folder, place->name, {.is_folder = true, .id = next_id_++}});
    return Result<void>();
  });
}

Result<void> ModelDisk::sync_folder(const std::string& path) {
  const auto folder = folder_at(path);
  if (!folder) return folder.error();
  return with_fault(DiskCall::kSyncFolder, path, [&] {
    record(SyncFolder{*folder});
    return Result<void>();
  });
}

Result<std::vector<checkpoint::DiskEntry>> ModelDisk::list(const std::string& path) const {
  if (const Fault broken = fault(DiskCall::kList, path); broken.error) return *broken.error;
  const auto folder = folder_at(path);
  if (!folder) return folder.error();
  std::vector<checkpoint::DiskEntry> entries;
  for (const auto& [name, named] : image_.folders.at(*folder))
    entries.push_back({.name = name, .is_folder = named.is_folder});
  return entries;
}

}  // namespace ratoon::test
