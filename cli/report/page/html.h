// Makes text safe for a page, for any name of a member or a metric.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::cli {

// The text is safe in content and in attributes with double quotes, in HTML and XML. Control characters and
// bytes that are not UTF-8 become U+FFFD; long texts are cut and marked.
[[nodiscard]] std::string escaped(std::string_view text);

// Formats a number with few digits, for people: "12.5", "0.00031", "150 k".
[[nodiscard]] std::string number_text(double value);
// Formats a coordinate, with one decimal at most.
[[nodiscard]] std::string pixel_text(double value);
// Formats a duration: "0.17 s", "12.4 s", "3:25", "11:02:30".
[[nodiscard]] std::string seconds_text(double seconds);
// Formats a fraction: "98.2 %"; 100 stands only for the whole.
[[nodiscard]] std::string percent_text(double share);

}  // namespace ratoon::cli
