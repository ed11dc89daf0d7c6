#include "base/core/hmac_sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace ratoon {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kHeaderLengthBytes = 8;

using State = std::array<std::uint32_t, 8>;

// SHA-256's constants: the first 32 bits of the fractional parts of the square roots of the first 8 primes,
// and of the cube roots of the first 64 primes.
constexpr State kInitialState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t read_big_endian(std::string_view four) {
  std::uint32_t number = 0;
  for (const char byte : four) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

template <class Number>
void append_big_endian(std::string& to, Number number) {
  for (std::size_t i = sizeof number; i-- > 0;) to.push_back(static_cast<char>(number >> 8 * i & 0xff));
}

void process_block(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) w[i] = read_big_endian(block.substr(4 * i, 4));
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State worked = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += worked[i];
}

std::string pad_key(std::string_view key, char with) {
  std::string block = key.size() > kBlockBytes ? sha256_of(key) : std::string(key);
  block.resize(kBlockBytes, '\0');
  for (char& byte : block) byte = static_cast<char>(byte ^ with);
  return block;
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
  State state = kInitialState;
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  while (bytes.size() >= kBlockBytes) {
    process_block(state, bytes.substr(0, kBlockBytes));
    bytes.remove_prefix(kBlockBytes);
  }
  std::string rest(bytes);
  rest.push_back('\x80');
  const std::size_t blocks = rest.size() + kHeaderLengthBytes > kBlockBytes ? 2 : 1;
  rest.resize(blocks * kBlockBytes - kHeaderLengthBytes, '\0');
  append_big_endian(rest, bits);
  for (std::size_t i = 0; i < blocks; ++i)
    process_block(state, std::string_view(rest).substr(i * kBlockBytes, kBlockBytes));
  std::string digest;
  digest.reserve(kSha256Bytes);
  for (const std::uint32_t word : state) append_big_endian(digest, word);
  return digest;
}

std::string hmac_sha256_of(std::string_view key, std::string_view bytes) {
  const std::string inner = sha256_of(pad_key(key, '\x36') + std::string(bytes));
  return sha256_of(pad_key(key, '\x5c') + inner);
}

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace ratoon
