// store_probe [--attempts N] [--seconds S] [--anonymous] [--limit BYTES] [--patience S] COMMAND URI ...
//
//   get URI KEY FILE [BEGIN END]     head URI KEY     put URI KEY FILE     create URI KEY FILE
//   list URI PREFIX                  remove URI KEY
//   upload URI KEY FILE [create] [part=BYTES] [threads=N] [crc32c=N] [stop=BYTES]   stop: once so much is
//   stored tidy URI PREFIX SECONDS cache URI FOLDER ORDER           ORDER has a line "key size sha256" for
//   each object to open, in that order
//
// Prints a line for each thing done; an error as "error KIND: SENTENCE", with exit code 1.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/objects/cache/object_cache.h"
#include "agent/src/objects/object_store.h"
#include "agent/src/objects/s3/protocol/sha256.h"
#include "agent/src/objects/sinks.h"
#include "agent/src/objects/sources.h"

namespace {

using namespace ratoon;           // NOLINT
using namespace ratoon::objects;  // NOLINT

struct Arguments {
  StoreOptions store;
  CacheOptions cache;
  std::vector<std::string> words;
};

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--attempts") {
      arguments.store.attempts_max = static_cast<std::uint32_t>(number(argv[++i]));
    } else if (word == "--seconds") {
      arguments.store.object_seconds = std::stod(argv[++i]);
    } else if (word == "--anonymous") {
      arguments.store.is_anonymous = true;
    } else if (word == "--limit") {
      arguments.cache.bytes_max = number(argv[++i]);
    } else if (word == "--patience") {
      arguments.cache.lock_wait_max = from_seconds(std::stod(argv[++i]));
    } else {
      arguments.words.push_back(word);
    }
  }
  return arguments;
}

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int fail(const Error& error) {
  print("error " + std::string(name_of(error.kind())) + ": " + error.message());
  return 1;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string described(const ObjectInfo& object) {
  return object.key + ' ' + std::to_string(object.size_bytes) + ' ' + object.etag;
}

int get(ObjectStore& store, const std::vector<std::string>& words) {
  const UniqueFd fd(::open(words.at(3).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  FileSink sink(fd.get(), words.at(3), ~std::uint64_t{0});
  GetOptions options;
  if (words.size() > 5) options.range = ByteRange{number(words.at(4)), number(words.at(5))};
  const auto got = store.get(words.at(2), sink, options);
  if (!got) return fail(got.error());
  print(described(*got));
  return 0;
}

int list(ObjectStore& store, const std::string& prefix) {
  std::string page;
  do {
    const auto listed = store.list(prefix, page);
    if (!listed) return fail(listed.error());
    print("page of " + std::to_string(listed->objects.size()));
    for (const auto& object : listed->objects) print(described(object));
    page = listed->next;
  } while (!page.empty());
  return 0;
}

// Opens each object of the order through the cache and reads it, as a loader would.
int fill(ObjectStore& store, CacheOptions options, const std::string& order) {
  const auto cache = ObjectCache::open(std::move(options));
  if (!cache) return fail(cache.error());
  std::istringstream lines(read_file(order));
  std::string key;
  std::string hash;
  std::uint64_t size = 0;
  const auto check = [&](std::span<const std::byte> bytes) -> Result<void> {
    const std::string found = to_hex(sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    if (found == hash) return {};
    return Error(ErrorKind::kCorrupted, "sha256 is " + found + ", expected " + hash);
  };
  while (lines >> key >> size >> hash) {
    const auto file = (*cache)->get(unmodified_object_request(store, key, "v1", size, check));
    if (!file) return fail(file.error());
    std::string bytes(file->size_bytes(), '\0');
    if (::pread(file->fd(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return 3;
    if (const auto again = check(std::as_bytes(std::span(bytes))); !again) return fail(again.error());
    print("have " + key);
  }
  const auto counts = (*cache)->counts();
  print("found " + std::to_string(counts.found) + " fetched " + std::to_string(counts.fetched) + " evicted " +
        std::to_string(counts.evicted));
  return 0;
}

// The greatest amount of memory that this program ever had. (getrusage() would count its parent's memory
// before exec.)
std::uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> word) return number(word);
  }
  return 0;
}

// Streamed from the file; prints what was stored, and the most memory that the process ever had.
int upload(ObjectStore& store, const std::vector<std::string>& words) {
  const UniqueFd fd(::open(words.at(3).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0) return 2;
  FileSource source(fd.get(), words.at(3), static_cast<std::uint64_t>(facts.st_size));
  std::stop_source stop;
  UploadOptions options{.stop = stop.get_token()};
  std::uint64_t stop_at = ~std::uint64_t{0};
  for (std::size_t i = 4; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const std::uint64_t value = name.size() < words[i].size() ? number(words[i].substr(name.size() + 1)) : 0;
    if (name == "create") options.replaces = false;
    if (name == "part") options.part_bytes = value;
    if (name == "threads") options.threads = static_cast<std::uint32_t>(value);
    if (name == "crc32c") options.crc32c = static_cast<std::uint32_t>(value);
    if (name == "stop") stop_at = value;
  }
  options.progress = [&](std::uint64_t stored) {
    if (stored >= stop_at) stop.request_stop();
  };
  const auto uploaded = store.upload(words.at(2), source, options);
  if (!uploaded) return fail(uploaded.error());
  print("stored " + std::to_string(uploaded->size_bytes) + " crc32c " + std::to_string(uploaded->crc32c) +
        " peak_kib " + std::to_string(peak_kib()));
  return 0;
}

int done(const Result<void>& result) {
  if (!result) return fail(result.error());
  print("done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  const auto& words = arguments.words;
  if (words.size() < 3) return 2;
  const auto store = open_store(words.at(1), arguments.store);
  if (!store) return fail(store.error());
  const std::string& command = words.at(0);
  if (command == "get") return get(**store, words);
  if (command == "head") {
    const auto head = (*store)->head(words.at(2));
    if (!head) return fail(head.error());
    print(described(*head));
    return 0;
  }
  if (command == "put" || command == "create")
    return done((*store)->put(words.at(2), read_file(words.at(3)), {.replaces = command == "put"}));
  if (command == "upload") return upload(**store, words);
  if (command == "tidy") {
    const auto tidied = (*store)->abort_stale_uploads(words.at(2), from_seconds(std::stod(words.at(3))));
    if (!tidied) return fail(tidied.error());
    print("aborted " + std::to_string(*tidied));
    return 0;
  }
  if (command == "list") return list(**store, words.at(2));
  if (command == "remove") return done((*store)->remove(words.at(2)));
  if (command == "cache") {
    arguments.cache.folder = words.at(2);
    return fill(**store, arguments.cache, words.at(3));
  }
  return 2;
}
