#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "proofs/kernel/input.h"

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kHelp =
    "usage: p2-check DIR… [--problem FILE] [--format text|json]\n"
    "Checks certificates, each a folder written by p2-verify.\n"
    "--problem FILE: only what answers the question of this JSON file is accepted\n"
    "exit codes: 0 accepted, 1 rejected, 2 not a certificate or wrong usage, 3 incomplete;\n"
    "of several certificates the worst counts: 2, then 1, then 3\n";

// By verdict, whose number is the exit code: its word, and how bad it is.
constexpr const char* kWords[] = {"accepted", "rejected", "not-a-certificate", "incomplete"};
constexpr int kBadness[] = {0, 2, 3, 1};

/// A folder's name at the begin of a line: it ends where the first ": " is.
std::string name_of(const std::string& folder) {
  std::string name = p2::kernel::printable(folder);
  for (std::size_t at = name.find(": "); at != std::string::npos; at = name.find(": ")) {
    name.replace(at, 1, "\\u{3a}");
  }
  return name;
}

std::optional<std::string> read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  return file.is_open() && !file.bad() ? std::optional(std::move(bytes)) : std::nullopt;
}

int check_all(const Words& folders, const std::optional<std::string>& question, bool json) {
  std::size_t worst = 0;
  Json results = Json::array();
  for (const std::string& folder : folders) {
    const auto [verdict, reason] = p2::check_folder(folder, question);
    const auto index = static_cast<std::size_t>(verdict);
    if (kBadness[index] > kBadness[worst]) worst = index;
    if (!json) {
      std::cout << name_of(folder) << ": " << kWords[index] << ": " << p2::kernel::printable(reason)
                << std::endl;
    }
    results.push_back({{"certificate", folder}, {"verdict", kWords[index]}, {"reason", reason}});
  }
  constexpr auto kReplace = Json::error_handler_t::replace;
  if (json) std::cout << Json{{"results", results}}.dump(-1, ' ', true, kReplace) << std::endl;
  return std::cout ? static_cast<int>(worst) : 2;
}

int run(Words words) {
  Words folders;
  std::optional<std::string> question;
  bool json = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--help") return std::cout << kHelp, 0;
    if (words[i] == "--version") return std::cout << "p2-check " P2_VERSION "\n", 0;
    if (words[i] == "--format" && i + 1 < words.size()) words[++i].insert(0, "--format=");
    if (words[i] == "--problem" && i + 1 < words.size()) words[++i].insert(0, "--problem=");
    if (words[i].starts_with("--problem=")) {
      const std::string name = words[i].substr(words[i].find('=') + 1);
      question = read_file(name);
      if (!question) return std::cerr << "p2-check: " << name_of(name) << " cannot be read\n", 2;
    } else if (words[i] == "--format=json" || words[i] == "--format=text") {
      json = words[i] == "--format=json";
    } else if (words[i].starts_with("-")) {
      return std::cerr << "p2-check: " << name_of(words[i])
                       << ", expected --problem FILE or --format text|json\n",
             2;
    } else {
      folders.push_back(words[i]);
    }
  }
  if (folders.empty()) return std::cerr << kHelp, 2;
  return check_all(folders, question, json);
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return run({argv + 1, argv + argc});
}
