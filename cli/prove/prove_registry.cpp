#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/json_list.h"
#include "cli/output.h"
#include "cli/prove/prove_report.h"

namespace p2 {
namespace {

using claims::Claim;

std::string kinds(const std::vector<HierarchyKind>& some) {
  std::string text;
  for (const HierarchyKind kind : some) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(kind));
  }
  return text;
}

}  // namespace

void print_registry_text(std::ostream& out) {
  for (const Claim& claim : claims::registry()) {
    fmt::print(out, "{}  ({})\n    {}\n    {}\n    over {}{}; settled by {}\n", claim.name,
               claim.section.empty() ? "not in the paper" : claim.section, claim.statement,
               claim.formula, kinds(claim.from),
               claim.to.empty() ? "" : " against " + kinds(claim.to), claim.engine);
  }
}

void print_registry_json(std::ostream& out) {
  out << "{\"claims\":";
  print_list(claims::registry(), out, [](const Claim& claim) {
    return fmt::format(
        "{{\"name\":{},\"statement\":{},\"formula\":{},\"section\":{},\"from\":{},\"to\":{},"
        "\"engine\":{}}}",
        json_string(claim.name), json_string(claim.statement), json_string(claim.formula),
        json_string(claim.section), json_string(kinds(claim.from)), json_string(kinds(claim.to)),
        json_string(claim.engine));
  });
  out << ",\"schedules\":";
  print_schedule_registry_json(out);
  out << "}\n";
}

}  // namespace p2
