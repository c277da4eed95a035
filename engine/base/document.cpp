#include "p2/document.h"

#include <algorithm>
#include <filesystem>

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

struct TextWriter {
  std::string& out;

  void operator()(const Heading& heading) const { out += printable(heading.text) + "\n"; }
  void operator()(const Paragraph& paragraph) const { out += printable(paragraph.text) + "\n"; }
  void operator()(const Preformatted& text) const { out += printable_lines(text.text); }
  void operator()(const Table& table) const {
    auto rows = with_header(table);
    for (auto& row : rows) std::ranges::transform(row, row.begin(), printable);
    out += table_text(rows, table.right_aligned);
  }
  void operator()(const Drawing&) const {}
  void operator()(const Listing&) const {}
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

template <typename Writer>
std::string written(const Document& document) {
  std::string out;
  for (const Document::Block& block : document.blocks) std::visit(Writer{out}, block);
  return out;
}

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

std::string write_document(const Document& document, DocumentFormat format) {
  switch (format) {
    case DocumentFormat::Text:
      return written<TextWriter>(document);
    case DocumentFormat::Markdown:
      return written<MarkdownWriter>(document);
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
