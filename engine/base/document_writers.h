#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "p2/document.h"

namespace p2 {

/// Whether a property makes the run fail: refuted, undecided, not readable, or in dispute.
bool fails(const Property& property);

/// The path of a file as reports name it: relative to the current folder where it lies inside it,
/// with `/`, without `.` and `..`.
std::string reported_path(const std::string& file);

/// As the text of an XML or HTML element or attribute: markup and quotes escaped, characters that
/// XML does not allow replaced.
std::string xml_text(const std::string& text);

/// Columns as wide as their widest cell: the first `right_aligned` of them flush right, the others
/// flush left.
std::string table_text(const std::vector<std::vector<std::string>>& rows,
                       std::size_t right_aligned);

// One writer per format; write_document chooses.

/// JUnit XML: a test suite for every file, in it a test case for every property. Refuted is a
/// failure; undecided, not readable and in dispute are errors; not examined is skipped, and so is a
/// failure that the baseline has.
std::string write_junit(const Document& document);

/// SARIF 2.1.0, the part that code-scanning services read: one run, one result for every refuted
/// property, with the rule, a path relative to the current folder (an absolute one outside it), and
/// the place in the file where there is one. A failure that the baseline has is `unchanged`; where
/// the run was compared with a baseline the others are `new`. What is not a refutation is a
/// notification of the invocation.
std::string write_sarif(const Document& document);

/// One self-contained page, light and dark, printable.
std::string write_html(const Document& document);

/// A rule that `check` may report as violated, with the text that explains it.
struct RuleText {
  std::string_view name;     ///< as in `counterexample.rule`
  std::string_view summary;  ///< one sentence: what is wrong
  std::string_view help;     ///< what it means and where to look
};

/// `msccl/data-race`: stable, and different for formats that share a name.
std::string rule_id(std::string_view format, std::string_view rule);

/// The text of a rule; it refers to `rule`. An unknown rule of the format `program` is a premise of
/// a user-defined collective; of another format it breaks an invariant.
RuleText rule_text(std::string_view format, std::string_view rule);

/// The page that explains the rules of a format.
std::string rule_page(std::string_view format);

}  // namespace p2
