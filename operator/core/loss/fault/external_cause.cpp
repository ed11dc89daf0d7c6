#include "operator/core/loss/fault/external_cause.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "base/core/never_destroyed.h"
#include "base/core/utf8.h"

namespace ratoon::core {
namespace {

// Names that are compared case-sensitively: exception types, prefixes of types, clients of servers, and
// devices.
constexpr auto kExceptionNames = std::to_array<std::string_view>(
    {// of C++ and PyTorch
     "system_error", "filesystem_error", "bad_alloc", "ios_base", "future_error", "IoException",
     "EnforceNotMet", "DistBackend", "DistNetwork", "DistStore", "DistError", "OutOfMemory",
     // of Python
     "MemoryError", "OSError", "IOError", "ConnectionRe", "ConnectionAb", "BrokenPipe", "FileNotFound",
     "FileExists", "NotADirectory", "IsADirectory", "PermissionErr", "TimeoutError", "BlockingIO",
     "InterruptedError", "ChildProcess", "ProcessLookup", "KeyboardInterrupt", "EOFError", "gaierror",
     "herror", "UnpicklingError", "BadZipFile", "zlib.error", "LZMAError", "tarfile.", "JSONDecodeError",
     "SafetensorError", "IncompleteRead",
     // names of the clients of servers
     "requests.", "urllib", "botocore", "boto3", "aiohttp", "google.", "azure.", "grpc", "fsspec", "s3fs",
     "huggingface", "redis.", "wandb", "mlflow", "kubernetes.", "ray.exceptions", "RayActor", "CommError",
     "ApiException", "DatasetNotFound", "UnidentifiedImage", "ssl.", "SSL", "TLS", "NoSuchBucket",
     "AccessDenied", "SlowDown",
     // names of devices and of their libraries
     "CUDA", "NVML", "NCCL", "RCCL", "HIP ", "MIOpen", "ECC error", "cuDNN"});

// Phrases in lower case: the first list is about servers and connections, the others about files and devices.
constexpr auto kServerWords = std::to_array<std::string_view>({"http",
                                                               "://",
                                                               "connection",
                                                               "connect to",
                                                               "connect(",
                                                               "disconnect",
                                                               "socket",
                                                               "timed out",
                                                               "timeout",
                                                               "deadline exceeded",
                                                               "unreachable",
                                                               "name resolution",
                                                               "unknown host",
                                                               "hostname",
                                                               "host not found",
                                                               "dns",
                                                               "certificate",
                                                               "credential",
                                                               "unauthorized",
                                                               "forbidden",
                                                               "access denied",
                                                               "throttl",
                                                               "too many requests",
                                                               "rate limit",
                                                               "service unavailable",
                                                               "bad gateway",
                                                               "server error",
                                                               "quota",
                                                               "not responding",
                                                               "try again",
                                                               "internal error",
                                                               "internalerror",
                                                               "database",
                                                               "license server",
                                                               "token expired",
                                                               "download",
                                                               "communicat",
                                                               "cannot be accessed",
                                                               "after several attempts",
                                                               "retries"});
constexpr auto kFileWords = std::to_array<std::string_view>(
    {"errno",           "file not found",  "no such file",    "cannot open",    "can't open",
     "could not open",  "failed to open",  "unable to open",  "file failed",    "cannot read",
     "could not read",  "failed to read",  "unable to read",  "failed reading", "cannot write",
     "could not write", "failed to write", "unable to write", "end of file",    "end of stream",
     "is truncated",    "checksum",        "corrupt",         "mount",          "nfs",
     "lustre",          "short read",      "file handle"});
constexpr auto kDeviceWords = std::to_array<std::string_view>({"out of memory",
                                                               "not enough memory",
                                                               "cannot allocate",
                                                               "failed to allocate",
                                                               "no space",
                                                               "killed by signal",
                                                               "bus error",
                                                               "dataloader worker",
                                                               "cublas",
                                                               "cudnn",
                                                               "cufft",
                                                               "cusolver",
                                                               "cusparse",
                                                               "cuda error",
                                                               "cuda driver",
                                                               "hiperror",
                                                               "hip error",
                                                               "rocblas",
                                                               "xpu error",
                                                               "gloo",
                                                               "mpi_",
                                                               "rdma",
                                                               "infiniband",
                                                               "no gpu",
                                                               "gpu is lost",
                                                               "fell off the bus",
                                                               "nvidia driver",
                                                               "driver version"});

// Returns the system's messages, in lower case, for all errno values except EINVAL, EDOM and ERANGE, which
// can also mean wrong arguments.
std::vector<std::string> errno_messages() {
  constexpr int kNumberMax = 133;
  std::vector<std::string> sentences;
  for (int number = 1; number <= kNumberMax; ++number) {
    if (number == EINVAL || number == EDOM || number == ERANGE) continue;
    std::string text = to_lower_case(std::generic_category().message(number));
    if (!text.starts_with("unknown error")) sentences.push_back(std::move(text));
  }
  return sentences;
}

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// Returns whether the text has a path like "/mnt/data/train.bin"; "and/or" and "for /: 'str'" are not paths.
bool contains_path(std::string_view text) {
  for (std::size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at + 1)) {
    const bool begins = at == 0 || std::string_view(" '\"(=:[").find(text[at - 1]) != std::string_view::npos;
    const bool goes_on = at + 1 < text.size() && is_letter_or_digit(text[at + 1]);
    if (begins && goes_on) return true;
  }
  return false;
}

// Returns whether the text has an IPv4 address such as "10.0.0.3".
bool contains_address(std::string_view text) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  int numbers = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      numbers = 0;
      ++i;
      continue;
    }
    while (i < text.size() && is_digit(text[i])) ++i;
    if (++numbers == 4) return true;
    const bool goes_on = i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1]);
    if (goes_on) ++i;
  }
  return false;
}

}  // namespace

bool may_have_external_cause(std::string_view fault) {
  static const NeverDestroyed<std::vector<std::string>> kSentences(errno_messages());
  const std::string small = to_lower_case(fault);
  const auto is_in = [](std::string_view text) {
    return [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  };
  return std::ranges::any_of(kExceptionNames, is_in(fault)) ||
         std::ranges::any_of(kServerWords, is_in(small)) || std::ranges::any_of(kFileWords, is_in(small)) ||
         std::ranges::any_of(kDeviceWords, is_in(small)) || std::ranges::any_of(*kSentences, is_in(small)) ||
         contains_path(fault) || contains_address(fault);
}

}  // namespace ratoon::core
