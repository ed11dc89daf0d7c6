#include <cerrno>
#include <system_error>

#include <ratoon/result.h>

namespace ratoon {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kAlreadyExists:
      return "already_exists";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kPermissionDenied:
      return "permission_denied";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kCancelled:
      return "cancelled";
    case ErrorKind::kCorrupted:
      return "corrupted";
    case ErrorKind::kNoSpace:
      return "no_space";
    case ErrorKind::kIo:
      return "io";
  }
  return "unknown";
}

Error Error::with_context(std::string_view doing) const {
  return Error(kind_, std::string(doing) + ": " + message_);
}

bool Error::is_retryable() const {
  return kind_ == ErrorKind::kUnavailable || kind_ == ErrorKind::kTimeout || kind_ == ErrorKind::kConflict;
}

namespace {

// Returns advice on what to do next, for error numbers that always have the same remedy.
std::string_view advice_for_error(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "; free space on that volume, or use another volume";
    case EDQUOT:
      return "; remove files that count against the disk quota, or use another volume";
    case EROFS:
      return "; use a writable volume, or find out why this volume is read-only (dmesg)";
    case EMFILE:
      return "; close some files, or raise this process's limit of open files (ulimit -n)";
    default:
      return "";
  }
}

}  // namespace

Error system_error(int error_number, std::string_view doing) {
  const auto kind = [&] {
    switch (error_number) {
      case ENOENT:
        return ErrorKind::kNotFound;
      case EEXIST:
        return ErrorKind::kAlreadyExists;
      case EACCES:
      case EPERM:
      case EROFS:
        return ErrorKind::kPermissionDenied;
      case ENOSPC:
      case EDQUOT:
        return ErrorKind::kNoSpace;
      case EAGAIN:
      case EMFILE:
      case ENFILE:
      case ENOMEM:
      case ECONNREFUSED:
      case ECONNRESET:
      case EADDRINUSE:
        return ErrorKind::kUnavailable;
      case ETIMEDOUT:
        return ErrorKind::kTimeout;
      default:
        return ErrorKind::kIo;
    }
  }();
  return Error(kind, std::string(doing) + ": " + std::system_category().message(error_number) +
                         std::string(advice_for_error(error_number)));
}

}  // namespace ratoon
