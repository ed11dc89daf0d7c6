// Calls that change or read folders and files.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/failing_calls/draw.h"

using ratoon::test::failing::Call;
using ratoon::test::failing::fails;
using ratoon::test::failing::Kind;
using ratoon::test::failing::kind_of;
using ratoon::test::failing::next;

namespace {

Call opening(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY ? Call::kOpenToRead : Call::kOpenToWrite;
}

bool fails_to_write(int fd) {
  const Kind kind = kind_of(fd);
  const Call call = kind == Kind::kFile     ? Call::kWriteFile
                    : kind == Kind::kOutput ? Call::kWriteOutput
                                            : Call::kWriteChannel;
  if (!fails(call)) return false;
  if (errno == EPIPE) {
    ::raise(SIGPIPE);
    errno = EPIPE;
  }
  return true;
}

bool fails_to_read(int fd) {
  return fails(kind_of(fd) == Kind::kFile ? Call::kReadFile : Call::kReadChannel);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  static auto* const real = next<int(const char*, int, mode_t)>("open");
  return fails(opening(flags)) ? -1 : real(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  static auto* const real = next<int(const char*, int, mode_t)>("open64");
  return fails(opening(flags)) ? -1 : real(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  static auto* const real = next<int(int, const char*, int, mode_t)>("openat");
  return fails(opening(flags)) ? -1 : real(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  static auto* const real = next<int(int, const char*, int, mode_t)>("openat64");
  return fails(opening(flags)) ? -1 : real(folder, path, flags, mode);
}

int creat(const char* path, mode_t mode) {
  static auto* const real = next<int(const char*, mode_t)>("creat");
  return fails(Call::kOpenToWrite) ? -1 : real(path, mode);
}

FILE* fopen(const char* path, const char* how) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen");
  return fails(Call::kOpenStream) ? nullptr : real(path, how);
}

FILE* fopen64(const char* path, const char* how) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen64");
  return fails(Call::kOpenStream) ? nullptr : real(path, how);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = next<int(const char*, mode_t)>("mkdir");
  return fails(Call::kMakeFolder) ? -1 : real(path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  static auto* const real = next<int(int, const char*, mode_t)>("mkdirat");
  return fails(Call::kMakeFolder) ? -1 : real(folder, path, mode);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return fails(Call::kRename) ? -1 : real(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*)>("renameat");
  return fails(Call::kRename) ? -1 : real(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return fails(Call::kRename) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("unlink");
  return fails(Call::kUnlink) ? -1 : real(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  return fails(Call::kUnlink) ? -1 : real(folder, path, flags);
}

int rmdir(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("rmdir");
  return fails(Call::kUnlink) ? -1 : real(path);
}

int link(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("link");
  return fails(Call::kLink) ? -1 : real(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*, int)>("linkat");
  return fails(Call::kLink) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int symlink(const char* target, const char* path) noexcept {
  static auto* const real = next<int(const char*, const char*)>("symlink");
  return fails(Call::kLink) ? -1 : real(target, path);
}

ssize_t readlink(const char* path, char* into, size_t room) noexcept {
  static auto* const real = next<ssize_t(const char*, char*, size_t)>("readlink");
  return fails(Call::kReadLink) ? -1 : real(path, into, room);
}

int fsync(int fd) {
  static auto* const real = next<int(int)>("fsync");
  return fails(Call::kSync) ? -1 : real(fd);
}

int fdatasync(int fd) {
  static auto* const real = next<int(int)>("fdatasync");
  return fails(Call::kSync) ? -1 : real(fd);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  return fails_to_write(fd) ? -1 : real(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const struct iovec*, int)>("writev");
  return fails_to_write(fd) ? -1 : real(fd, parts, count);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return fails_to_write(fd) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  return fails_to_write(fd) ? -1 : real(fd, bytes, size, offset);
}

ssize_t read(int fd, void* into, size_t size) {
  static auto* const real = next<ssize_t(int, void*, size_t)>("read");
  return fails_to_read(fd) ? -1 : real(fd, into, size);
}

ssize_t readv(int fd, const struct iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const struct iovec*, int)>("readv");
  return fails_to_read(fd) ? -1 : real(fd, parts, count);
}

ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  return fails_to_read(fd) ? -1 : real(fd, into, size, offset);
}

ssize_t pread64(int fd, void* into, size_t size, off64_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off64_t)>("pread64");
  return fails_to_read(fd) ? -1 : real(fd, into, size, offset);
}

ssize_t preadv2(int fd, const struct iovec* parts, int count, off_t offset, int flags) {
  static auto* const real = next<ssize_t(int, const struct iovec*, int, off_t, int)>("preadv2");
  return fails_to_read(fd) ? -1 : real(fd, parts, count, offset, flags);
}

// The descriptor is closed in spite of the error, as on Linux.
int close(int fd) {
  static auto* const real = next<int(int)>("close");
  const bool is_failing = fails(Call::kClose);
  const int error = errno;
  const int result = real(fd);
  if (!is_failing) return result;
  errno = error;
  return -1;
}

int ftruncate(int fd, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return fails(Call::kResize) ? -1 : real(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  static auto* const real = next<int(int, int, off_t, off_t)>("fallocate");
  return fails(Call::kAllocate) ? -1 : real(fd, mode, offset, size);
}

int stat(const char* path, struct stat* facts) noexcept {
  static auto* const real = next<int(const char*, struct stat*)>("stat");
  return fails(Call::kLook) ? -1 : real(path, facts);
}

int stat64(const char* path, struct stat64* facts) noexcept {
  static auto* const real = next<int(const char*, struct stat64*)>("stat64");
  return fails(Call::kLook) ? -1 : real(path, facts);
}

int lstat(const char* path, struct stat* facts) noexcept {
  static auto* const real = next<int(const char*, struct stat*)>("lstat");
  return fails(Call::kLook) ? -1 : real(path, facts);
}

int fstat(int fd, struct stat* facts) noexcept {
  static auto* const real = next<int(int, struct stat*)>("fstat");
  return fails(Call::kLook) ? -1 : real(fd, facts);
}

int fstatat(int folder, const char* path, struct stat* facts, int flags) noexcept {
  static auto* const real = next<int(int, const char*, struct stat*, int)>("fstatat");
  return fails(Call::kLook) ? -1 : real(folder, path, facts, flags);
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* facts) noexcept {
  static auto* const real = next<int(int, const char*, int, unsigned, struct statx*)>("statx");
  return fails(Call::kLook) ? -1 : real(folder, path, flags, mask, facts);
}

DIR* opendir(const char* path) {
  static auto* const real = next<DIR*(const char*)>("opendir");
  return fails(Call::kOpenFolder) ? nullptr : real(path);
}

DIR* fdopendir(int fd) {
  static auto* const real = next<DIR*(int)>("fdopendir");
  return fails(Call::kOpenFolder) ? nullptr : real(fd);
}

struct dirent* readdir(DIR* folder) {
  static auto* const real = next<struct dirent*(DIR*)>("readdir");
  return fails(Call::kReadFolder) ? nullptr : real(folder);
}

int flock(int fd, int how) noexcept {
  static auto* const real = next<int(int, int)>("flock");
  return fails(Call::kLock) ? -1 : real(fd, how);
}

int fcntl(int fd, int what, ...) {
  va_list rest;
  va_start(rest, what);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  static auto* const real = next<int(int, int, ...)>("fcntl");
  const bool is_lock = what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW ||
                       what == F_GETLK || what == F_OFD_GETLK;
  if (is_lock && fails(Call::kLock)) return -1;
  if ((what == F_DUPFD || what == F_DUPFD_CLOEXEC) && fails(Call::kDuplicate)) return -1;
  return real(fd, what, argument);
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  return fails(Call::kMap) ? MAP_FAILED : real(address, size, protection, flags, fd, offset);
}

}  // extern "C"
