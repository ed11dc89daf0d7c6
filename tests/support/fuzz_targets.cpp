#include "tests/support/fuzz_targets.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include <ratoon/failure.h>
#include <ratoon/stream.h>

#include "agent/src/board/handshake.h"
#include "agent/src/board/key_value_store.h"
#include "agent/src/checkpoint/format/manifest.h"
#include "base/contract/codec.h"
#include "base/core/crc32c.h"

namespace ratoon::fuzz {
namespace {

template <class T>
void check_message(std::string_view bytes) {
  const Result<T> message = decode<T>(bytes);
  if (!message) return require(!message.error().message().empty() && message.error().message().size() < 1024);
  const Result<T> again = decode<T>(encode(*message));
  require(again.has_value() && *again == *message);
}

void check_manifest(std::string_view bytes) {
  if (const auto known = checkpoint::decode_manifest(bytes)) {
    require(checkpoint::decode_manifest(checkpoint::encode_manifest(*known)).value() == *known);
    check_seal(std::string(bytes), *known, checkpoint::decode_manifest);
  }
  if (const auto known = checkpoint::decode_receipt(bytes)) {
    require(checkpoint::decode_receipt(checkpoint::encode_receipt(*known)).value() == *known);
    check_seal(std::string(bytes), *known, checkpoint::decode_receipt);
  }
}

// An accepted state is saved unchanged, or as a state that is accepted in turn, and gives slots.
void check_stream(std::string_view bytes, const StreamOptions& options) {
  Stream stream(options);
  stream.accept({.global_batch = true, .weights = true, .sources = true, .seed = true, .order = true});
  try {
    stream.load_state(bytes);
  } catch (const Failure& failure) {
    return require(failure.exit_code == 82 && stream.batches() == 0 && stream.cursor() == 0);
  }
  const std::string saved = stream.save_state();
  Stream again(options);
  again.load_state(saved);
  require(again.save_state() == saved && again.cursor() == stream.cursor());
  require(again.at(again.cursor()) == stream.at(stream.cursor()));
  require(again.accounts() == stream.accounts());
}

}  // namespace

void stream(std::string_view bytes) {
  check_stream(bytes, {.samples = 10, .global_batch = 4, .seed = 1, .source = "web"});
  check_stream(bytes,
               {.samples = 10, .global_batch = 4, .seed = 1, .source = "web", .epoch_end = EpochEnd::kDrop});
  check_stream(bytes, {.global_batch = 4,
                       .seed = 1,
                       .order = SampleOrder::kBlocks,
                       .window_shards = 2,
                       .sources = {{.name = "web", .weight = 3, .shards = {3, 0, 7}},
                                   {.name = "books", .shards = {5}}}});
}

void contract(std::string_view bytes) {
  check_message<JoinRequest>(bytes);
  check_message<Assignment>(bytes);
  check_message<JoinReply>(bytes);
  check_message<Heartbeat>(bytes);
  check_message<OrdersRequest>(bytes);
  check_message<Orders>(bytes);
  check_message<Completed>(bytes);
  check_message<CompletionRecord>(bytes);
  check_message<Refusal>(bytes);
}

void board(std::string_view bytes) {
  board::KeyValueStore notes;
  const board::ServedAttempt opening{.attempt = 1, .world_size = 3, .secret = std::string(32, 's')};
  const std::string nonce(2 * board::kNonceBytes, 'n');
  for (board::KeyValueStore::Reader reader = 1;; ++reader) {
    auto decoded = board::decode(bytes);
    if (!decoded) return require(decoded.error().kind() == ErrorKind::kCorrupted);
    if (!*decoded) break;
    auto& [frame, size] = **decoded;
    require(board::encode(frame) == bytes.substr(0, size));
    bytes.remove_prefix(size);
    board::Handshake handshake;
    static_cast<void>(handshake.handle_frame(frame, opening, nonce));
    static_cast<void>(handshake.handle_frame(frame, opening, nonce));
    require(handshake.stage() != board::Handshake::Stage::kProven);
    static_cast<void>(notes.begin_attempt(frame.attempt));
    for (const auto& answer :
         notes.handle_request(reader, static_cast<std::uint32_t>(reader % 3), std::move(frame)))
      require(answer.to <= reader && !notes.is_waiting(answer.to));
    if (reader % 2 == 0) notes.cancel_wait(reader);
  }
  static_cast<void>(notes.begin_attempt(~std::uint64_t{0}));
}

void manifest(std::string_view bytes) {
  check_manifest(bytes);
  std::array<char, 24> line{};
  std::snprintf(line.data(), line.size(), "crc32c:%08x\n", crc32c(std::as_bytes(std::span(bytes))));
  check_manifest(std::string(bytes) + line.data());
}

}  // namespace ratoon::fuzz
