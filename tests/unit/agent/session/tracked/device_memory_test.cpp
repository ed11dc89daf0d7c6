#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ratoon/failure.h>
#include <ratoon/session/device_memory.h>

#include "tests/support/saved_objects.h"

namespace ratoon::session::device_memory_test {
namespace {

using testing::HasSubstr;

// Memory that only copies can reach: each byte is stored inverted, so that a direct read gives other bytes.
class InvertedMemory {
 public:
  explicit InvertedMemory(const std::vector<float>& numbers) : bytes_(numbers.size() * sizeof(float)) {
    copy_in(bytes_.data(), numbers.data(), bytes_.size());
  }
  static void copy_in(void* to, const void* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<std::byte*>(to)[i] = ~static_cast<const std::byte*>(from)[i];
  }
  [[nodiscard]] std::vector<float> numbers() const {
    std::vector<float> numbers(bytes_.size() / sizeof(float));
    copy_in(numbers.data(), bytes_.data(), bytes_.size());
    return numbers;
  }
  [[nodiscard]] DeviceMemory tracked() {
    return DeviceMemory({.pointer = bytes_.data(),
                         .type = ElementType::kFloat32,
                         .shape = {bytes_.size() / sizeof(float)},
                         .copy_to_host = copy_in,
                         .copy_from_host = copy_in});
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(DeviceMemories, AreSavedAndRestoredByTheirCopyFunctions) {
  InvertedMemory device({1, 2, 3});
  auto memory = device.tracked();
  test::SavedObjects saved;
  const auto point = saved.save("weights", memory);
  const auto content = saved.content(point);
  float second = 0;
  std::memcpy(&second, content.at("weights").bytes.data() + sizeof(float), sizeof(float));
  EXPECT_EQ(second, 2) << "any reader of safetensors shows the numbers";

  InvertedMemory other({0, 0, 0});
  auto restored = other.tracked();
  saved.load(point, "weights", restored);
  EXPECT_EQ(other.numbers(), (std::vector<float>{1, 2, 3}));
}

TEST(DeviceMemories, OfAnotherShapeAreRefusedBeforeAnythingChanges) {
  InvertedMemory device({1, 2, 3});
  auto memory = device.tracked();
  test::SavedObjects saved;
  const auto point = saved.save("weights", memory);
  InvertedMemory other({5, 6});
  auto wrong = other.tracked();
  EXPECT_THROW(saved.load(point, "weights", wrong), Failure);
  EXPECT_EQ(other.numbers(), (std::vector<float>{5, 6}));
}

TEST(DeviceMemories, WithoutPointerOrFunctionsAreRefused) {
  const auto message_of = [](DeviceMemoryFacts facts) -> std::string {
    DeviceMemory memory(std::move(facts));
    try {
      TrackAdapter<DeviceMemory>::check(memory, "weights");
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "no failure";
  };
  const auto copy = InvertedMemory::copy_in;
  EXPECT_THAT(message_of({.shape = {4}, .copy_to_host = copy, .copy_from_host = copy}),
              HasSubstr("without a pointer"));
  int number = 0;
  EXPECT_THAT(message_of({.pointer = &number, .shape = {4}, .copy_to_host = copy}),
              HasSubstr("without copy_to_host or copy_from_host"));
}

}  // namespace
}  // namespace ratoon::session::device_memory_test
