#include "tests/support/crash/loop_mount.h"

#include <cerrno>
#include <cstdint>
#include <functional>
#include <vector>

#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ratoon::test {
namespace {

// XFS defines this call, and ext4 answers it as well.
constexpr unsigned long kShutdown = _IOR('X', 125, std::uint32_t);

// With these features, Linux 6.18 leaves bitmaps at a shutdown that contradict their descriptors or
// checksums. They change no order of writes.
constexpr const char* kLeftOutFeatures = "^metadata_csum,^uninit_bg,^extent,^64bit";

constexpr off_t kExt4Bytes = 64 << 20;
constexpr off_t kXfsBytes = 320 << 20;  // the least that mkfs.xfs makes

constexpr int kTries = 1200;  // for a minute
constexpr int kPauseMillis = 50;

Error cannot(const std::string& what) {
  return {ErrorKind::kUnavailable, what};
}

Error failed(const std::string& doing) {
  return system_error(errno, doing);
}

// Repeats a system call while another process has the device or the file system for a moment, as a program
// that looks for new disks does. Returns whether the call succeeded; if not, errno says why.
bool succeeds(const std::function<int()>& call) {
  for (int i = 0; i < kTries; ++i) {
    if (call() == 0) return true;
    const int error = errno;
    if (error != EBUSY && error != EAGAIN && error != EINTR) return false;
    ::poll(nullptr, 0, kPauseMillis);
    errno = error;
  }
  return false;
}

// Programs of an administrator are not on every user's path.
Result<void> run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  for (const char* const folder : {"/usr/sbin/", "/sbin/", "/usr/bin/"}) {
    const std::string program = folder + words.front();
    if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) continue;
    int status = 0;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return Error(ErrorKind::kIo, program + " failed on " + words.back());
  }
  return cannot("there is no " + words.front() + " on this machine");
}

Result<void> make_image(const std::string& type, const std::filesystem::path& image) {
  const UniqueFd file(::open(image.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() || ::ftruncate(file.get(), type == "xfs" ? kXfsBytes : kExt4Bytes) != 0)
    return failed("making " + image.string());
  if (type != "ext4") return run({"mkfs." + type, "-q", "-f", image.string()});
  return run({"mkfs.ext4", "-q", "-F", "-O", kLeftOutFeatures, image.string()});
}

// A mount that no other process sees, and that ends with this process.
Result<void> hide_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return cannot("this process may not mount: root is needed");
  return {};
}

}  // namespace

Result<std::unique_ptr<LoopMount>> LoopMount::make(const std::string& type,
                                                   const std::filesystem::path& scratch) {
  if (auto hidden = hide_mounts(); !hidden) return hidden.error();
  const auto image = scratch / (type + ".img");
  if (auto made = make_image(type, image); !made) return made.error();
  const auto mount = scratch / type;
  std::filesystem::create_directory(mount);
  std::unique_ptr<LoopMount> made(new LoopMount(type, image, mount));
  if (auto attached = made->attach(); !attached) return attached.error();
  if (auto mounted = made->mount(); !mounted) return mounted.error();
  return made;
}

LoopMount::~LoopMount() {
  static_cast<void>(::umount2(mount_.c_str(), MNT_DETACH));
}

// Another process may take the device that the kernel called free.
Result<void> LoopMount::attach() {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.is_open()) return cannot("there are no loop devices here");
  const UniqueFd image(::open(image_.c_str(), O_RDWR | O_CLOEXEC));
  for (int i = 0; i < kTries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return cannot("no loop device is free");
    device_ = "/dev/loop" + std::to_string(number);
    UniqueFd loop(::open(device_.c_str(), O_RDWR | O_CLOEXEC));
    if (!loop.is_open()) return cannot(device_ + " cannot be opened");
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(image.get());
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) {
      loop_ = std::move(loop);
      return {};
    }
    if (errno != EBUSY) return cannot(device_ + " cannot be attached to a file");
    ::poll(nullptr, 0, kPauseMillis);
  }
  return cannot("others took every loop device");
}

Result<void> LoopMount::mount() {
  if (succeeds([this] { return ::mount(device_.c_str(), mount_.c_str(), type_.c_str(), 0, nullptr); }))
    return {};
  if (errno == ENODEV) return cannot("this kernel has no " + type_);
  if (errno == EPERM || errno == EACCES) return cannot("this process may not mount " + type_);
  return failed("mounting " + mount_.string());
}

Result<void> LoopMount::cut_power(PowerCut how) {
  const UniqueFd top(::open(mount_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::uint32_t flags = how == PowerCut::kLogKept ? 1 : 2;
  if (!top.is_open() || ::ioctl(top.get(), kShutdown, &flags) != 0)
    return failed("shutting down " + mount_.string());
  return {};
}

Result<void> LoopMount::start_again() {
  if (!succeeds([this] { return ::umount(mount_.c_str()); })) return failed("unmounting " + mount_.string());
  auto mounted = mount();
  if (mounted || type_ != "ext4") return mounted;
  // A machine repairs a file system that it cannot mount. Its exit code is not 0 if it repaired anything.
  static_cast<void>(run({"fsck.ext4", "-p", device_}));
  return mount();
}

}  // namespace ratoon::test
