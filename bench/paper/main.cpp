#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "bench/paper/report.h"

namespace {

/// Writes beside the target first, so that a file is there whole or not at all.
void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path partial = path.string() + ".partial";
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path.string() + " cannot be written");
  std::filesystem::rename(partial, path);
}

}  // namespace

/// paper_evaluation TABLES SYSTEMS DOCS: compares the paper's tables (a folder such as bench/paper)
/// with the model, prints how well it does, and writes DOCS/paper_evaluation.md and DOCS/plots.
int main(int count, char** arguments) {
  constexpr int kBadInput = 2;
  if (count != 4) {
    std::fprintf(stderr, "usage: paper_evaluation TABLES SYSTEMS DOCS\n");
    return kBadInput;
  }
  try {
    const p2::paper::Evaluation evaluation = p2::paper::evaluate(arguments[1], arguments[2]);
    const std::filesystem::path docs = arguments[3];
    for (const auto& [name, svg] : p2::paper::plots(evaluation)) write(docs / "plots" / name, svg);
    write(docs / "paper_evaluation.md", p2::paper::page(evaluation));
    std::fputs(p2::paper::summary_section(evaluation).c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paper_evaluation: %s\n", error.what());
    return kBadInput;
  }
}
