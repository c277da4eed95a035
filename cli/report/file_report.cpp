#include "cli/report/file_report.h"

#include <filesystem>

#include <nlohmann/json.hpp>

namespace p2 {

namespace fs = std::filesystem;

bool fails(const Property& property) {
  return property.outcome != Property::Outcome::Established &&
         property.outcome != Property::Outcome::NotExamined;
}

std::string reported_path(const std::string& file) {
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  const fs::path inside = whole.lexically_relative(here);
  if (inside.empty() || *inside.begin() == "..") return whole.generic_string();
  return inside.generic_string();
}

std::string xml_text(const std::string& text) {
  // The JSON writer knows how to replace bytes that are not UTF-8.
  using nlohmann::json;
  const std::string dumped = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string escaped;
  for (const char ch : json::parse(dumped).get<std::string>()) {
    const auto byte = static_cast<unsigned char>(ch);
    if (ch == '&') {
      escaped += "&amp;";
    } else if (ch == '<') {
      escaped += "&lt;";
    } else if (ch == '>') {
      escaped += "&gt;";
    } else if (ch == '"') {
      escaped += "&quot;";
    } else if (ch == '\n') {
      escaped += "&#10;";
    } else if (byte < 0x20 && ch != '\t') {
      escaped += "\xEF\xBF\xBD";
    } else {
      escaped += ch;
    }
  }
  return escaped;
}

}  // namespace p2
