#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <ratoon/atomic_directory.h>

#include "base/core/unfinished_file.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/forks.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

namespace fs = std::filesystem;

// What it raises comes out of prepare() or finalize().
std::function<void()> barrier_of(nb::object barrier) {
  if (barrier.is_none()) return {};
  return [barrier = std::move(barrier)] {
    const nb::gil_scoped_acquire acquired;
    barrier();
  };
}

AtomicDirectoryOptions make_options(std::string prefix, std::string link, std::uint64_t keep,
                                    std::uint32_t rank, nb::object barrier) {
  return {.prefix = std::move(prefix),
          .link = std::move(link),
          .keep = keep,
          .rank = rank,
          .barrier = barrier_of(std::move(barrier))};
}

// A file on its way to its name. A child that is forked leaves it to its parent.
class Unfinished {
 public:
  Unfinished(const fs::path& path, bool replaces)
      : file_(create(path, replaces), "the file of an atomic_save()") {}

  [[nodiscard]] int fd() const { return file_->fd(); }
  void publish() {
    const nb::gil_scoped_release released;
    check(file_->publish());
    file_.reset();
  }
  void discard() {
    const nb::gil_scoped_release released;
    file_.reset();
  }

 private:
  static std::unique_ptr<UnfinishedFile> create(const fs::path& path, bool replaces) {
    const nb::gil_scoped_release released;
    return std::make_unique<UnfinishedFile>(value_of(UnfinishedFile::create(path, {.replaces = replaces})));
  }

  Owned<UnfinishedFile> file_;
};

constexpr const char* kDirectoryText =
    R"(Checkpoints that are directories of files. Each directory is either complete or ignored.

>>> import pathlib, tempfile, ratoon
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> saver = ratoon.AtomicDirectory(folder, keep=3)
>>> saver.latest() is None                         # nothing was saved yet
True
>>> directory = saver.prepare()                    # new and empty
>>> _ = (directory / "model.txt").write_text("weights")
>>> saver.finalize(directory).name                 # all files are synced, and it has its name
'checkpoint_0'
>>> (saver.latest() / "model.txt").read_text()
'weights'

Several ranks write into one directory: each has its own AtomicDirectory with its `rank` and one `barrier`, a
function that returns once all ranks have called it, and calls prepare() and finalize() at the same places.
One thread, and one run at a time in a folder.)";

}  // namespace

void bind_atomic(nb::module_& module) {
  nb::class_<AtomicDirectory>(module, "AtomicDirectory", kDirectoryText)
      .def(
          "__init__",
          [](AtomicDirectory* self, fs::path folder, std::string prefix, std::string link, std::uint64_t keep,
             std::uint32_t rank, nb::object barrier) {
            new (self) AtomicDirectory(std::move(folder), make_options(std::move(prefix), std::move(link),
                                                                       keep, rank, std::move(barrier)));
          },
          "folder"_a, nb::kw_only(), "prefix"_a = "checkpoint_", "link"_a = "latest", "keep"_a = 2,
          "rank"_a = 0, "barrier"_a.none() = nb::none(),
          nb::sig(
              "def __init__(self, folder: str | os.PathLike, *, prefix: str = \"checkpoint_\", link: str = "
              "\"latest\", keep: int = 2, rank: int = 0, barrier: collections.abc.Callable[[], object] | "
              "None = "
              "None) -> None"))
      .def("latest", &AtomicDirectory::latest, nb::call_guard<nb::gil_scoped_release>(),
           "The newest finished directory, or None.")
      .def("prepare", &AtomicDirectory::prepare, nb::call_guard<nb::gil_scoped_release>(),
           "Creates a new, empty directory and removes unfinished ones.")
      .def("finalize", &AtomicDirectory::finalize, nb::call_guard<nb::gil_scoped_release>(), "directory"_a,
           "Syncs all files in the directory, gives it its final name, which is returned, and makes it "
           "latest(). Removes finished directories that need not be kept.");

  nb::class_<Unfinished>(module, "Unfinished", "The file that ratoon.atomic_save() writes.")
      .def(
          "__init__",
          [](Unfinished* self, const fs::path& path, bool replaces) {
            new (self) Unfinished(path, replaces);
          },
          "path"_a, "replaces"_a)
      .def("fd", &Unfinished::fd)
      .def("publish", &Unfinished::publish)
      .def("discard", &Unfinished::discard);
}

}  // namespace ratoon::python
