#include "operator/local/run_folder.h"

#include <array>
#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include <ratoon/atomic_file.h>

#include "base/contract/fields.h"

namespace ratoon::local {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStatusBytesMax = 64 * 1024 * 1024;
constexpr int kDepthMax = 64;
constexpr unsigned kPrivate = 0600;

}  // namespace

Result<RunFolder> RunFolder::open(fs::path folder) {
  std::error_code code;
  fs::create_directories(folder / "logs", code);
  if (code) return system_error(code.value(), "creating the run's folder " + folder.string());
  folder = fs::absolute(folder);
  const std::string lock_path = (folder / "lock").string();
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open()) return system_error(errno, "opening " + lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorKind::kAlreadyExists,
                 "another `ratoon run` is at work in " + folder.string() +
                     ": wait for it, end it with Ctrl-C, or pass another --folder");
  }
  return RunFolder(std::move(folder), std::move(lock));
}

Result<std::optional<api::TrainingJobStatus>> RunFolder::read_status(const api::TrainingJob& job) const {
  std::ifstream in(status_path(), std::ios::binary);
  if (!in && errno == ENOENT) return std::optional<api::TrainingJobStatus>();
  if (!in) return system_error(errno, "opening " + status_path().string());
  std::string text;
  std::array<char, 64 * 1024> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return system_error(EIO, "reading " + status_path().string());
  auto document = parse_json(text, kStatusBytesMax, kDepthMax);
  if (!document) return document.error().with_context(status_path().string());
  auto stored = api::decode_training_job(document->is_object() ? (*document)["job"] : *document);
  if (!stored) return stored.error().with_context(status_path().string());
  if (api::key_of(*stored) != api::key_of(job)) {
    return Error(ErrorKind::kInvalid, folder_.string() + " holds a run of job '" + stored->meta.name +
                                          "', not of '" + job.meta.name + "': pass another --folder");
  }
  return std::optional(stored->status);
}

Result<void> RunFolder::write_status(const nlohmann::json& document) const {
  return save_file_atomically(status_path(),
                              document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                              {.mode = kPrivate});
}

Result<void> RunFolder::write_token(const std::string& token) const {
  return save_file_atomically(token_path(), token + "\n", {.mode = kPrivate});
}

fs::path RunFolder::log_path(const std::string& member) const {
  return folder_ / "logs" / (member + ".log");
}

}  // namespace ratoon::local
