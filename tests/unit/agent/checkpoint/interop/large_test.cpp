// Records and archives of over 4 GiB, compared with files of torch.save (golden/large.json), in little
// memory: zeros are counted and hashed, not kept.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "agent/src/checkpoint/interop/zip/zip_reader.h"
#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::large_test {
namespace {

using nlohmann::json;
using namespace test;  // NOLINT

constexpr std::uint64_t kLargeBytes = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t kKeptBytes = 4096;

// Keeps short data only.
class OutlineSink final : public ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override {
    if (bytes.size() < kKeptBytes) {
      if (pieces.empty() || pieces.back().first + pieces.back().second.size() != size)
        pieces.emplace_back(size, "");
      pieces.back().second.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    size += bytes.size();
    return {};
  }

  std::uint64_t size = 0;
  std::vector<std::pair<std::uint64_t, std::string>> pieces;
};

Result<void> write_zeros(ByteSink& sink) {
  const std::string zeros((std::size_t{1} << 20) + 5, '\0');
  auto appended = sink.append(bytes_in(zeros));
  for (std::uint64_t left = kLargeBytes - zeros.size(); appended && left > 0; left -= zeros.size() - 5)
    appended = sink.append(bytes_in(zeros).subspan(5));
  return appended;
}

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

TEST(Large, IsWrittenAsTorchWritesIt) {
  const json known = json::parse(golden("large.json"));
  const std::string one("\0\0\x80\x3f", 4);
  std::vector<TensorSource> sources{
      source("a", ElementType::kFloat32, {2}, one + one),
      {.name = "large", .type = ElementType::kUint8, .shape = {kLargeBytes}, .write = write_zeros},
      source("z", ElementType::kFloat32, {3}, one + one + one),
      source("nothing", ElementType::kFloat32, {0}, "")};
  OutlineSink sink;
  ASSERT_TRUE(write_pt(sources, sink).has_value());
  ASSERT_EQ(sink.size, known["size"].get<std::uint64_t>());

  OutlineSink theirs;
  for (const auto& piece : known["pieces"]) {
    theirs.size = piece[0].get<std::uint64_t>();
    ASSERT_TRUE(theirs.append(bytes_in(unhex(piece[1].get<std::string>()))).has_value());
  }
  ASSERT_EQ(sink.pieces.size(), 2u);
  ASSERT_EQ(theirs.pieces.size(), 2u);
  EXPECT_EQ(sink.pieces[0], theirs.pieces[0]);

  // All bytes except the serialization id and its two CRCs.
  std::string ours = sink.pieces[1].second, other = theirs.pieces[1].second;
  ASSERT_EQ(ours.size(), other.size());
  const std::size_t id = other.find("FB\x1a") + 4 + 26;
  const std::size_t entry = other.size() - 98 - 46 - 30 - 12;
  for (std::string* text : {&ours, &other}) {
    text->replace(id, 40, 40, '#');
    text->replace(id + 44, 4, 4, '#');
    text->replace(entry + 16, 4, 4, '#');
  }
  EXPECT_EQ(ours, other);
}

TEST(Large, IsRead) {
  const json known = json::parse(golden("large.json"));
  const auto size = known["size"].get<std::size_t>();
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const file = static_cast<std::byte*>(memory);
  for (const auto& piece : known["pieces"]) {
    const std::string bytes = unhex(piece[1].get<std::string>());
    std::copy_n(bytes_in(bytes).data(), bytes.size(), file + piece[0].get<std::size_t>());
  }
  const auto read = read_pt({file, size});
  ASSERT_TRUE(read.has_value()) << read.error().message();
  ASSERT_EQ(read->tensors.size(), 4u);
  EXPECT_EQ(read->tensors[1].stored.size_bytes(), kLargeBytes);
  EXPECT_EQ(read->tensors[2].stored.bytes().size(), 12u);
  EXPECT_EQ(contents(read->tensors[2].stored), std::string("\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f", 12));
  ::munmap(memory, size);
}

}  // namespace
}  // namespace ratoon::checkpoint::large_test
