// WatchDecoder converts the bytes of a Kubernetes watch, which arrive in pieces of any size, to events.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

enum class WatchEventKind {
  kAdded,
  kModified,
  kDeleted,
  kBookmark,  // nothing changed up to this resourceVersion
  kError,     // `object` is the server's Status
  kBroken,    // a line that is not an event; `complaint` has the reason, and its content is lost
};

struct WatchEvent {
  WatchEventKind kind = WatchEventKind::kBroken;
  nlohmann::json object{};
  std::string complaint{};
};

// The list in an object that records which client wrote which field. The decoder skips this list, because it
// is as large as the rest of the object, and the operator does not use it.
inline constexpr std::string_view kManagedFieldsKey = "managedFields";

class WatchDecoder {
 public:
  // The longest accepted line. The server stores objects of up to 1.5 MiB, and JSON may escape one byte as
  // six bytes.
  static constexpr std::size_t kLineBytesMax = 16 * 1024 * 1024;

  explicit WatchDecoder(std::size_t line_bytes_max = kLineBytesMax) : line_bytes_max_(line_bytes_max) {}

  // Calls `take` for each event (line) that `bytes` completes. Skips a line that is longer than the limit.
  void feed(std::string_view bytes, const std::function<void(WatchEvent)>& take);

 private:
  [[nodiscard]] WatchEvent decode(std::string_view line) const;

  std::size_t line_bytes_max_;
  std::string incomplete_line_;    // the beginning of an incomplete line
  bool is_skipping_line_ = false;  // within a line that is too long
};

}  // namespace ratoon::kube
