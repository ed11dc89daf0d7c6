// Text that is safe in a page, for any name of a member or a metric.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::cli {

// For content and for attributes in double quotes, in HTML and XML. Control characters and bytes that are not
// UTF-8 become U+FFFD; long texts are cut, with a mark.
[[nodiscard]] std::string escaped(std::string_view text);

// "12.5", "0.00031", "150 k": with few digits, for people.
[[nodiscard]] std::string number_text(double value);
// A coordinate, with one decimal at most.
[[nodiscard]] std::string pixel_text(double value);
// "0.17 s", "12.4 s", "3:25", "11:02:30".
[[nodiscard]] std::string seconds_text(double seconds);
// "98.2 %"; 100 stands only for the whole.
[[nodiscard]] std::string percent_text(double share);

}  // namespace ratoon::cli
