// Text that a page may hold, whatever somebody called a member or a metric.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::cli {

// For content and for attributes in double quotes, in HTML and XML. What neither may hold (control
// characters, bytes that are no UTF-8) becomes U+FFFD; long texts are cut, with a mark.
[[nodiscard]] std::string escaped(std::string_view text);

// "12.5", "0.00031", "150 k": as many digits as people read.
[[nodiscard]] std::string number_text(double value);
// With one decimal at most: a coordinate.
[[nodiscard]] std::string pixel_text(double value);
// "0.17 s", "12.4 s", "3:25", "11:02:30".
[[nodiscard]] std::string seconds_text(double seconds);
// "98.2 %"; 100 is said only of what is whole.
[[nodiscard]] std::string percent_text(double share);

}  // namespace ratoon::cli
