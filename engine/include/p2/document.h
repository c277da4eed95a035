#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "p2/json.h"
#include "p2/result.h"

namespace p2 {

/// A heading; level 1 is the title.
struct Heading {
  std::string text;
  int level = 2;
};
/// One paragraph; as text it is one line, its control characters escaped. An empty one is a blank
/// line.
struct Paragraph {
  std::string text;
};
/// Text whose line breaks and columns matter: drawings, certificates, programs. Ends with a
/// newline. Names of files in it are made printable before.
struct Preformatted {
  std::string text;
};
/// Rows of equal length; the first `right_aligned` columns are numbers.
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::size_t right_aligned = 0;
};
/// A picture in SVG. Only HTML has it.
struct Drawing {
  std::string title;
  std::string svg;
};
/// Lines of a user's file. Only HTML has them.
struct Listing {
  std::string file;
  std::vector<std::string> lines;
  std::size_t first = 1;            ///< the number of the first of them
  std::size_t fault = 0;            ///< the number of the line at fault
  std::vector<std::size_t> others;  ///< numbers of more lines that have part in it, ascending
};
/// What an answer consists of as it is shown.
using Block = std::variant<Heading, Paragraph, Preformatted, Table, Drawing, Listing>;

/// How one property of one file came out, for reports that CI systems read.
struct Property {
  enum class Status : std::uint8_t {
    Established,
    Refuted,
    Undecided,    ///< within the limits, or not supported
    NotExamined,  ///< the file is refused for another reason first
    BadInput,     ///< the file cannot be read
    ToolFailure,  ///< a tool or p2 itself failed
    Disagreement  ///< the engines differ
  };

  std::string name;  ///< `premises`, `goal`, `races`, …
  Status status = Status::Established;
  std::string rule = {};     ///< of a refuted one: the rule that it breaks, a stable name
  std::string message = {};  ///< why it is not established
  std::size_t line = 0;      ///< of the file, from 1; 0 where there is none
  std::size_t column = 0;
  bool known = false;  ///< the failure is in the baseline
};

/// What reports say of one file.
struct FileReport {
  std::string file;    ///< as it was given
  std::string format;  ///< `program`, `msccl`, …: the family of its rules
  std::vector<Property> properties;
  double seconds = 0;
  std::string place = {};           ///< of a pair of a dump: the pass
  std::vector<Block> details = {};  ///< what a page shows of the file
};

/// An answer as it is shown: readable blocks, a JSON value, and properties by file
/// for CI systems. Each format has one writer.
struct Document {
  using Block = p2::Block;

  std::string title;  ///< of the HTML page and the JUnit suite: `p2-verify check`
  std::vector<Block> blocks;
  Json json;
  std::vector<FileReport> reports = {};
  bool against_baseline = false;  ///< reports were compared with a baseline of known failures
  int exit_code = 0;              ///< of the command

  Document& add(Block block) {
    blocks.push_back(std::move(block));
    return *this;
  }
  /// Appends a line of text.
  Document& line(std::string text) { return add(Paragraph{std::move(text)}); }
  /// Appends the blocks of another document.
  Document& append(const Document& other);
};

/// `text` as a part of one line of a terminal or a log. Characters that end a line, steer a
/// terminal, turn the direction of text or cannot be seen are written \u{HEX}, and bytes that are
/// no UTF-8 \xHH.
std::string printable(std::string_view text);
/// The same for text of several lines: line feeds and tabs stay.
std::string printable_lines(std::string_view text);

enum class DocumentFormat : std::uint8_t { Text, Json, Junit, Sarif, Html, Markdown };

/// How text is shown on a terminal.
struct TextStyle {
  bool colour = false;    ///< verdicts in colour, headings and heads of tables bold
  std::size_t width = 0;  ///< of the terminal: the last column of a table is cut to it; 0 = never
};

/// The document as text; without a style as write_document writes it.
std::string write_text(const Document& document, const TextStyle& style = {});

/// The whole document in one format; as text and Markdown all of it is printable. Drawings and
/// listings are left out of them; JUnit and SARIF have the reports only.
std::string write_document(const Document& document, DocumentFormat format);

}  // namespace p2
