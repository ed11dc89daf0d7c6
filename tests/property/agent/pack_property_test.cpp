#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/cover.h"
#include "tests/support/packs_disk.h"
#include "tests/support/sharded_checkpoint.h"

namespace ratoon::checkpoint::pack_property_test {
namespace {

namespace gen = rc::gen;
using test::Box;
using test::WholeTensor;

template <class T>
T number_between(T least, T most) {
  return *gen::resize(100, gen::inRange<T>(least, most + 1));
}

ElementType any_type() {
  return static_cast<ElementType>(number_between(0, static_cast<int>(ElementType::kComplex64)));
}

// Tensors are mostly small, sometimes of several blocks.
WholeTensor any_tensor(std::size_t number) {
  WholeTensor tensor{.name = "t" + std::to_string(number), .type = any_type(), .shape = {}, .bytes = {}};
  std::uint64_t most = number_between(0, 3) == 0 ? 400'000 : 200;
  std::uint64_t bytes = size_of(tensor.type);
  for (int d = number_between(0, 3); d > 0; --d) {
    tensor.shape.push_back(number_between<std::uint64_t>(0, most));
    bytes *= tensor.shape.back();
    most = most / std::max<std::uint64_t>(tensor.shape.back(), 1) + 1;
  }
  tensor.bytes = test::any_bytes(bytes, number);
  return tensor;
}

std::vector<std::uint64_t> any_cut(std::uint64_t size, int pieces) {
  std::multiset<std::uint64_t> places = {0, size};
  for (int i = 1; i < pieces; ++i) places.insert(number_between<std::uint64_t>(0, size));
  return {places.begin(), places.end()};
}

std::vector<Box> any_boxes(const WholeTensor& tensor, int pieces) {
  test::Cuts cuts;
  for (const std::uint64_t size : tensor.shape) {
    const bool is_cut = number_between(0, 1) == 1;
    cuts.push_back(any_cut(size, is_cut ? pieces : 1));
    if (is_cut) pieces = pieces / 2 + 1;
  }
  return test::boxes_of(cuts);
}

struct Checkpoint {
  std::vector<WholeTensor> tensors;
  std::vector<test::PackFile> packs;
};

// Each pack holds at most one part of a tensor: there are as many packs as the most parts, and copies if
// there is room.
Checkpoint any_checkpoint(bool boxes_all = false) {
  Checkpoint made;
  std::vector<std::vector<Box>> boxes;
  std::size_t packs = 1;
  for (int i = number_between(0, 5); i > 0; --i) {
    made.tensors.push_back(any_tensor(made.tensors.size()));
    boxes.push_back(any_boxes(made.tensors.back(), number_between(1, 5)));
    packs = std::max(packs, boxes.back().size());
  }
  packs += number_between<std::size_t>(0, 2);
  test::PackShelf shelf(packs, boxes_all);
  for (std::size_t t = 0; t < made.tensors.size(); ++t) {
    const auto turn = number_between<std::size_t>(0, packs - 1);
    for (std::size_t i = 0; i < boxes[t].size(); ++i)
      shelf.put((i + turn) % packs, made.tensors[t], boxes[t][i]);
    for (std::size_t i = boxes[t].size(); i < packs && number_between(0, 2) == 0; ++i)
      shelf.put((i + turn) % packs, made.tensors[t], boxes[t][i % boxes[t].size()]);
  }
  made.packs = shelf.files();
  return made;
}

// Some boxes of some tensors, and their correct bytes.
struct Selection {
  std::vector<TensorSpec> specs;
  std::vector<std::string> expected;
};

Selection any_selection(const Checkpoint& checkpoint) {
  Selection selection;
  for (const auto& tensor : checkpoint.tensors) {
    for (const Box& box : any_boxes(tensor, number_between(1, 4))) {
      if (number_between(0, 2) == 0) continue;
      selection.specs.push_back({tensor.name, tensor.type, box.shape, TensorBox{box.begin, tensor.shape}});
      if (box.shape == tensor.shape && number_between(0, 1) == 0) selection.specs.back().box = std::nullopt;
      selection.expected.push_back(test::bytes_of_box(tensor, box.begin, box.shape));
    }
  }
  return selection;
}

std::vector<std::string> load(const Checkpoint& checkpoint, const Selection& selection) {
  const PartIndex index = test::index_of(checkpoint.packs).value();
  const ReadPlan plan = plan_reads(index, selection.specs, number_between<std::uint32_t>(0, 9)).value();
  std::vector<std::string> found;
  for (const auto& expected : selection.expected) found.emplace_back(expected.size(), '?');
  std::vector<std::span<std::byte>> destinations;
  for (auto& bytes : found) destinations.push_back(std::as_writable_bytes(std::span(bytes)));
  RC_ASSERT(test::carry_out(plan, checkpoint.packs, destinations).has_value());
  return found;
}

RC_GTEST_PROP(Pack2, HeadersSurviveARoundTrip, ()) {
  for (const auto& pack : any_checkpoint().packs) {
    PackHeader expected = pack.header;
    for (auto& tensor : expected.layout.tensors) {
      const bool is_plain = tensor.type == ElementType::kBytes || tensor.type == ElementType::kText;
      if (is_plain) tensor.type = ElementType::kUint8;
    }
    RC_ASSERT(test::read_header(pack).value() == expected);
    const auto foreign = decode_foreign_header(
        std::string_view(pack.bytes).substr(0, pack.header.layout.header_bytes), pack.bytes.size());
    RC_ASSERT(foreign.value().file_bytes() == pack.bytes.size());
  }
}

// Each name is read as it was given, for any UTF-8.
RC_GTEST_PROP(Pack2, NamesSurviveARoundTrip, ()) {
  std::map<std::string, TensorSpec> specs;
  for (int i = number_between(0, 8); i > 0; --i) {
    std::string name;
    for (int k = number_between(0, 6); k > 0; --k) {
      const std::vector<std::string> letters = {
          "a", "\"", "\\", "/", "\n", std::string(1, '\0'), "\x7f", "\u00e9", "\U0001f331"};
      name += letters[number_between<std::size_t>(0, letters.size() - 1)];
    }
    specs[name] = {name, any_type(), {number_between<std::uint64_t>(0, 3)}, TensorBox{{1}, {9}}};
  }
  std::vector<TensorSpec> list;
  for (const auto& [name, spec] : specs) list.push_back(spec);
  const PackLayout layout = plan_pack(list).value();
  const std::string header = encode_header(layout, std::vector<std::uint32_t>(layout.block_count()),
                                           std::vector<Hash128>(list.size()));
  const PackHeader decoded = decode_header(header, layout.file_bytes()).value();
  RC_ASSERT(decoded.layout.tensors.size() == list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    RC_ASSERT(decoded.layout.tensors[i].name == layout.tensors[i].name);
    RC_ASSERT(decoded.layout.tensors[i].box == layout.tensors[i].box);
  }
}

RC_GTEST_PROP(Pack2, AnyDamageOfAHeaderIsTakenWithoutHarm, ()) {
  auto packs = any_checkpoint().packs;
  test::PackFile& pack = packs.front();
  const std::uint64_t header_bytes = pack.header.layout.header_bytes;
  for (int i = number_between(1, 4); i > 0; --i)
    pack.bytes[number_between<std::size_t>(0, std::min<std::size_t>(header_bytes, 700) - 1)] =
        *gen::arbitrary<char>();
  const auto decoded = test::read_header(pack);
  if (!decoded) {
    RC_ASSERT(!decoded.error().message().empty() && decoded.error().message().size() < 2000);
    return;
  }
  // Accepted tensors lie within the file.
  std::uint64_t expected = 0;
  for (const auto& tensor : decoded->layout.tensors) {
    RC_ASSERT(tensor.begin == expected);
    RC_ASSERT(count_bytes(tensor.type, tensor.shape) == tensor.end - tensor.begin);
    expected = tensor.end;
  }
  RC_ASSERT(decoded->layout.file_bytes() == pack.bytes.size());
}

RC_GTEST_PROP(Pack2, AnyWorldReadsWhatAnyOtherWrote, ()) {
  const Checkpoint checkpoint = any_checkpoint();
  const PartIndex index = test::index_of(checkpoint.packs).value();
  RC_ASSERT(check_cover(index).has_value());
  const Selection selection = any_selection(checkpoint);
  RC_ASSERT(load(checkpoint, selection) == selection.expected);
}

// The same from a disk, in pieces of any length and by any number of threads: only planned bytes and bytes of
// the same page are read, and a flipped bit in copied bytes is always noticed.
RC_GTEST_PROP(Pack2, AnyWorldReadsItFromADisk, ()) {
  const Checkpoint checkpoint = any_checkpoint(true);
  const Selection selection = any_selection(checkpoint);
  const auto disk = std::make_shared<test::PacksDisk>(checkpoint.packs);
  const ReadOptions options{.threads = number_between<std::size_t>(1, 3),
                            .bytes_at_once = number_between<std::uint64_t>(1, 200'000)};
  const Rank rank(number_between<std::uint32_t>(0, 9));
  auto reader = CheckpointReader::open(disk, disk->names(), rank, options).value();
  std::vector<std::string> found;
  for (const auto& bytes : selection.expected) found.emplace_back(bytes.size(), '?');
  std::vector<std::span<std::byte>> places;
  for (auto& bytes : found) places.push_back(std::as_writable_bytes(std::span(bytes)));
  const auto amount = reader.load(selection.specs, places);
  RC_ASSERT(amount.has_value());
  RC_ASSERT(found == selection.expected);
  // Past the page cache a piece is read from the beginning of its first page.
  RC_ASSERT(disk->data_bytes_read() >= amount->bytes_read);
  RC_ASSERT(disk->data_bytes_read() <= amount->bytes_read + disk->reads().size() * kDirectAlignment);
  if (amount->bytes_wanted == 0) return;

  const auto reads = disk->reads();
  auto& packs = disk->packs();
  const auto read = reads[number_between<std::size_t>(0, reads.size() - 1)];
  RC_PRE(read.begin != 0);
  auto& pack = *std::ranges::find(packs, read.path, &test::PackFile::name);
  pack.bytes[number_between(read.begin, read.end - 1)] ^= 16;
  const auto again = reader.load(selection.specs, places);
  const bool is_noticed = !again && again.error().kind() == ErrorKind::kCorrupted;
  RC_ASSERT(is_noticed || (again.has_value() && found == selection.expected));
}

// Extents are separate and in order, are not too long, and a checksum covers each wanted byte.
RC_GTEST_PROP(Pack2, EveryCopiedByteIsVouchedFor, ()) {
  Checkpoint checkpoint = any_checkpoint();
  const Selection selection = any_selection(checkpoint);
  const PartIndex index = test::index_of(checkpoint.packs).value();
  const ReadPlan plan = plan_reads(index, selection.specs, 0).value();
  std::vector<std::string> found;
  for (const auto& expected : selection.expected) found.emplace_back(expected.size(), '?');
  std::vector<std::span<std::byte>> destinations;
  for (auto& bytes : found) destinations.push_back(std::as_writable_bytes(std::span(bytes)));
  for (const auto& reads : plan.packs) {
    std::uint64_t last = 0;
    for (const auto& extent : reads.extents) {
      RC_ASSERT(extent.begin >= last && extent.begin < extent.end &&
                extent.end - extent.begin <= kExtentBytesMax);
      last = extent.end;
    }
  }
  if (plan.packs.empty()) return;
  const auto& reads = plan.packs[number_between<std::size_t>(0, plan.packs.size() - 1)];
  const auto& copies = reads.copies;
  const StridedCopy& copy = copies[number_between<std::size_t>(0, copies.size() - 1)].copy;
  test::PackFile& pack = checkpoint.packs[reads.pack];
  const std::uint64_t at = copy.from + number_between<std::uint64_t>(0, copy.row_bytes - 1);
  pack.bytes[pack.header.layout.header_bytes + at] ^= 1;
  const auto carried = test::carry_out(plan, checkpoint.packs, destinations);
  RC_ASSERT(!carried.has_value());
  RC_ASSERT(carried.error().kind() == ErrorKind::kCorrupted);
}

// With a part less, a part moved or a part twice, the tensor is never complete.
RC_GTEST_PROP(Pack2, NoMutantOfACoverIsTaken, ()) {
  const WholeTensor tensor = any_tensor(1);
  RC_PRE(!tensor.bytes.empty() && !tensor.shape.empty());
  std::vector<Box> boxes = any_boxes(tensor, 4);
  std::erase_if(boxes, [](const Box& box) { return std::ranges::count(box.shape, 0u) != 0; });
  const auto victim = number_between<std::size_t>(0, boxes.size() - 1);
  const auto d = number_between<std::size_t>(0, tensor.shape.size() - 1);
  Box& box = boxes[victim];
  switch (number_between(0, 3)) {
    case 0:
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(victim));
      break;
    case 1:
      RC_PRE(box.begin[d] > 0);
      --box.begin[d];
      break;
    case 2:
      --box.shape[d];
      break;
    default:
      RC_PRE(box.begin[d] + box.shape[d] < tensor.shape[d]);
      ++box.shape[d];
  }
  test::PackShelf shelf(boxes.size() + 1);
  for (std::size_t i = 0; i < boxes.size(); ++i) shelf.put(i, tensor, boxes[i]);
  Box nothing{TensorShape(tensor.shape.size()), TensorShape(tensor.shape.size())};
  shelf.put(boxes.size(), tensor, nothing);
  const auto files = shelf.files();
  const PartIndex index = test::index_of(files).value();
  const auto covered = check_cover(index);
  RC_ASSERT(!covered.has_value());
  const auto read = plan_reads(index, std::vector<TensorSpec>{{tensor.name, tensor.type, tensor.shape}}, 0);
  RC_ASSERT(!read.has_value());
}

}  // namespace
}  // namespace ratoon::checkpoint::pack_property_test
