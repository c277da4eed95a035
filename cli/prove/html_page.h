#pragma once

#include <iosfwd>
#include <string>

namespace p2 {

/// Writes a Markdown text, GitHub's tables included, as one HTML page that needs nothing else.
void write_html_page(const std::string& title, const std::string& markdown, std::ostream& out);

}  // namespace p2
