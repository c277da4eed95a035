#include <fmt/format.h>

#include "engine/base/document_writers.h"
#include "p2/version.h"

namespace p2 {
namespace {

constexpr const char* kStyle =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "pre{background:rgba(128,128,128,.12);padding:1em;overflow-x:auto}code{font-family:monospace}"
    "table{border-collapse:collapse;margin:1em 0}th,td{border:1px solid rgba(128,128,128,.5);"
    "padding:.2em .6em;text-align:left}td.number,th.number{text-align:right}"
    "figure{margin:1em 0;background:#fff}figcaption{color:#000;padding:.3em}"
    "@media print{body{max-width:none;margin:0}}";

struct HtmlWriter {
  std::string& out;

  void operator()(const Heading& heading) const {
    out += fmt::format("<h{0}>{1}</h{0}>\n", heading.level, xml_text(heading.text));
  }
  void operator()(const Paragraph& paragraph) const {
    if (!paragraph.text.empty()) out += fmt::format("<p>{}</p>\n", xml_text(paragraph.text));
  }
  void operator()(const Preformatted& text) const {
    out += "<pre>";
    // xml_text writes line breaks as references, which a browser shows as line breaks.
    out += xml_text(text.text) + "</pre>\n";
  }
  void operator()(const Table& table) const {
    out += "<table>\n<thead>";
    row(table.header, "th", table.right_aligned);
    out += "</thead>\n<tbody>\n";
    for (const auto& cells : table.rows) row(cells, "td", table.right_aligned);
    out += "</tbody>\n</table>\n";
  }
  void operator()(const Drawing& drawing) const {
    out += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", drawing.svg,
                       xml_text(drawing.title));
  }

  void row(const std::vector<std::string>& cells, const char* tag, std::size_t numbers) const {
    out += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      out += fmt::format("<{0}{1}>{2}</{0}>", tag, i < numbers ? " class=\"number\"" : "",
                         xml_text(cells[i]));
    }
    out += "</tr>\n";
  }
};

}  // namespace

std::string write_html(const Document& document) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{}</title>\n"
      "<meta name=\"generator\" content=\"p2-verify {}\">\n<style>{}</style></head>\n<body>\n",
      xml_text(document.title), build_info().version, kStyle);
  for (const Document::Block& block : document.blocks) std::visit(HtmlWriter{out}, block);
  return out + "</body>\n</html>\n";
}

}  // namespace p2
