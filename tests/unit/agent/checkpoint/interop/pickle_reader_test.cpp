// Pickles that request more than tensors, or that contain false values.
#include "agent/src/checkpoint/interop/pickle/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/checkpoint/interop/little_endian.h"
#include "tests/unit/agent/checkpoint/interop/interop_support.h"

namespace ratoon::checkpoint::pickle_reader_test {
namespace {

using testing::HasSubstr;
using namespace test;  // NOLINT
using namespace std::string_literals;

const std::string kBegin = "\x80\x02";

std::string text(std::string_view value) {
  std::string out = "X";
  put(out, static_cast<std::uint32_t>(value.size()));
  return out + std::string(value);
}

std::string whole(std::int64_t value) {
  std::string out = "\x8a\x08";
  put(out, value);
  return out;
}

std::string tuple(const std::string& items) {
  return "(" + items + "t";
}

// A call of a function that rebuilds a tensor, of a storage of float32.
struct TensorText {
  std::string storage_type = "ctorch\nFloatStorage\n";
  std::string key = text("0");
  std::string elements = whole(6);
  std::string offset = whole(0);
  std::string shape = tuple(whole(2) + whole(3));
  std::string strides = tuple(whole(3) + whole(1));
  std::string gradient = "\x89";
  std::string hooks = "ccollections\nOrderedDict\n)R";
  std::string rest{};
  std::string function = "ctorch._utils\n_rebuild_tensor_v2\n";
  std::string tag = text("storage");

  [[nodiscard]] std::string str() const {
    const std::string id = tuple(tag + storage_type + key + text("cpu") + elements) + "Q";
    return function + tuple(id + offset + shape + strides + gradient + hooks + rest) + "R";
  }
};

std::string file_of(const std::string& value, std::size_t storage_bytes = 24) {
  return archive_of(kBegin + value + ".", {{"data/0", std::string(storage_bytes, 'd')}});
}

std::string refusal_of(const std::string& value, std::size_t storage_bytes = 24) {
  const std::string file = file_of(value, storage_bytes);
  const auto read = read_pt(bytes_in(file));
  return read ? "read" : read.error().message();
}

TEST(PickleReader, ReadsATensorAlone) {
  const std::string file = file_of(TensorText{}.str());
  const auto read = read_pt(bytes_in(file));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->tensors.at(0).name, "tensor");
  EXPECT_EQ(contents(read->tensors[0].stored), std::string(24, 'd'));
}

TEST(PickleReader, EveryInstructionThatIsNotAdmittedIsRefusedByName) {
  const std::string admitted = "\x80.(N\x88\x89KMJ\x8aGX)t\x85\x86\x87]ae}sucRbQqrhj";
  std::size_t refused = 0;
  for (int code = 0; code < 256; ++code) {
    if (admitted.find(static_cast<char>(code)) != std::string::npos) continue;
    const std::string pickle =
        kBegin + std::string(1, static_cast<char>(code)) + std::string(300, '\n') + ".";
    const auto read = read_pickle(bytes_in(pickle));
    ASSERT_FALSE(read.has_value()) << code;
    EXPECT_EQ(read.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(read.error().message(), testing::AllOf(HasSubstr("at byte 2: "), HasSubstr("instruction")));
    ++refused;
  }
  EXPECT_EQ(refused, 256 - admitted.size());
  EXPECT_THAT(refusal_of("\x81"), testing::AllOf(HasSubstr("record 'a/data.pkl'"), HasSubstr("NEWOBJ 0x81")));
  EXPECT_THAT(refusal_of("\x93"), HasSubstr("STACK_GLOBAL 0x93"));
  EXPECT_THAT(refusal_of("\x01"), HasSubstr("unknown 0x01"));
}

TEST(PickleReader, NoNameOfCodeIsAdmittedButAFew) {
  const std::vector<std::string> names{"os\nsystem",
                                       "posix\nsystem",
                                       "__builtin__\neval",
                                       "builtins\ngetattr",
                                       "torch\nload",
                                       "torch._utils\n_rebuild_qtensor",
                                       "collections\nCounter",
                                       "numpy.core.multiarray\n_reconstruct",
                                       "torch._tensor\n_rebuild_from_type_v2",
                                       "torch.nn.parameter\nParameter",
                                       "torch\nOrderedDict",
                                       "collections\nSize",
                                       "\n",
                                       "torch.storage\nTypedStorage",
                                       "torch\nfloat128"};
  for (const auto& name : names)
    EXPECT_THAT(refusal_of("c" + name + "\n)R"), HasSubstr("Ratoon executes no code of a file")) << name;
  EXPECT_THAT(refusal_of("ctorch\nQInt8Storage\n"),
              HasSubstr("a type of elements that Ratoon does not have"));
  EXPECT_THAT(refusal_of("c" + std::string(1000, 'm') + "\nf\n"), HasSubstr("mmm...'"));
  EXPECT_THAT(refusal_of("cos\nsys\x01tem\n"), HasSubstr("'os.sys?tem'"));
}

TEST(PickleReader, CallsAreOfTheFewFunctionsWithTheirArguments) {
  const std::vector<std::string> calls{
      "ctorch\nFloatStorage\n)R",
      "ctorch\nfloat32\n)R",
      "ctorch\nSize\n)R",
      "ctorch\nSize\n" + tuple(tuple(whole(-1))) + "R",
      "ctorch\nSize\n" + tuple(tuple(text("a"))) + "R",
      "ccollections\nOrderedDict\n" + tuple("]") + "R",
      "ccollections\nOrderedDict\n]R",
      "})R",
      "ctorch._utils\n_rebuild_parameter\n" + tuple("}\x89}") + "R",
      "ctorch.jit._pickle\nrestore_type_tag\n" + tuple("}") + "R",
      "ctorch.jit._pickle\nrestore_type_tag\n" + tuple("}" + whole(1)) + "R",
      "ctorch.jit._pickle\nrestore_type_tag\n" + tuple("}" + text("a") + text("b")) + "R",
      "ctorch._utils\n_rebuild_parameter\n" + tuple(TensorText{}.str() + "\x89" + tuple("")) + "R",
      "ctorch._utils\n_rebuild_parameter\n" + tuple(TensorText{}.str()) + "R",
      "ctorch._utils\n_rebuild_tensor_v2\n)R",
      "}}b",
      "ccollections\nOrderedDict\n)R]b",
  };
  for (const auto& call : calls)
    EXPECT_THAT(refusal_of(call), HasSubstr("torch.save of tensors does not write")) << call;
  EXPECT_EQ(refusal_of("ccollections\nOrderedDict\n)R}b"), "read");
  EXPECT_EQ(refusal_of("ctorch._utils\n_rebuild_parameter\n" + tuple(TensorText{}.str() + "\x88}") + "R"),
            "read");
}

TEST(PickleReader, StoragesAndTensorsAreBounded) {
  const auto refusal = [](auto change, std::size_t storage_bytes = 24) {
    TensorText tensor;
    change(tensor);
    return refusal_of(tensor.str(), storage_bytes);
  };
  const auto nothing = [](TensorText&) {};
  EXPECT_EQ(refusal(nothing), "read");
  EXPECT_EQ(refusal(nothing, 27), "read");  // PyTorch counts whole elements
  EXPECT_THAT(refusal(nothing, 23), HasSubstr("record 'a/data/0' has 23 bytes, where 6 elements"));
  EXPECT_THAT(refusal(nothing, 28), HasSubstr("28 bytes, where 6"));
  EXPECT_THAT(refusal([](auto& t) { t.key = text("1"); }), HasSubstr("record 'a/data/1' is not in the file"));
  EXPECT_THAT(refusal([](auto& t) { t.key = text("../0"); }), HasSubstr("is not in the file"));
  EXPECT_THAT(refusal([](auto& t) { t.elements = whole(7); }), HasSubstr("where 7 elements"));
  EXPECT_THAT(refusal([](auto& t) { t.offset = whole(1); }),
              HasSubstr("'tensor': the tensor reaches past the 6 elements"));
  EXPECT_THAT(refusal([](auto& t) { t.strides = tuple(whole(4) + whole(1)); }), HasSubstr("reaches past"));
  EXPECT_THAT(refusal([](auto& t) { t.shape = tuple(whole(2)); }), HasSubstr("1 dimensions and 2 strides"));
  EXPECT_THAT(refusal([](auto& t) { t.shape = tuple(whole(1ll << 62) + whole(4)); }), HasSubstr("2^62"));
  EXPECT_THAT(refusal([](auto& t) {
                t.shape = tuple(whole(1 << 20) + whole(1 << 20));
                t.strides = tuple(whole(0) + whole(0));
              }),
              HasSubstr("16 times the file's bytes"));
  for (const std::string& wrong : {whole(-1), text("1"), "\x88"s, "N"s, ")"s}) {
    EXPECT_THAT(refusal([&](auto& t) { t.offset = wrong; }), HasSubstr("wrong kind"));
    EXPECT_THAT(refusal([&](auto& t) { t.elements = wrong; }), HasSubstr("does not name a storage"));
    if (wrong == ")") continue;
    EXPECT_THAT(refusal([&](auto& t) { t.shape = wrong; }), HasSubstr("wrong kind"));
    EXPECT_THAT(refusal([&](auto& t) { t.strides = tuple(whole(3) + wrong); }), HasSubstr("wrong kind"));
  }
  EXPECT_THAT(refusal([](auto& t) { t.tag = text("module"); }), HasSubstr("does not name a storage"));
  EXPECT_THAT(refusal([](auto& t) { t.storage_type = "ctorch\nfloat32\n"; }),
              HasSubstr("does not name a storage"));
  EXPECT_THAT(refusal([](auto& t) { t.key = text(std::string(65, '0')); }),
              HasSubstr("does not name a storage"));
  EXPECT_THAT(refusal([](auto& t) { t.gradient = "N"; }), HasSubstr("wrong kind"));
  EXPECT_THAT(refusal([](auto& t) { t.hooks = "}" + text("a") + "Ns"; }), HasSubstr("hooks"));
  EXPECT_THAT(refusal([](auto& t) { t.rest = "}" + text("neg") + "\x88s"; }), HasSubstr("resolve_neg()"));
  EXPECT_EQ(refusal([](auto& t) { t.rest = "}"; }), "read");
  EXPECT_THAT(refusal([](auto& t) { t.rest = "}}"; }), HasSubstr("8 arguments"));
  EXPECT_THAT(refusal([](auto& t) { t.storage_type = "ctorch.storage\nUntypedStorage\n"; }),
              HasSubstr("no type"));
}

TEST(PickleReader, TypesThatCameLaterHaveUntypedStorages) {
  TensorText tensor{.storage_type = "ctorch.storage\nUntypedStorage\n",
                    .elements = whole(24),
                    .rest = "ctorch\nuint32\n",
                    .function = "ctorch._utils\n_rebuild_tensor_v3\n"};
  EXPECT_EQ(refusal_of(tensor.str()), "read");
  tensor.rest = "";
  EXPECT_THAT(refusal_of(tensor.str()), HasSubstr("6 arguments"));
  tensor.rest = text("uint32");
  EXPECT_THAT(refusal_of(tensor.str()), HasSubstr("dtype"));
  tensor.rest = "ctorch\nuint64\n";
  EXPECT_THAT(refusal_of(tensor.str()), HasSubstr("past the 3 elements"));
  tensor.rest = "ctorch\nuint32\n";
  tensor.storage_type = "ctorch\nIntStorage\n";
  tensor.elements = whole(6);
  EXPECT_THAT(refusal_of(tensor.str()), HasSubstr("dtype"));
}

TEST(PickleReader, TheStackAndTheMemoryAreKept) {
  const std::vector<std::string> broken{
      "",    "t",  "\x85",  "(\x85",  "N\x86", "NN\x87",     "a",   "]a", "e",   "(e", "Ns",
      "}Ns", "u",  "}(Nu",  "(u",     "NNNs",  "NNa",        "R",   "NR", "(NR", "Q",  "(Q",
      "b",   "Nb", "q\x01", "(q\x01", "h\x01", "j\1\0\0\0"s, ")Na", "(N", "NN",  "N(", "}(NNNu"};
  for (const auto& value : broken) {
    const std::string pickle = kBegin + value + ".";
    const auto read = read_pickle(bytes_in(pickle));
    ASSERT_FALSE(read.has_value()) << value;
    EXPECT_EQ(read.error().kind(), ErrorKind::kCorrupted) << value;
  }
}

TEST(PickleReader, EveryTruncationIsSeen) {
  const std::string pickle = kBegin + "}(" + text("a") + TensorText{}.str() + text("b") + "G" +
                             std::string(8, '\1') + text("c") + "J\1\2\3\4" + text("d") + "M\1\2"s +
                             text("e") + "K\1r\1\0\0\0u."s;
  for (std::size_t size = 0; size < pickle.size(); ++size) {
    const auto read = read_pickle(bytes_in(pickle).first(size));
    ASSERT_FALSE(read.has_value()) << size;
    EXPECT_EQ(read.error().kind(), ErrorKind::kCorrupted) << size << read.error().message();
  }
  EXPECT_THAT(refusal_of("N.N"), HasSubstr("bytes follow the end of the pickle"));
  EXPECT_FALSE(read_pickle(bytes_in("N.")).has_value());
  EXPECT_THAT(refusal_of("\x80\x02N"), HasSubstr("protocol 2"));
}

TEST(PickleReader, NumbersOfEverySizeAreRead) {
  const std::vector<std::pair<std::string, std::int64_t>> cases{
      {"K\xff"s, 255},          {"M\xff\xff"s, 65535},         {"J\xff\xff\xff\xff"s, -1},
      {"\x8a\0"s, 0},           {"\x8a\x01\xff"s, -1},         {"\x8a\x01\x7f"s, 127},
      {"\x8a\x02\xff\0"s, 255}, {whole(INT64_MIN), INT64_MIN}, {whole(INT64_MAX), INT64_MAX}};
  for (const auto& [value, number] : cases) {
    const std::string file = file_of("]" + value + "a");
    const auto read = read_pt(bytes_in(file));
    ASSERT_TRUE(read.has_value()) << number;
    EXPECT_EQ(std::get<std::int64_t>(read->scalars.at(0).value), number);
    EXPECT_EQ(read->scalars[0].name, "0");
  }
  EXPECT_THAT(refusal_of("\x8a\x09" + std::string(9, '\1')), HasSubstr("over 64 bits"));
  EXPECT_THAT(refusal_of(text("\xed\xa0\x80")), HasSubstr("not UTF-8"));
}

TEST(PickleReader, WhatUnfoldsIsBounded) {
  // A text of 64 KiB in a list, that list 10,000 times in another: 640 MB of text from 100 KB.
  std::string pickle = "](" + text(std::string(1 << 16, 't')) + "q\x02";
  for (int i = 0; i < 10'000; ++i) pickle += "h\x02";
  EXPECT_THAT(refusal_of(pickle + "e"), HasSubstr("256 MiB of names and texts"));
  std::string deep;
  for (int i = 0; i < 63; ++i) deep += "]";
  EXPECT_EQ(refusal_of(deep + "N" + std::string(63, 'a')), "read");
  EXPECT_THAT(refusal_of("]]" + deep + "N" + std::string(65, 'a')), HasSubstr("nested over 64 deep"));
  EXPECT_THAT(refusal_of("}" + text(std::string(4097, 'k')) + "Ns"), HasSubstr("over 4096 bytes"));
  EXPECT_EQ(refusal_of("}" + text(std::string(4096, 'k')) + "Ns"), "read");
  EXPECT_THAT(refusal_of("}(" + text("a") + "N" + text("a") + "Nu"), HasSubstr("two values in the file"));
  EXPECT_THAT(refusal_of("}\x88Ns"), HasSubstr("neither a text nor a whole number"));
}

TEST(PtArchive, IsOneOfTorchAndOfThisByteOrder) {
  const auto refusal = [](const std::vector<std::pair<std::string, std::string>>& records) {
    const std::string file = archive_of(kBegin + "N.", records);
    const auto read = read_pt(bytes_in(file));
    return read ? "read" : read.error().message();
  };
  EXPECT_EQ(refusal({}), "read");
  EXPECT_EQ(refusal({{"byteorder", "little"}, {"version", "3\n"}, {"data/9", "unused"}}), "read");
  EXPECT_THAT(refusal({{"byteorder", "big"}}), HasSubstr("byte order 'big'"));
  for (const char* version : {"", "0", "11\n", "3x", "-1", "3\n\n"})
    EXPECT_THAT(refusal({{"version", version}}), HasSubstr("where 1 to 10 are known")) << version;
  EXPECT_THAT(refusal({{"constants.pkl", "x"}}), HasSubstr("TorchScript"));

  TextSink sink;
  ZipWriter zip(sink, "a");
  ASSERT_TRUE(zip.add("other", "x").has_value());
  ASSERT_TRUE(zip.finish().has_value());
  EXPECT_THAT(read_pt(bytes_in(sink.text)).error().message(), HasSubstr("without a record 'a/data.pkl'"));
  for (const auto& [bytes, word] :
       std::vector<std::pair<std::string, std::string>>{{"", "not a file of torch.save"},
                                                        {"plain", "not a file of torch.save"},
                                                        {kBegin + "N.", "bare pickle"}})
    EXPECT_THAT(read_pt(bytes_in(bytes)).error().message(), HasSubstr(word));
}

}  // namespace
}  // namespace ratoon::checkpoint::pickle_reader_test
