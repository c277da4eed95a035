#include "modules.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/text/hlo_text.h"

namespace p2::hlo {

std::string module_text(const std::string& entry, int partitions) {
  std::string text = fmt::format("HloModule test, num_partitions={}\n", partitions);
  for (const char* reducer : {"add", "maximum", "minimum", "multiply", "subtract"}) {
    text += fmt::format(
        "\n{0} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {0}(a, "
        "b)\n}}\n",
        reducer);
  }
  return text + "\nENTRY main {\n" + entry + "}\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  CAPTURE(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

std::shared_ptr<const Module> module_of(const std::string& text) {
  return std::make_shared<const Module>(read_hlo("test.hlo", text));
}

Verdict compared(const std::string& before, const std::string& after, const Question& question) {
  return compare(module_of(before), module_of(after), question, {});
}

std::string said(const Verdict& verdict) {
  return std::string(to_string(verdict.kind)) + (verdict.rule.empty() ? "" : " " + verdict.rule);
}

}  // namespace p2::hlo
