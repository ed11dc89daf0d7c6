// DiskWatch: the calls by which a program makes files durable, in their order. A test program that is linked
// with it has its own fsync, fallocate, rename, renameat and link, which pass the call on to the kernel, or
// let it fail.
//
//   const DiskWatch watch;
//   save_file_atomically(folder / "a", "text");
//   EXPECT_THAT(watch.calls(), ElementsAre(StartsWith("sync .a.tmp-"), ...));
//
// Thread contract: any thread; one watch at a time.
#pragma once

#include <string>
#include <vector>

namespace ratoon::test {

// The errno with which calls fail; 0: they do not fail.
struct DiskFaults {
  int syncs = 0;  // of regular files
  int allocations = 0;
  int dies_at_call = 0;  // before this call, counted from 1, the process is killed; 0: it is not
};

class DiskWatch {
 public:
  explicit DiskWatch(DiskFaults faults = {});
  ~DiskWatch();
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  // All calls but allocations: "sync NAME, 12 bytes" of a file, "sync NAME" of a folder, "rename NAME to
  // NAME", "link NAME to NAME"
  [[nodiscard]] std::vector<std::string> calls() const;
};

}  // namespace ratoon::test
