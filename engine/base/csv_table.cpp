#include "engine/base/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace p2 {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<std::string> CsvTable::split(std::string_view line, std::size_t number) const {
  std::vector<std::string> values;
  for (;;) {
    line = trimmed(line);
    const bool quoted = line.starts_with('"');
    std::size_t end = line.find(',');
    if (quoted) {
      const std::size_t close = line.find('"', 1);
      if (close == std::string_view::npos) {
        throw InputError({source_, number, 1}, "a quote is not closed, expected another \"");
      }
      values.emplace_back(line.substr(1, close - 1));
      line.remove_prefix(close + 1);
      end = line.find(',');
      if (!trimmed(line.substr(0, end)).empty()) {
        throw InputError({source_, number, 1}, "text after a closing quote, expected a comma");
      }
    } else {
      values.emplace_back(trimmed(line.substr(0, end)));
    }
    if (end == std::string_view::npos) return values;
    line.remove_prefix(end + 1);
  }
}

CsvTable::CsvTable(std::string source, const std::string& text) : source_(std::move(source)) {
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(start, end - start));
    start = end + 1;
    if (line.empty() || line.starts_with('#')) continue;
    Row row{number + 1, split(line, number + 1)};
    if (columns_.values.empty()) {
      columns_ = std::move(row);
      continue;
    }
    if (row.values.size() != columns_.values.size()) {
      throw InputError({source_, row.line, 1},
                       fmt::format("{} values, expected {}: {}", row.values.size(),
                                   columns_.values.size(), fmt::join(columns_.values, ", ")));
    }
    rows_.push_back(std::move(row));
  }
  if (columns_.values.empty()) {
    throw InputError({source_}, "no table, expected a line of column names");
  }
  for (auto name = columns_.values.begin(); name != columns_.values.end(); ++name) {
    if (std::find(columns_.values.begin(), name, *name) == name) continue;
    throw InputError({source_, columns_.line, 1},
                     fmt::format("two columns are named \"{}\", expected different names", *name));
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.values.begin(), columns_.values.end(), column) != columns_.values.end();
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const auto found = std::find(columns_.values.begin(), columns_.values.end(), column);
  if (found == columns_.values.end()) {
    throw InputError({source_, columns_.line, 1},
                     fmt::format("no column \"{}\", expected one", column));
  }
  return rows_[row].values[static_cast<std::size_t>(found - columns_.values.begin())];
}

double CsvTable::positive(std::size_t row, std::string_view column) const {
  const std::string& value = text(row, column);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool decimal = value.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (value.empty() || *end != '\0' || !decimal || !std::isfinite(number) || number <= 0) {
    throw InputError(position(row),
                     fmt::format("the {} \"{}\" is no positive number, expected one such as 0.25",
                                 column, value));
  }
  return number;
}

SourcePosition CsvTable::position(std::size_t row) const { return {source_, rows_[row].line, 1}; }

void CsvTable::only_columns(const std::vector<std::string_view>& known) const {
  for (const std::string& column : columns_.values) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    throw InputError({source_, columns_.line, 1}, fmt::format("unknown column \"{}\", expected {}",
                                                              column, fmt::join(known, ", ")));
  }
}

}  // namespace p2
