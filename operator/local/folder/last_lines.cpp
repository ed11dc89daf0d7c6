#include "operator/local/folder/last_lines.h"

#include <algorithm>
#include <fstream>

#include "base/core/split_join.h"

namespace ratoon::local {

std::string read_last_lines(const std::string& path, std::size_t bytes_max) {
  std::ifstream log(path, std::ios::binary | std::ios::ate);
  if (!log) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, log.tellg()));
  const std::size_t begin = size - std::min(size, bytes_max);
  log.seekg(static_cast<std::streamoff>(begin));
  std::string text(size - begin, '\0');
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, log.gcount())));
  if (begin == 0) return text;
  const std::size_t line_end = text.find('\n');
  return line_end == std::string::npos ? text : text.substr(line_end + 1);
}

std::vector<std::string> last_lines_in(std::string_view text, std::size_t lines_max) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  auto lines = split(text, '\n');
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), lines_max)));
  return lines;
}

}  // namespace ratoon::local
