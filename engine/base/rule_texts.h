#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace p2 {

/// A rule that `check` may report as violated, with the text that explains it.
struct RuleText {
  std::string_view name;     ///< as in `counterexample.rule`
  std::string_view summary;  ///< one sentence: what is wrong
  std::string_view help;     ///< what it means and where to look
};

/// `msccl/data-race`: stable, and different for formats that share a name.
std::string rule_id(std::string_view format, std::string_view rule);

/// What is to be said of a rule; nothing for the premises of a user's own collectives.
std::optional<RuleText> rule_text(std::string_view format, std::string_view rule);

/// The page that explains the rules of a format.
std::string rule_page(std::string_view format);

}  // namespace p2
