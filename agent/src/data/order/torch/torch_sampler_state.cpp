#include "agent/src/data/order/torch/torch_sampler_state.h"

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"
#include "base/contract/fields.h"
#include "base/contract/state_digest.h"
#include "base/core/hex.h"

namespace ratoon::data {
namespace {

using nlohmann::json;

constexpr std::uint64_t kUint64Max = ~std::uint64_t{0};
constexpr std::size_t kSamplerBytesMax = 64 * 1024;
constexpr int kSamplerDepthMax = 4;
constexpr std::size_t kGeneratorHeadBytes = 24;  // of a generator's state, before its words
constexpr std::size_t kGeneratorWords = 624;

[[noreturn]] void refuse_sampler(const std::string& sampler, const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), "the state of the " + sampler + ": " + why);
}

const char* name_of(Loader loader) {
  switch (loader) {
    case Loader::kNone:
      return "none";
    case Loader::kInProcess:
      return "in process";
    case Loader::kWorkers:
      return "workers";
    case Loader::kPersistentWorkers:
      return "persistent workers";
  }
  return "";
}

json to_json(const DistributedSamplerOptions& options) {
  return {{"samples", options.samples},
          {"seed", options.seed},
          {"shuffle", options.shuffle},
          {"drop_last", options.drop_last},
          {"repeat_epoch_0", options.repeat_epoch_0},
          {"order", name_of(options.release)}};
}

json to_json(const RandomSamplerOptions& options) {
  return {{"samples", options.samples},
          {"replacement", options.replacement},
          {"num_samples", options.num_samples == 0 ? options.samples : options.num_samples},
          {"package", options.flavour == SamplerFlavour::kTorch ? "torch" : "torchdata"},
          {"seeds_each_epoch", options.seeds_each_epoch},
          {"loader", name_of(options.loader)},
          {"order", name_of(options.release)}};
}

// A 32-bit word of the generator takes eight bytes in PyTorch's state, of which four are always zero.
std::string generator_to_hex(const TorchGenerator& generator) {
  const std::string bytes = generator.state();
  std::string short_form = bytes.substr(0, kGeneratorHeadBytes);
  for (std::size_t i = 0; i < kGeneratorWords; ++i)
    short_form += bytes.substr(kGeneratorHeadBytes + 8 * i, 4);
  return to_hex(short_form);
}

TorchGenerator read_generator(const std::string& text, const std::string& sampler) {
  const std::optional<std::string> short_form = from_hex(text);
  if (!short_form || short_form->size() != kGeneratorHeadBytes + 4 * kGeneratorWords) {
    refuse_sampler(sampler, "the generator of the sampler has " + std::to_string(text.size()) +
                                " characters, expected " +
                                std::to_string(2 * (kGeneratorHeadBytes + 4 * kGeneratorWords)) +
                                " hexadecimal digits");
  }
  std::string bytes(TorchGenerator::kStateBytes, '\0');
  bytes.replace(0, kGeneratorHeadBytes, *short_form, 0, kGeneratorHeadBytes);
  for (std::size_t i = 0; i < kGeneratorWords; ++i)
    bytes.replace(kGeneratorHeadBytes + 8 * i, 4, *short_form, kGeneratorHeadBytes + 4 * i, 4);
  return TorchGenerator::from_state(bytes);
}

// Refuses a state in which an option that determines the order differs from the program's option.
void check_options_equal(const json& saved, const json& expected, const std::string& sampler) {
  if (saved.size() != expected.size())
    refuse_sampler(sampler, "the state has options that this Ratoon does not know: use a newer Ratoon");
  for (const auto& [name, value] : expected.items()) {
    const auto found = saved.find(name);
    const std::string was =
        found == saved.end() ? "absent" : found->dump(-1, ' ', true, json::error_handler_t::replace);
    if (was == value.dump()) continue;
    refuse_sampler(sampler,
                   "an option differs: in the checkpoint " + name + " is " + was.substr(0, 60) +
                       ", but in the program it is " + value.dump() +
                       ". Train with the options with which the run began, or begin a run of another name");
  }
}

json parse(std::string_view text, const std::string& sampler, const json& expected_options) {
  Result<json> body = parse_json(text, kSamplerBytesMax, kSamplerDepthMax);
  if (!body) refuse_sampler(sampler, "the state cannot be read: " + body.error().message());
  const std::string damage =
      find_damage(text, *body, {"sampler", "options", "epoch", "consumed", "progress", "generator"});
  if (!damage.empty()) refuse_sampler(sampler, "the state cannot be read: " + damage);
  std::optional<Error> complaint;
  Fields f(*body, "state", complaint);
  check_state_format(f);
  if (f.text("sampler", 64) != sampler) f.complain("sampler", sampler);
  static_cast<void>(f.object("options"));
  if (complaint) refuse_sampler(sampler, "the state cannot be read: " + complaint->message());
  check_options_equal((*body)["options"], expected_options, sampler);
  return *std::move(body);
}

}  // namespace

std::string encode_distributed_state(const DistributedSamplerOptions& options, ListPosition position) {
  return encode_state_with_digest({{"sampler", "DistributedSampler"},
                                   {"options", to_json(options)},
                                   {"epoch", position.epoch},
                                   {"consumed", position.consumed}});
}

ListPosition read_distributed_state(std::string_view text, const DistributedSamplerOptions& expected) {
  const json body = parse(text, "DistributedSampler", to_json(expected));
  std::optional<Error> complaint;
  Fields f(body, "state", complaint);
  const ListPosition position{.epoch = f.whole("epoch", kUint64Max),
                              .consumed = f.whole("consumed", expected.samples)};
  if (complaint) refuse_sampler("DistributedSampler", "the state cannot be read: " + complaint->message());
  return position;
}

std::string encode_random_state(const RandomSamplerOptions& options, const RandomSamplerPosition& position) {
  return encode_state_with_digest({{"sampler", "RandomSampler"},
                                   {"options", to_json(options)},
                                   {"epoch", position.epoch},
                                   {"progress", position.progress},
                                   {"generator", generator_to_hex(position.generator)}});
}

RandomSamplerPosition read_random_state(std::string_view text, const RandomSamplerOptions& expected) {
  const json body = parse(text, "RandomSampler", to_json(expected));
  std::optional<Error> complaint;
  Fields f(body, "state", complaint);
  RandomSamplerPosition position;
  position.epoch = f.whole("epoch", kUint64Max);
  position.progress = f.whole("progress", expected.num_samples);
  const std::string generator = f.text("generator", kSamplerBytesMax);
  if (complaint) refuse_sampler("RandomSampler", "the state cannot be read: " + complaint->message());
  position.generator = read_generator(generator, "RandomSampler");
  return position;
}

}  // namespace ratoon::data
