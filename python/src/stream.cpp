#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ratoon/stream.h>

#include "python/src/bindings.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

template <class Value, std::size_t kCount>
Value named(const std::array<std::pair<const char*, Value>, kCount>& known, const std::string& name,
            const char* what) {
  std::string names;
  for (const auto& [known_name, value] : known) {
    if (name == known_name) return value;
    names += (names.empty() ? "" : ", ") + std::string(known_name);
  }
  throw std::invalid_argument("there is no " + std::string(what) + " '" + name + "': give one of " + names);
}

constexpr std::array<std::pair<const char*, SampleOrder>, 3> kOrders = {
    {{"shuffled", SampleOrder::kShuffled},
     {"blocks", SampleOrder::kBlocks},
     {"in-order", SampleOrder::kInOrder}}};
constexpr std::array<std::pair<const char*, EpochEnd>, 3> kEpochEnds = {
    {{"carry", EpochEnd::kCarry}, {"short", EpochEnd::kShort}, {"drop", EpochEnd::kDrop}}};

nb::object make_range(SlotRange slots) {
  return nb::borrow(reinterpret_cast<PyObject*>(&PyRange_Type))(slots.first, slots.last);
}

SlotRange slots_of(const nb::handle& range) {
  if (PyObject_TypeCheck(range.ptr(), &PyRange_Type) == 0 || nb::cast<std::int64_t>(range.attr("step")) != 1)
    throw std::invalid_argument("slots are a range with step 1, such as stream.next_batch()");
  const SlotRange slots{nb::cast<std::uint64_t>(range.attr("start")),
                        nb::cast<std::uint64_t>(range.attr("stop"))};
  return {slots.first, std::max(slots.first, slots.last)};
}

Source make_source(std::string name, std::uint64_t samples, double weight,
                   std::vector<std::uint64_t> shards) {
  return {.name = std::move(name), .samples = samples, .weight = weight, .shards = std::move(shards)};
}

StreamOptions make_options(std::vector<Source> sources, std::uint64_t samples, std::uint64_t global_batch,
                           std::uint64_t seed, std::string source, const std::string& order,
                           std::uint64_t window_shards, const std::string& epoch_end) {
  return {.samples = samples,
          .global_batch = global_batch,
          .seed = seed,
          .source = std::move(source),
          .order = named(kOrders, order, "order"),
          .window_shards = window_shards,
          .epoch_end = named(kEpochEnds, epoch_end, "end of epochs"),
          .sources = std::move(sources)};
}

std::vector<Slot> slots_in(const Stream& stream, const nb::handle& range) {
  const SlotRange slots = slots_of(range);
  std::vector<Slot> filled(slots.size());
  stream.reader().fill(slots.first, filled);
  return filled;
}

constexpr const char* kStateKey = "stream";

nb::dict state_dict(const Stream& stream) {
  nb::dict state;
  state[kStateKey] = stream.save_state();
  return state;
}

void load_state_dict(Stream& stream, const nb::dict& state) {
  if (!state.contains(kStateKey) || !nb::isinstance<nb::str>(state[kStateKey]))
    throw std::invalid_argument("this is no state_dict() of a Stream: it has no text 'stream'");
  stream.load_state(nb::cast<std::string>(state[kStateKey]));
}

std::string text_of(const Slot& slot) {
  return "Slot(number=" + std::to_string(slot.number) + ", epoch=" + std::to_string(slot.epoch) +
         ", source=" + std::to_string(slot.source) + ", sample=" + std::to_string(slot.sample) + ")";
}

void bind_values(nb::module_& module) {
  nb::class_<Slot>(module, "Slot", "The content of one slot of a stream.")
      .def_ro("number", &Slot::number, "The slot's number in the endless sequence of the stream.")
      .def_ro("epoch", &Slot::epoch, "Of its source.")
      .def_ro("source", &Slot::source, "The number of its source.")
      .def_ro("sample", &Slot::sample, "The number of the sample in its source.")
      .def(
          "__eq__", [](const Slot& one, const Slot& other) { return one == other; },
          nb::sig("def __eq__(self, other: object, /) -> bool"), nb::is_operator())
      .def("__hash__",
           [](const Slot& slot) {
             return nb::hash(nb::make_tuple(slot.number, slot.epoch, slot.source, slot.sample));
           })
      .def("__repr__", text_of);

  nb::class_<Source>(module, "Source", R"(A source of samples for a Stream.

`name` is a name or digest of the data, never a path: another name is another order. `weight` is its share of
the draws, relative to the weights of other sources. `shards` are the samples of each shard, for
order="blocks".

>>> import ratoon
>>> ratoon.Source("web", 9_000_000, weight=0.7).samples
9000000)")
      .def(
          "__init__",
          [](Source* self, std::string name, std::uint64_t samples, double weight,
             std::vector<std::uint64_t> shards) {
            new (self) Source(make_source(std::move(name), samples, weight, std::move(shards)));
          },
          "name"_a, "samples"_a = 0, nb::kw_only(), "weight"_a = 1.0,
          "shards"_a = std::vector<std::uint64_t>())
      .def_ro("name", &Source::name)
      .def_ro("samples", &Source::samples)
      .def_ro("weight", &Source::weight)
      .def_ro("shards", &Source::shards);

  nb::class_<SourceAccount>(module, "SourceAccount", "How many samples of a source were drawn.")
      .def_ro("drawn", &SourceAccount::drawn, "Samples that batches took.")
      .def_ro("skipped", &SourceAccount::skipped, "Samples that were skipped.")
      .def_ro("epochs", &SourceAccount::epochs, "Whole epochs of the source.")
      .def_ro("rest", &SourceAccount::rest, "Samples of the next epoch that were drawn already.");

  nb::class_<AcceptedDifference>(module, "AcceptedDifference",
                                 "A difference between a state and the options that Stream.accept() allowed.")
      .def_ro("slot", &AcceptedDifference::slot,
              "The position of the cursor when the difference was accepted.")
      .def_ro("what", &AcceptedDifference::what)
      .def_ro("was", &AcceptedDifference::was)
      .def_ro("is_now", &AcceptedDifference::is);
}

void bind_shares(nb::module_& module) {
  module.def(
      "share_of",
      [](const nb::handle& batch, std::uint32_t rank, std::uint32_t world_size) {
        return make_range(ratoon::share_of(slots_of(batch), rank, world_size));
      },
      "batch"_a, "rank"_a, "world_size"_a,
      nb::sig("def share_of(batch: range, rank: int, world_size: int) -> range"),
      R"(The part of a batch that one rank takes. Parts differ by one slot at most.

>>> import ratoon
>>> [ratoon.share_of(range(0, 10), rank, 3) for rank in range(3)]
[range(0, 3), range(3, 6), range(6, 10)])");
  module.def(
      "share_weight",
      [](const nb::handle& batch, std::uint32_t rank, std::uint32_t world_size) {
        return ratoon::share_weight(slots_of(batch), rank, world_size);
      },
      "batch"_a, "rank"_a, "world_size"_a,
      nb::sig("def share_weight(batch: range, rank: int, world_size: int) -> float"),
      R"(The weight of a rank's mean in the mean of the batch. The weights of all ranks sum to 1.

>>> import ratoon
>>> ratoon.share_weight(range(0, 10), 2, 3)
0.4)");
}

void bind_position(nb::class_<Stream>& stream) {
  stream
      .def(
          "take", &Stream::take, "rank"_a = 0, "world_size"_a = 1,
          "This rank's share of the next batch, as a list of Slot. The cursor moves to the end of the batch.")
      .def(
          "next_batch", [](const Stream& self) { return make_range(self.next_batch()); },
          nb::sig("def next_batch(self) -> range"), "The slots of the next batch. The cursor does not move.")
      .def("advance", &Stream::advance, "batches"_a = 1, "Records that this number of batches was trained.")
      .def("advance_to", &Stream::advance_to, "slot"_a,
           "Records that all batches before this slot were trained.")
      .def_prop_ro("cursor", &Stream::cursor, "The first slot that is not trained.")
      .def_prop_ro("batches", &Stream::batches, "Batches that were trained so far.")
      .def_prop_ro(
          "digest", &Stream::digest,
          "A digest over the samples of all slots that batches took. Equal digests mean the same samples.")
      .def_prop_ro("epoch", &Stream::epoch, "The epoch that the cursor is in.")
      .def_prop_ro("index_in_epoch", &Stream::index_in_epoch, "Slots of that epoch before the cursor.")
      .def_prop_ro("epoch_slots", &Stream::epoch_slots,
                   "The number of slots of an epoch, which is the number of samples.")
      .def_prop_ro("batches_per_epoch", &Stream::batches_per_epoch,
                   "The number of batches of an epoch that begins with a batch.")
      .def("batches_until_epoch", &Stream::batches_until_epoch, "epoch"_a,
           "The number of batches from the run's beginning until this number of epochs is over.")
      .def("save_state", &Stream::save_state,
           "The position and the plan as JSON, always the same text for the same state.")
      .def(
          "load_state", [](Stream& self, const std::string& state) { self.load_state(state); }, "state"_a,
          "Continues from a text of save_state(). Refuses a state of other data, or of another seed, order "
          "or batch; the stream then does not change.")
      .def("state_dict", state_dict, nb::sig("def state_dict(self) -> dict[str, str]"),
           "The same state as a dict of one text, for code that saves objects by their state_dict().")
      .def("load_state_dict", load_state_dict, "state"_a,
           nb::sig("def load_state_dict(self, state: dict[str, str]) -> None"), "Takes state_dict() back.");
}

void bind_plan(nb::class_<Stream>& stream) {
  stream.def("at", &Stream::at, "number"_a, "The content of a slot, before or after the cursor.")
      .def("slots", slots_in, "range"_a, nb::sig("def slots(self, range: range) -> list[Slot]"),
           "The content of the slots of a range.")
      .def(
          "slot_of",
          [](const Stream& self, std::uint64_t epoch, std::uint64_t sample, std::uint32_t source) {
            return self.reader().slot_of(source, epoch, sample);
          },
          "epoch"_a, "sample"_a, "source"_a = 0,
          "The slot that holds a sample in an epoch of its source; None where there is none.")
      .def(
          "batch",
          [](const Stream& self, std::uint64_t number) { return make_range(self.reader().batch(number)); },
          "number"_a, nb::sig("def batch(self, number: int) -> range"),
          "The slots that batch 0, 1, 2, ... took or will take.")
      .def(
          "batch_with", [](const Stream& self, std::uint64_t slot) { return self.reader().batch_with(slot); },
          "slot"_a, "The number of the batch that takes a slot; None if it is skipped.")
      .def_prop_ro("first_known_slot", &Stream::first_known_slot,
                   "0, unless another source, seed or order was accepted.")
      .def_prop_ro("global_batch", &Stream::global_batch,
                   "The current number of samples in a batch of all ranks together.")
      .def_prop_ro("weights", &Stream::weights, "The current weights of the sources, in 65,536ths.")
      .def_prop_ro("accounts", &Stream::accounts, "A SourceAccount for each source.")
      .def_prop_ro("seed", [](const Stream& self) { return self.reader().seed(); })
      .def("change_global_batch", &Stream::change_global_batch, "global_batch"_a,
           "Changes the global batch for all batches after the cursor.")
      .def(
          "change_weights",
          [](Stream& self, const std::vector<double>& weights) { self.change_weights(weights); }, "weights"_a,
          "Changes the weights of the sources for all slots after the cursor.")
      .def("skip_to", &Stream::skip_to, "slot"_a,
           "Moves the cursor to this slot: the slots before it are skipped.")
      .def("begin_at", &Stream::begin_at, "slot"_a, "batches"_a,
           "Continues a run that another program began. Only for a stream from which no batch was taken.")
      .def(
          "accept",
          [](Stream& self, bool global_batch, bool weights, bool sources, bool seed, bool order) {
            self.accept({.global_batch = global_batch,
                         .weights = weights,
                         .sources = sources,
                         .seed = seed,
                         .order = order});
          },
          nb::kw_only(), "global_batch"_a = false, "weights"_a = false, "sources"_a = false, "seed"_a = false,
          "order"_a = false, "Allows later loads to differ from the options in these values.")
      .def_prop_ro("accepted", &Stream::accepted, "The list of every AcceptedDifference so far.");
}

constexpr const char* kStreamText = R"(Which samples each step of a run takes.

One endless sequence of slots, the same for every number of ranks. Each epoch is an order of its own of all
samples. A batch may reach over the end of an epoch; nothing is repeated, padded or dropped.

>>> import ratoon
>>> stream = ratoon.Stream(samples=60_000, global_batch=4, seed=17, source="digits")
>>> [slot.sample for slot in stream.take()]
[26846, 46591, 7150, 33894]
>>> state = stream.save_state()                    # JSON, goes into a checkpoint
>>> following = stream.take()
>>> again = ratoon.Stream(samples=60_000, global_batch=4, seed=17, source="digits")
>>> again.load_state(state)
>>> again.take() == following                      # by another process, on another day
True

`sources` is a list of Source for a mixture, instead of `samples` and `source`. `order` is "shuffled",
"blocks" (samples are shuffled among `window_shards` shards at a time) or "in-order". `epoch_end` is "carry"
(a batch may reach into the next epoch), "short" (the last batch of an epoch ends with it) or "drop" (a short
batch is passed over).

A forked child process has a copy: its steps do not move the parent's stream.)";

}  // namespace

void bind_stream(nb::module_& module) {
  bind_values(module);
  bind_shares(module);
  nb::class_<Stream> stream(module, "Stream", kStreamText);
  stream.def(
      "__init__",
      [](Stream* self, std::vector<Source> sources, std::uint64_t samples, std::uint64_t global_batch,
         std::uint64_t seed, std::string source, const std::string& order, std::uint64_t window_shards,
         const std::string& epoch_end) {
        new (self) Stream(make_options(std::move(sources), samples, global_batch, seed, std::move(source),
                                       order, window_shards, epoch_end));
      },
      nb::kw_only(), "sources"_a = std::vector<Source>(), "samples"_a = 0, "global_batch"_a, "seed"_a = 0,
      "source"_a = "", "order"_a = "shuffled", "window_shards"_a = 16, "epoch_end"_a = "carry");
  bind_position(stream);
  bind_plan(stream);
}

}  // namespace ratoon::python
