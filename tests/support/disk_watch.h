// DiskWatch: what a program does to make files durable, in its order. A test program that is linked with it
// has fsync, rename, renameat and link of its own, which note the call and pass it on to the kernel, or let
// it fail.
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

class DiskWatch {
 public:
  // From now on, an fsync of a regular file fails with this errno; 0: none does.
  explicit DiskWatch(int errno_of_syncs = 0);
  ~DiskWatch();
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  // "sync NAME, 12 bytes" of a file, "sync NAME" of a folder, "rename NAME to NAME", "link NAME to NAME"
  [[nodiscard]] std::vector<std::string> calls() const;
};

}  // namespace ratoon::test
