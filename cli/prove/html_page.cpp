#include "cli/prove/html_page.h"

#include <md4c-html.h>

#include <ostream>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

constexpr const char* kStyle =
    "body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "pre{background:#f4f4f4;padding:1em;overflow-x:auto}code{font-family:monospace}"
    "table{border-collapse:collapse}th,td{border:1px solid #ccc;padding:.2em .6em;text-align:left}";

void append(const MD_CHAR* text, MD_SIZE size, void* out) {
  static_cast<std::ostream*>(out)->write(text, size);
}

}  // namespace

void write_html_page(const std::string& title, const std::string& markdown, std::ostream& out) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" << title
      << "</title>\n<style>" << kStyle << "</style></head>\n<body>\n";
  const int failed = md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &out,
                             MD_DIALECT_GITHUB | MD_FLAG_NOHTML, 0);
  invariant(failed == 0, "Markdown of our own cannot be read");
  out << "</body>\n</html>\n";
}

}  // namespace p2
