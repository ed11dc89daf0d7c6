// The vectors of FIPS 180-4 (NIST's examples) and of RFC 4231.
#include "base/core/hmac_sha256.h"

#include <gtest/gtest.h>

#include "base/core/hex.h"

namespace ratoon {
namespace {

struct Hashed {
  std::string bytes;
  std::string digest;
};

TEST(Sha256, IsThatOfThePublishedVectors) {
  for (const auto& [bytes, digest] : {
           Hashed{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
           Hashed{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
           Hashed{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
           Hashed{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
                  "nopqrsmnopqrstnopqrstu",
                  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
           Hashed{std::string(1'000'000, 'a'),
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
       })
    EXPECT_EQ(to_hex(sha256_of(bytes)), digest) << bytes.size() << " bytes";
}

struct Keyed {
  std::string key;
  std::string bytes;
  std::string digest;
};

TEST(HmacSha256, IsThatOfThePublishedVectors) {
  std::string counted;
  for (char byte = 1; byte <= 25; ++byte) counted.push_back(byte);
  for (const auto& [key, bytes, digest] : {
           Keyed{std::string(20, '\x0b'), "Hi There",
                 "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
           Keyed{"Jefe", "what do ya want for nothing?",
                 "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
           Keyed{std::string(20, '\xaa'), std::string(50, '\xdd'),
                 "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
           Keyed{counted, std::string(50, '\xcd'),
                 "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
           Keyed{std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
                 "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
           Keyed{std::string(131, '\xaa'),
                 "This is a test using a larger than block-size key and a larger than block-size data. The "
                 "key needs to be hashed before being used by the HMAC algorithm.",
                 "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
       })
    EXPECT_EQ(to_hex(hmac_sha256_of(key, bytes)), digest) << bytes;
}

TEST(SameSecret, IsTheSameInEachByte) {
  const std::string secret(32, 's');
  EXPECT_TRUE(is_same_secret(secret, std::string(32, 's')));
  EXPECT_FALSE(is_same_secret(secret, std::string(31, 's')));
  EXPECT_FALSE(is_same_secret(secret, ""));
  for (std::size_t at = 0; at < secret.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = secret;
      other[at] = static_cast<char>(other[at] ^ 1 << bit);
      EXPECT_FALSE(is_same_secret(secret, other)) << "byte " << at << ", bit " << bit;
    }
  }
}

}  // namespace
}  // namespace ratoon
