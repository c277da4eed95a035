#include "p2/document.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/document_writers.h"
#include "engine/base/invariant.h"

namespace p2 {

namespace fs = std::filesystem;

namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char ch) { return (ch & 0xc0) != 0x80; }));
}

std::vector<std::vector<std::string>> with_header(const Table& table) {
  std::vector<std::vector<std::string>> rows;
  if (!table.header.empty()) rows.push_back(table.header);
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  return rows;
}

/// Escape sequences of ECMA-48.
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kPlain = "\x1b[0m";

struct Coloured {
  std::string_view word;
  std::string_view colour;
};
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kYellow = "\x1b[33m";
/// The words for outcomes.
constexpr auto kColoured = std::to_array<Coloured>({{"valid", kGreen},
                                                    {"sound", kGreen},
                                                    {"holds", kGreen},
                                                    {"established", kGreen},
                                                    {"invalid", kRed},
                                                    {"unsound", kRed},
                                                    {"not sound", kRed},
                                                    {"refuted", kRed},
                                                    {"disagreement", kRed},
                                                    {"unknown", kYellow},
                                                    {"undecided", kYellow}});

/// The outcome that `text` begins with; null if it begins with none.
const Coloured* outcome_at(std::string_view text) {
  for (const Coloured& each : kColoured) {
    if (!text.starts_with(each.word)) continue;
    const std::string_view rest = text.substr(each.word.size());
    if (rest.empty() || rest[0] == ' ' || rest[0] == ',') return &each;
  }
  return nullptr;
}

/// The line with its outcome in colour: at its begin, or after `: `.
std::string with_colour(const std::string& line) {
  for (std::size_t at = 0; at != std::string::npos;) {
    if (const Coloured* const found = outcome_at(std::string_view(line).substr(at))) {
      return line.substr(0, at) + std::string(found->colour) + std::string(found->word) +
             std::string(kPlain) + line.substr(at + found->word.size());
    }
    at = line.find(": ", at);
    if (at != std::string::npos) at += 2;
  }
  return line;
}

/// The begin of a line, as wide as a terminal.
std::string cut(const std::string& line, std::size_t width) {
  if (width == 0 || width_of(line) <= width) return line;
  std::size_t end = 0;
  for (std::size_t columns = 0; end < line.size(); ++end) {
    if ((line[end] & 0xc0) != 0x80 && ++columns == width) break;
  }
  return line.substr(0, end) + "…";
}

struct TextWriter {
  std::string& out;
  TextStyle style = {};

  void operator()(const Heading& heading) const { line(printable(heading.text)); }
  void operator()(const Paragraph& paragraph) const { line(printable(paragraph.text)); }
  void operator()(const Preformatted& text) const {
    const std::string shown = printable_lines(text.text);
    if (!style.colour) {
      out += shown;
      return;
    }
    std::istringstream lines(shown);
    for (std::string each; std::getline(lines, each);) line(each);
  }
  void operator()(const Table& table) const {
    auto rows = with_header(table);
    for (auto& row : rows) std::ranges::transform(row, row.begin(), printable);
    const std::string text = table_text(rows, table.right_aligned);
    if (!style.colour && style.width == 0) {
      out += text;
      return;
    }
    std::istringstream lines(text);
    bool is_head = !table.header.empty();
    for (std::string each; std::getline(lines, each); is_head = false) {
      const std::string shown = cut(each, style.width);
      out += is_head && style.colour ? fmt::format("{}{}{}\n", kBold, shown, kPlain) : shown + "\n";
    }
  }
  void operator()(const Drawing&) const {}
  void operator()(const Listing&) const {}

  void line(const std::string& text) const {
    out += (style.colour ? with_colour(text) : text) + "\n";
  }
};

struct MarkdownWriter {
  std::string& out;

  void operator()(const Heading& heading) const {
    out += std::string(static_cast<std::size_t>(heading.level), '#') + " " +
           printable(heading.text) + "\n\n";
  }
  void operator()(const Paragraph& paragraph) const {
    if (!paragraph.text.empty()) out += printable(paragraph.text) + "\n\n";
  }
  void operator()(const Preformatted& text) const {
    out += "```\n" + printable_lines(text.text) + "```\n\n";
  }
  void operator()(const Table& table) const {
    row(table.header);
    for (std::size_t i = 0; i < table.header.size(); ++i) {
      out += i < table.right_aligned ? "| ---: " : "| --- ";
    }
    out += "|\n";
    for (const auto& cells : table.rows) row(cells);
    out += "\n";
  }
  void operator()(const Drawing&) const {}
  void operator()(const Listing&) const {}

  void row(const std::vector<std::string>& cells) const {
    for (const std::string& cell : cells) {
      out += "| ";
      for (const char ch : printable(cell))
        out += ch == '|' ? std::string("\\|") : std::string(1, ch);
      out += ' ';
    }
    out += "|\n";
  }
};

}  // namespace

bool fails(const Property& property) {
  return property.status != Property::Status::Established &&
         property.status != Property::Status::NotExamined;
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

std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::size_t right_aligned) {
  if (rows.empty()) return {};
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    invariant(row.size() == widths.size(), "a table has rows of different lengths");
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i < right_aligned) out += padding;
      out += row[i];
      if (i >= right_aligned && !last) out += padding;
      out += last ? "\n" : "  ";
    }
  }
  return out;
}

Document& Document::append(const Document& other) {
  blocks.insert(blocks.end(), other.blocks.begin(), other.blocks.end());
  return *this;
}

std::string write_text(const Document& document, const TextStyle& style) {
  std::string out;
  for (const Block& block : document.blocks) std::visit(TextWriter{out, style}, block);
  return out;
}

std::string write_document(const Document& document, DocumentFormat format) {
  switch (format) {
    case DocumentFormat::Text:
      return write_text(document);
    case DocumentFormat::Markdown: {
      std::string out;
      for (const Block& block : document.blocks) std::visit(MarkdownWriter{out}, block);
      return out;
    }
    case DocumentFormat::Json:
      return document.json.document();
    case DocumentFormat::Junit:
      return write_junit(document);
    case DocumentFormat::Sarif:
      return write_sarif(document);
    case DocumentFormat::Html:
      return write_html(document);
  }
  return {};
}

}  // namespace p2
