// A trainer without tensors that makes no call of the C library by itself while it trains: each failing call
// is one of Ratoon's. Its output goes by the kernel into a file of its own.
//
//   fault_probe --steps N --journal FILE and the options of a session
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ratoon/train.h>

namespace {

const char* read_flag(int argc, char** argv, std::string_view flag) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == flag) return argv[i + 1];
  return "";
}

class Journal {
 public:
  explicit Journal(const char* path)
      : fd_(::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}

  template <class... Numbers>
  void say(const char* format, Numbers... numbers) const {
    char line[200];
    const int size = std::snprintf(line, sizeof(line), format, numbers...);
    if (::syscall(SYS_write, fd_, line, size) != size) std::abort();
  }

 private:
  long fd_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t steps = std::strtoull(read_flag(argc, argv, "--steps"), nullptr, 10);
  const Journal journal(read_flag(argc, argv, "--journal"));

  const int code =
      ratoon::train(ratoon::Options::from_environment(argc, argv), [&](ratoon::Session& session) {
        std::uint64_t sum = 0;
        session.track("sum", sum);
        bool has_begun = false;
        for (const std::uint64_t step : session.steps(steps)) {
          if (!has_begun)
            journal.say("attempt %" PRIu64 " rank %u begins at step %" PRIu64 "\n", session.attempt(),
                        session.rank(), step);
          has_begun = true;
          sum += step;
          session.report("sum", static_cast<double>(sum));
        }
        journal.say("rank %u done: %" PRIu64 " steps, sum %" PRIu64 "\n", session.rank(),
                    session.steps_done(), sum);
      });
  journal.say("exits with %d\n", code);
  return code;
}
