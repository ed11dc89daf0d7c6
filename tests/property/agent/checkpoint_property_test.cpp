#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/checkpoint/format/manifest.h"

namespace ratoon::checkpoint::checkpoint_property_test {
namespace {

namespace gen = rc::gen;

// Changes bytes, mostly in the header: flips, cuts and insertions.
std::string mutated(std::string bytes) {
  for (int i = *gen::inRange(1, 5); i > 0 && !bytes.empty(); --i) {
    const auto at = *gen::inRange<std::size_t>(0, std::min<std::size_t>(bytes.size(), 300));
    switch (*gen::inRange(0, 4)) {
      case 0:
        bytes[at] = *gen::arbitrary<char>();
        break;
      case 1:
        bytes.erase(at, *gen::inRange<std::size_t>(1, 20));
        break;
      case 2:
        bytes.insert(at, bytes.substr(0, *gen::inRange<std::size_t>(1, 40)));
        break;
      default:
        bytes[at] = static_cast<char>(*gen::inRange('0', '9'));
    }
  }
  return bytes;
}

RC_GTEST_PROP(Manifest, AnyOneChangedByteIsSeen, ()) {
  Manifest manifest{.id = {.attempt = Attempt(*gen::inRange<std::uint64_t>(0, kAttemptMax + 1)),
                           .step = Step(*gen::inRange<std::uint64_t>(0, 1ULL << 53))},
                    .writer = "ratoon 0.1.0"};
  for (std::uint32_t rank = 0; rank < *gen::inRange<std::uint32_t>(1, 6); ++rank)
    manifest.packs.push_back(
        {.rank = Rank(rank), .size_bytes = 1000 + rank, .header_digest = "0123456789abcdef"});
  const std::string text = encode_manifest(manifest);
  RC_ASSERT(decode_manifest(text).value() == manifest);
  std::string changed = text;
  const auto at = *gen::inRange<std::size_t>(0, text.size());
  changed[at] = *gen::suchThat(gen::arbitrary<char>(), [&](char c) { return c != text[at]; });
  RC_ASSERT(!decode_manifest(changed));
}

RC_GTEST_PROP(ManifestName, IsParsedOnlyIfItIsOurOwn, ()) {
  const CheckpointId id{.attempt = Attempt(*gen::arbitrary<std::uint32_t>() * std::uint64_t{3}),
                        .step = Step(*gen::arbitrary<std::uint64_t>())};
  const std::string name = manifest_path(id).substr(10);
  const bool is_counted = id.attempt.value() <= kAttemptMax && id.step.value() <= kNumberMax;
  RC_ASSERT(parse_manifest_name(name) == (is_counted ? std::optional(id) : std::nullopt));
  RC_ASSERT(has_number_above_limit(name) != is_counted);
  const std::string other = mutated(name);
  if (const auto parsed = parse_manifest_name(other)) RC_ASSERT(manifest_path(*parsed).substr(10) == other);
}

}  // namespace
}  // namespace ratoon::checkpoint::checkpoint_property_test
