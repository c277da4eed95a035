#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = P2_SOURCE_DIR;

using Rooms = std::map<std::string, std::set<std::string>>;

Rooms allowed_includes() {
  Rooms rooms;
  std::ifstream file(kRoot / "tests/architecture/allowed_includes.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(':');
    auto& allowed = rooms[line.substr(0, colon)];
    std::istringstream names(line.substr(colon + 1));
    for (std::string name; names >> name;) allowed.insert(name);
  }
  return rooms;
}

std::set<std::string> includes_of(const fs::path& path, char opening) {
  std::set<std::string> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string prefix = std::string("#include ") + opening;
    if (line.rfind(prefix, 0) != 0) continue;
    const std::size_t end = line.find(opening == '"' ? '"' : '>', prefix.size());
    found.insert(line.substr(prefix.size(), end - prefix.size()));
  }
  return found;
}

bool is_source(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".cpp";
}

template <typename Visit>
void for_each_source(Visit visit) {
  for (const char* top : {"engine", "encodings", "proofs", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      visit(entry.path(), fs::relative(entry.path().parent_path(), kRoot).generic_string());
    }
  }
}

}  // namespace

TEST_CASE("every room includes only from the rooms it may") {
  const Rooms rooms = allowed_includes();
  std::size_t checked = 0;
  for_each_source([&](const fs::path& path, const std::string& room) {
    if (room == "engine") return;
    REQUIRE_MESSAGE(rooms.contains(room), "no room is called ", room);
    for (const std::string& include : includes_of(path, '"')) {
      const std::string from = fs::path(include).parent_path().generic_string();
      if (from.empty() || from == "engine" || from == room) continue;
      CHECK_MESSAGE(rooms.at(room).contains(from), path.string(), " includes ", include);
      ++checked;
    }
  });
  CHECK(checked > 20);
}

TEST_CASE("the engine includes no solver header") {
  for_each_source([&](const fs::path& path, const std::string& room) {
    if (room.rfind("engine", 0) != 0) return;
    for (const std::string& include : includes_of(path, '<')) {
      const bool solver =
          include.find("z3") != std::string::npos || include.find("cadical") != std::string::npos;
      CHECK_MESSAGE(!solver, path.string(), " includes ", include);
    }
  });
}

TEST_CASE("the arrows between rooms form no cycle") {
  Rooms rooms = allowed_includes();
  std::size_t left = rooms.size() + 1;
  while (!rooms.empty() && rooms.size() < left) {
    left = rooms.size();
    for (auto room = rooms.begin(); room != rooms.end();) {
      const bool bottom =
          std::none_of(room->second.begin(), room->second.end(),
                       [&](const std::string& below) { return rooms.contains(below); });
      room = bottom ? rooms.erase(room) : std::next(room);
    }
  }
  CHECK(rooms.empty());
}

namespace {

/// Lines of p2-check that are neither empty nor comments.
template <typename Counts>
std::size_t checker_lines(Counts counts) {
  std::size_t lines = 0;
  for_each_source([&](const fs::path& path, const std::string& room) {
    if (room != "proofs/kernel" && room != "proofs/check") return;
    if (!counts(path.filename().string())) return;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin != std::string::npos && line.compare(begin, 2, "//") != 0) ++lines;
    }
  });
  return lines;
}

}  // namespace

TEST_CASE(
    "p2-check is small enough to be read: under 1,500 lines for programs, 350 for their costs, 420 "
    "for strategies, 320 for resharding, 200 for pipelines") {
  const auto strategies = [](const std::string& name) { return name.starts_with("strategy"); };
  const auto reshards = [](const std::string& name) { return name.starts_with("reshard"); };
  const auto costs = [](const std::string& name) { return name.starts_with("cost"); };
  const auto pipelines = [](const std::string& name) { return name.starts_with("pipeline"); };
  // The table of all claims belongs to none of them.
  const auto programs = [&](const std::string& name) {
    return !strategies(name) && !reshards(name) && !costs(name) && !pipelines(name) &&
           name != "claims.cpp";
  };
  CHECK(checker_lines(costs) > 100);
  CHECK(checker_lines(costs) < 350);
  CHECK(checker_lines(strategies) > 100);
  CHECK(checker_lines(strategies) < 420);  // two ways to prove: elimination and clauses
  CHECK(checker_lines(reshards) > 100);
  CHECK(checker_lines(reshards) < 320);
  CHECK(checker_lines(pipelines) > 100);
  CHECK(checker_lines(pipelines) < 200);
  CHECK(checker_lines(programs) > 500);
  CHECK(checker_lines(programs) < 1500);
}
