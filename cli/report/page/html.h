// Makes any text, such as the name of a member or a metric, safe for an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace ratoon::cli {

// Escapes text for the content and for double-quoted attributes of HTML and XML. Control characters and bytes
// that are not UTF-8 become U+FFFD; long texts are cut and marked.
[[nodiscard]] std::string escaped(std::string_view text);

// Formats a number with few digits, for people: "12.5", "0.00031", "150 k".
[[nodiscard]] std::string number_text(double value);
// Formats a coordinate, with one decimal at most.
[[nodiscard]] std::string pixel_text(double value);
// Formats a duration: "0.17 s", "12.4 s", "3:25", "11:02:30".
[[nodiscard]] std::string seconds_text(double seconds);
// Formats a fraction: "98.2 %"; it writes "100 %" only for exactly 1.
[[nodiscard]] std::string percent_text(double share);

}  // namespace ratoon::cli
