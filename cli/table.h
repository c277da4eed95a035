#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace p2 {

/// The cells of a table, by rows of the same length, the headings first.
using TableRows = std::vector<std::vector<std::string>>;

/// Prints columns that are as wide as their widest cell: the first `right_aligned` of them flush
/// right, the others flush left.
void print_table(const TableRows& rows, std::size_t right_aligned, std::ostream& out);

}  // namespace p2
