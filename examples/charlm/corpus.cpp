#include "corpus.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

namespace {

// The distributions of standard libraries differ between machines; the engines do not.
std::string make_text(std::uint64_t seed) {
  constexpr std::array<std::string_view, 8> kWho = {"the old gardener", "a fox",      "my sister",
                                                    "the north wind",   "a bear",     "a crow",
                                                    "the miller",       "every child"};
  constexpr std::array<std::string_view, 6> kDoes = {"cuts",    "finds",  "carries",
                                                     "forgets", "plants", "praises"};
  constexpr std::array<std::string_view, 8> kWhat = {"the sugar cane", "a red apple",     "seven stones",
                                                     "an empty jar",   "the young shoot", "a long story",
                                                     "the harvest",    "some rain"};
  constexpr std::array<std::string_view, 4> kWhen = {"in the morning", "after the flood", "every year",
                                                     "again"};
  std::mt19937_64 engine(seed);
  const auto one_of = [&engine](const auto& words) { return words[engine() % words.size()]; };
  std::string text;
  while (text.size() < 20'000) {
    for (const std::string_view word : {one_of(kWho), one_of(kDoes), one_of(kWhat), one_of(kWhen)})
      text.append(word).append(1, ' ');
    text.back() = '.';
    text.append(1, '\n');
  }
  return text;
}

[[noreturn]] void refuse(const std::string& sentence) {
  std::fprintf(stderr, "charlm: %s\n", sentence.c_str());
  std::exit(82);
}

std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file + " cannot be opened: name a file of text with --text, or leave it out");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.size() <= static_cast<std::size_t>(Corpus::kWindow))
    refuse(file + " has " + std::to_string(text.size()) + " bytes, and at least " +
           std::to_string(Corpus::kWindow + 1) + " are needed: name a longer file with --text");
  return text;
}

}  // namespace

Corpus::Corpus(const std::string& file, std::uint64_t seed) {
  const std::string text = file.empty() ? make_text(seed) : read_text(file);
  alphabet_ = text;
  std::sort(alphabet_.begin(), alphabet_.end());
  alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
  letters_ = at::empty({static_cast<std::int64_t>(text.size())}, at::TensorOptions(at::kLong));
  auto* letter = letters_.mutable_data_ptr<std::int64_t>();
  for (const char c : text) *letter++ = static_cast<std::int64_t>(alphabet_.find(c));
}

std::uint64_t Corpus::windows() const {
  return static_cast<std::uint64_t>(letters_.size(0) - kWindow);
}

at::Tensor Corpus::rows(const at::Tensor& index) const {
  return letters_.take(index.unsqueeze(1).add(at::arange(kWindow + 1)));
}

std::string Corpus::text_of(const at::Tensor& letters) const {
  std::string text;
  for (std::int64_t i = 0; i < letters.numel(); ++i)
    text += alphabet_[static_cast<std::size_t>(letters[i].item<std::int64_t>())];
  return text;
}
