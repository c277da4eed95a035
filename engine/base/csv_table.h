#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "p2/error.h"

namespace p2 {

/// A table in comma-separated values: a line of column names, then one line per row. Values with a
/// comma stand in double quotes; blank lines and lines that start with `#` are skipped; blanks
/// around values are not part of them.
class CsvTable {
 public:
  /// Throws InputError for a table without columns, a column named twice, a row with more or fewer
  /// values than there are columns, and a quote that is not closed or closed too early.
  CsvTable(std::string source, const std::string& text);

  std::size_t rows() const { return rows_.size(); }
  bool has(std::string_view column) const;
  /// The value as text. Throws InputError when there is no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// The value as a positive finite decimal number. Throws InputError when it is none.
  double positive(std::size_t row, std::string_view column) const;
  /// Where a row stands.
  SourcePosition position(std::size_t row) const;
  /// Throws InputError when there is a column that is not one of `known`.
  void only_columns(const std::vector<std::string_view>& known) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> values;
  };

  std::vector<std::string> split(std::string_view line, std::size_t number) const;

  std::string source_;
  Row columns_;
  std::vector<Row> rows_;
};

}  // namespace p2
