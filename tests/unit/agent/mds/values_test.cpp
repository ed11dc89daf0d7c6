#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <ratoon/mds_values.h>

#include "tests/unit/agent/mds/golden_folders.h"

namespace ratoon::values_test {
namespace {

std::optional<ImageShape> shape_of(const std::string& file) {
  return image_shape(std::as_bytes(std::span(file)));
}

// Widths and heights are those that golden/make.py gave to Pillow.
TEST(ImageShape, OfFilesThatPillowWrote) {
  const auto data = MdsDataset::open((mds::kGolden / "every").string());
  Sample sample;
  for (std::uint32_t id = 0; id < data->size(); ++id) {
    data->read(id, sample);
    const ImageShape expected{.height = 6, .width = 8 + id, .channels = id % 2 == 0 ? 3U : 1U};
    EXPECT_EQ(image_shape(sample.field(data->column("jpeg")).bytes), expected);
    EXPECT_EQ(image_shape(sample.field(data->column("png")).bytes), expected);
    EXPECT_EQ(image_shape(sample.field(data->column("pil")).bytes), std::nullopt);
  }
}

TEST(ImageShape, OfAnyBeginningOfAFileIsRightOrNothing) {
  const auto data = MdsDataset::open((mds::kGolden / "every").string());
  Sample sample;
  data->read(0, sample);
  for (const char* column : {"jpeg", "png"}) {
    const auto file = sample.field(data->column(column)).bytes;
    const auto whole = image_shape(file);
    std::size_t known = 0;
    for (std::size_t size = 0; size < file.size(); ++size) {
      const auto shape = image_shape(file.first(size));
      EXPECT_TRUE(!shape || shape == whole);
      known += shape ? 1 : 0;
    }
    EXPECT_GT(known, 30u);
    EXPECT_LT(known, file.size());
  }
}

TEST(ImageShape, MarkersOfJpeg) {
  const std::string frame("\xff\xc2\0\x11\x08\x01\x02\x03\x04\x03", 10);
  const std::string begin = "\xff\xd8";
  const ImageShape expected{.height = 0x102, .width = 0x304, .channels = 3};
  EXPECT_EQ(shape_of(begin + frame), expected);
  EXPECT_EQ(shape_of(begin + "\xff\xff\xff" + frame), expected);
  EXPECT_EQ(shape_of(begin + "\xff\x01\xff\xd3" + frame), expected);
  EXPECT_EQ(shape_of(begin + std::string("\xff\xc4\0\x04", 4) + "xx" + frame), expected);
  EXPECT_EQ(shape_of(begin + std::string("\xff\xe0\0\x02", 4) + frame), expected);
  EXPECT_EQ(shape_of(begin + std::string("\xff\xe0\0\x01", 4) + frame), std::nullopt);
  EXPECT_EQ(shape_of(begin + std::string("\xff\xe0\xff\xff", 4) + frame), std::nullopt);
  EXPECT_EQ(shape_of(begin + "x" + frame), std::nullopt);
  EXPECT_EQ(shape_of(begin + "\xff\xd9" + frame), std::nullopt);
  EXPECT_EQ(shape_of(begin + frame.substr(0, 9)), std::nullopt);
  EXPECT_EQ(shape_of(begin + std::string("\xff\xc0\0\x11\x08\0\0\x03\x04\x03", 10)),
            std::nullopt);  // height comes later
  EXPECT_EQ(shape_of(begin), std::nullopt);
  EXPECT_EQ(shape_of(""), std::nullopt);
}

TEST(ImageShape, ColorTypesOfPng) {
  std::string file("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x07\x08", 25);
  const std::uint32_t channels[] = {1, 0, 3, 1, 2, 0, 4, 0};
  for (std::uint32_t color = 0; color < 8; ++color) {
    const auto shape = shape_of(file + static_cast<char>(color));
    EXPECT_EQ(shape ? shape->channels : 0, channels[color]);
  }
  EXPECT_EQ(shape_of(file), std::nullopt);
}

TEST(WrittenNumber, Integers) {
  EXPECT_EQ(exact_integer("0"), 0);
  EXPECT_EQ(exact_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(exact_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"9223372036854775808", "", "-", "1.0", " 1", "1 ", "x"})
    EXPECT_EQ(exact_integer(text), std::nullopt);
}

TEST(WrittenNumber, FloatsAreTheVeryOnesThatWereWritten) {
  EXPECT_EQ(nearest_double("0.1"), 0.1);
  EXPECT_EQ(nearest_double("1e+16"), 1e16);
  EXPECT_EQ(nearest_double("5e-324"), 5e-324);
  EXPECT_EQ(nearest_double("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(nearest_double("nan").value()));
  for (const char* text : {"", "1e400", "0x", "1,5", "+1"}) EXPECT_EQ(nearest_double(text), std::nullopt);
}

TEST(WrittenNumber, DecimalsWhereADoubleIsExactlyThat) {
  for (const char* text :
       {"0", "-0", "0.0", "0E+99999999", "0.5", "-2.50", "1E+20", "100", "1.0", "0.001953125", "1e22",
        "9007199254740992",
        "4.9406564584124654417656879286822137236505980261432476442558568250067"
        "55072702087518652998363616359923797965646954457177309266567103559397963987747960107818781263"
        "00713190311404527845817167848982103688718636056998730723050006387409153564984387312473397273"
        "16961514003171538539807412623856559117102665855668676818703956031062493194527159149245532930"
        "54565444011274801297099995419319894090804165633245247571478690147267801593552386115501348035"
        "26493472019379026810710749170333222684475333572083243193609238289345836806010601150616980975"
        "30783422773183292479049825247307763759272478746560847782037344696995336470179726777175851256"
        "60551199131504891101451037862738167250955837389733598993664809941164205702637090279242767544"
        "565229087538682506419718265533447265625e-324"})
    EXPECT_EQ(exact_double(text), nearest_double(text)) << text;
  for (const char* text :
       {"0.1", "9007199254740993", "3.14159265358979323846264338327950288", "1e23", "5e-324", "x", ""})
    EXPECT_EQ(exact_double(text), std::nullopt) << text;
  EXPECT_EQ(exact_double("Infinity"), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace ratoon::values_test
