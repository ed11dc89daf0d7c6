// CheckpointSource: reads the tracked objects of one rank from a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/session/state/tracked_objects.h"

namespace ratoon::session {

[[nodiscard]] inline bool is_text(ElementType type, const TensorShape& shape) {
  return type == ElementType::kUint8 && shape.size() == 1;
}

class CheckpointSource final : public StateSource {
 public:
  // If `world_size` is 0, the number of ranks is not known, and no rank of the checkpoint counts as gone.
  explicit CheckpointSource(checkpoint::CheckpointReader& reader, std::uint32_t world_size = 0)
      : reader_(reader), world_size_(world_size) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& tensor : reader_.own()) names.push_back(tensor.name);
    return names;
  }
  bool is_own() const override { return reader_.has_own_pack(); }
  Result<std::optional<Form>> find(std::string_view name) override { return reader_.find(name); }
  Result<void> load(std::span<const checkpoint::TensorSpec> wanted,
                    std::span<const std::span<std::byte>> into) override {
    auto loaded = reader_.load(wanted, into);
    return loaded ? Result<void>() : Result<void>(loaded.error());
  }
  Result<std::vector<std::string>> texts_of_former_ranks(std::string_view name) override {
    std::vector<std::string> texts;
    for (const Rank rank : reader_.ranks_taken_over(world_size_)) {
      auto gone = reader_.reader_for_rank(rank);
      if (!gone) return gone.error();
      const auto form = gone->find(name);
      if (!form) return form.error();
      if (!*form || !is_text((*form)->type, (*form)->shape)) continue;  // that rank tracked none
      std::string text((*form)->shape.front(), '\0');
      const checkpoint::TensorSpec wanted{
          .name = std::string(name), .type = ElementType::kUint8, .shape = {text.size()}, .box = {}};
      const std::span<std::byte> into = std::as_writable_bytes(std::span(text));
      if (const auto loaded = gone->load(std::span(&wanted, 1), std::span(&into, 1)); !loaded)
        return loaded.error();
      texts.push_back(std::move(text));
    }
    return texts;
  }

 private:
  checkpoint::CheckpointReader& reader_;
  const std::uint32_t world_size_;
};

}  // namespace ratoon::session
