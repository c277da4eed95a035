#include "cli/program_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "engine/base/json_document.h"

namespace p2 {
namespace {

using nlohmann::json;

/// The texts of the programs in what synth wrote; empty for any other text.
std::vector<std::string> programs_of_synth(const std::string& file, const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text[start] != '{') return {};
  if (!JsonDocument(file, text).root().find("placements")) return {};
  std::vector<std::string> programs;
  const json document = json::parse(text);
  for (const json& placement : document.at("placements")) {
    if (!placement.is_object() || !placement.contains("list")) continue;
    for (const json& program : placement.at("list")) programs.push_back(program.dump());
  }
  if (programs.empty()) {
    throw InputError({file},
                     "lists no program, expected what synth --format json writes, without "
                     "--count");
  }
  return programs;
}

}  // namespace

std::vector<SourceProgram> programs_in(const std::string& file, const GivenInstance& given,
                                       std::size_t number) {
  const std::string text = read_file(file);
  std::vector<std::string> texts = programs_of_synth(file, text);
  const bool several = !texts.empty();
  if (!several) texts.push_back(text);
  if (number > texts.size()) {
    throw InputError({"--program"}, fmt::format("{}, expected at most {}: so many programs are in "
                                                "{}",
                                                number, texts.size(), file));
  }
  std::vector<SourceProgram> programs;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (number != 0 && number != i + 1) continue;
    const std::string name = several ? fmt::format("{} program {}", file, i + 1) : file;
    programs.push_back({name, i + 1, read_program(name, texts[i], given)});
  }
  return programs;
}

}  // namespace p2
