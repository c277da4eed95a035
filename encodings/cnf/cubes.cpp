// Cube and conquer: by solvers on threads, or by others, with DIMACS out and LRAT or DRAT in.
#include "encodings/cnf/drat_to_lrat.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "p2/error.h"
#include "p2/json.h"

namespace p2::cnf {
namespace {

/// A solver on clauses, with its proof.
class Conquest {
 public:
  Conquest(std::span<const Literal> clauses, const Limits& limits) : solver_(limits) {
    solver_.write_proof(trace_);
    solver_.add(clauses);
  }

  /// Whether there is a model with one of the cubes, one after the other. A cube that is refuted
  /// is a unit clause of the proof: it follows without the cubes before it.
  bool possible_with(std::span<const Literal> cubes) {
    for (const Literal cube : cubes) {
      if (solver_.possible(cube)) return true;
    }
    solver_.finish_proof();
    return false;
  }
  /// Whether there is a model with none of the cubes.
  bool possible_without(std::span<const Literal> cubes) {
    for (const Literal cube : cubes) solver_.exclude(std::span(&cube, 1));
    if (solver_.possible()) return true;
    solver_.finish_proof();
    return false;
  }

  const Solver& solver() const { return solver_; }
  const DratTrace& trace() const { return trace_; }

 private:
  DratTrace trace_;
  Solver solver_;
};

Decided decide_on_threads(const Clauses& clauses, std::span<const Literal> cubes, unsigned parts,
                          const Limits& limits) {
  if (parts <= 1) cubes = {};
  const std::size_t count = std::min<std::size_t>(parts, cubes.size());
  std::vector<std::unique_ptr<Conquest>> conquests(count + 1);
  std::vector<char> found(count);
  // A question waits for its own parts, not for those of others.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        std::size_t{0}, count,
        [&](std::size_t i) {
          const std::size_t begin = i * cubes.size() / count;
          const std::size_t end = (i + 1) * cubes.size() / count;
          conquests[i] = std::make_unique<Conquest>(clauses.literals(), limits);
          found[i] = conquests[i]->possible_with(cubes.subspan(begin, end - begin)) ? 1 : 0;
        },
        tbb::simple_partitioner());
  });
  // The first part that has a model, so that the answer does not depend on threads.
  for (std::size_t i = 0; i < count; ++i) {
    if (found[i] != 0) return Model(conquests[i]->solver(), clauses.variables());
  }
  conquests[count] = std::make_unique<Conquest>(clauses.literals(), limits);
  if (conquests[count]->possible_without(cubes)) {
    return Model(conquests[count]->solver(), clauses.variables());
  }
  std::vector<const DratTrace*> traces;
  traces.reserve(conquests.size());
  for (const auto& each : conquests) traces.push_back(&each->trace());
  return clause_proof(clauses, traces, limits);
}

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "p2-cubes/1";
constexpr std::size_t kMaxNamed = 3;  // missing proofs in a message

std::string name_of(std::size_t cube, std::string_view extension) {
  return fmt::format("cube-{}.{}", cube + 1, extension);
}

/// FNV-1a of the literals: tells the formula of another question from this one.
std::uint64_t fingerprint(std::span<const Literal> literals) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const Literal literal : literals) {
    hash = (hash ^ static_cast<std::uint32_t>(literal)) * 0x100000001b3U;
  }
  return hash;
}

std::string manifest(const Clauses& clauses, std::span<const Literal> cubes) {
  Json::Array list;
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    list.push_back(Json::object().add("file", name_of(i, "cnf")).add("literal", cubes[i]));
  }
  return Json::object()
      .add("schema", kSchema)
      .add("variables", clauses.variables())
      .add("clauses", std::count(clauses.literals().begin(), clauses.literals().end(), 0) + 1)
      .add("fingerprint", fmt::format("{:016x}", fingerprint(clauses.literals())))
      .add("cubes", Json::array(std::move(list)))
      .document();
}

void write(const fs::path& path, std::initializer_list<std::string_view> parts) {
  std::ofstream file(path, std::ios::binary);
  for (const std::string_view part : parts) file << part;
  file.close();
  if (!file) throw InputError({path.string()}, "cannot be written, expected a writable folder");
}

/// Throws InputError unless the folder is new, empty, or of cubes, of which it removes the formulas
/// and proofs: no proof stays beside a formula that it is not of.
void clear(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!fs::is_directory(folder)) {
    throw InputError({folder.string()}, "cannot be written, expected a folder for cubes");
  }
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "manifest.json" && !name.starts_with("cube-")) {
      throw InputError({entry.path().string()}, "is not a cube, expected a folder for cubes alone");
    }
    ours.push_back(entry.path());
  }
  for (const fs::path& path : ours) fs::remove(path);
}

/// A proof, step by step: as text, or in the binary form in which a step is `a` or `d` and numbers
/// up to 0, of 7 bits a byte, the lowest of them the sign.
class ProofReader {
 public:
  ProofReader(std::string path, std::int32_t variables, Literal cube, const DratTrace& trace)
      : path_(std::move(path)),
        file_(path_, std::ios::binary),
        variables_(variables),
        cube_(cube),
        trace_(trace) {}

  void read() {
    const bool is_lrat = path_.ends_with(".lrat");
    if (is_binary()) {
      while (file_.peek() != std::ifstream::traits_type::eof()) read_binary(is_lrat);
    }
    for (std::string line; std::getline(file_, line);) {
      ++number_;
      rest_ = line;
      if (rest_.starts_with('c') || rest_.find_first_not_of(" \r\t") == std::string::npos) continue;
      if (is_lrat) {
        read_lrat();
      } else {
        read_drat();
      }
    }
    if (!refuted_) {
      throw InputError({path_},
                       "has no empty clause, expected the whole proof that the cube is refuted");
    }
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw InputError({path_, number_, 1}, fmt::format("expected {}", expected));
  }
  [[noreturn]] void fail_in_binary(const char* expected) const {
    throw InputError({path_}, fmt::format("byte {}: expected {}", bytes_, expected));
  }

  /// Numbers of text begin with a digit or a sign, and no text has a byte 0, which ends the first
  /// step of any binary proof.
  bool is_binary() {
    constexpr std::size_t kFirstStep = 1 << 16;
    std::string begin(kFirstStep, ' ');
    file_.read(begin.data(), static_cast<std::streamsize>(kFirstStep));
    begin.resize(static_cast<std::size_t>(file_.gcount()));
    file_.clear();
    file_.seekg(0);
    return begin.starts_with('a') || begin.find('\0') != std::string::npos;
  }

  void read_binary(bool is_lrat) {
    const int kind = file_.get();
    ++bytes_;
    if (kind != 'a' && kind != 'd') fail_in_binary("a step, `a` or `d`");
    if (!is_lrat) {
      add(kind == 'a', binary_clause());
    } else if (kind == 'a') {
      const auto step = static_cast<std::uint64_t>(binary_number());
      learn(step, binary_clause());
      while (binary_number() != 0) {
      }
    } else {
      for (std::int64_t step = binary_number(); step != 0; step = binary_number()) {
        forget(static_cast<std::uint64_t>(step));
      }
    }
  }

  std::int64_t binary_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const int byte = file_.get();
      ++bytes_;
      if (byte == std::ifstream::traits_type::eof()) fail_in_binary("a number");
      if (shift > 56) fail_in_binary("a number below 2^62");
      value |= (static_cast<std::uint64_t>(byte) & 0x7FU) << shift;
      if ((static_cast<unsigned>(byte) & 0x80U) == 0) break;
    }
    const auto magnitude = static_cast<std::int64_t>(value >> 1U);
    return (value & 1U) == 0 ? magnitude : -magnitude;
  }

  std::vector<Literal> binary_clause() {
    std::vector<Literal> literals;
    for (std::int64_t literal = binary_number(); literal != 0; literal = binary_number()) {
      if (literal < -variables_ || literal > variables_) {
        fail_in_binary("a literal of the formula's variables");
      }
      literals.push_back(static_cast<Literal>(literal));
    }
    return literals;
  }

  std::string_view word() {
    const std::size_t begin = std::min(rest_.find_first_not_of(" \r\t"), rest_.size());
    const std::size_t end = std::min(rest_.find_first_of(" \r\t", begin), rest_.size());
    const std::string_view found = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return found;
  }

  template <typename Number>
  Number number(std::string_view text, const char* expected) const {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) fail(expected);
    return value;
  }

  /// The literals up to 0, the first of which may have been read.
  std::vector<Literal> clause(std::string_view first) {
    constexpr const char* kExpected = "literals of the formula's variables and 0";
    std::vector<Literal> literals;
    for (std::string_view text = first;; text = word()) {
      const auto literal = number<Literal>(text, kExpected);
      if (literal == 0) return literals;
      if (literal < -variables_ || literal > variables_) fail(kExpected);
      literals.push_back(literal);
    }
  }

  void add(bool learnt, const std::vector<Literal>& literals) {
    refuted_ = refuted_ || (learnt && literals.empty());
    // Where the cube holds anyway there is nothing to say.
    if (std::ranges::find(literals, cube_) != literals.end()) return;
    std::vector<Literal> under_cube = literals;
    if (std::ranges::find(literals, -cube_) == literals.end()) under_cube.push_back(-cube_);
    trace_.add(learnt, under_cube);
  }

  void read_drat() {
    const std::string_view first = word();
    const bool deletes = first == "d";
    add(!deletes, clause(deletes ? word() : first));
  }

  void read_lrat() {
    constexpr const char* kExpected = "the number of a step";
    const auto step = number<std::uint64_t>(word(), kExpected);
    const std::string_view next = word();
    if (next != "d") {
      learn(step, clause(next));
      return;
    }
    while (true) {
      const auto deleted = number<std::uint64_t>(word(), kExpected);
      if (deleted == 0) return;
      forget(deleted);
    }
  }

  // Steps of LRAT, by number.
  void learn(std::uint64_t step, std::vector<Literal> literals) {
    add(true, literals);
    learnt_[step] = std::move(literals);
  }
  void forget(std::uint64_t step) {
    const auto found = learnt_.find(step);
    if (found == learnt_.end()) return;  // a clause of the formula
    add(false, found->second);
    learnt_.erase(found);
  }

  std::string path_;
  std::ifstream file_;
  std::int32_t variables_;
  Literal cube_;
  const DratTrace& trace_;
  std::size_t number_ = 0;  // of the line
  std::size_t bytes_ = 0;   // read, of a binary proof
  std::string_view rest_;   // of the line
  bool refuted_ = false;
  std::unordered_map<std::uint64_t, std::vector<Literal>> learnt_;  // by step, of LRAT
};

}  // namespace

void write_cubes(const std::string& folder, const Clauses& clauses,
                 std::span<const Literal> cubes) {
  const fs::path path = folder;
  clear(path);
  std::string body;
  for (const Literal literal : clauses.literals()) {
    fmt::format_to(std::back_inserter(body), FMT_STRING("{}{}"), literal,
                   literal == 0 ? '\n' : ' ');
  }
  const std::string head =
      fmt::format("p cnf {} {}\n", clauses.variables(), std::ranges::count(body, '\n') + 1);
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    write(path / name_of(i, "cnf"), {head, body, fmt::format("{} 0\n", cubes[i])});
  }
  write(path / "manifest.json", {manifest(clauses, cubes)});
}

namespace {

/// Appends the proofs in the folder to `trace`.
void read_cube_proofs(const std::string& folder, const Clauses& clauses,
                      std::span<const Literal> cubes, const DratTrace& trace) {
  const fs::path path = folder;
  const std::string index = (path / "manifest.json").string();
  if (nlohmann::json::parse(read_file(index), nullptr, false) !=
      nlohmann::json::parse(manifest(clauses, cubes))) {
    throw InputError({index},
                     "is of the cubes of another question, expected those of this command");
  }
  std::vector<std::string> proofs;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    const bool is_lrat = fs::is_regular_file(path / name_of(i, "lrat"));
    proofs.push_back((path / name_of(i, is_lrat ? "lrat" : "drat")).string());
    if (!fs::is_regular_file(proofs.back())) missing.push_back(name_of(i, "lrat"));
  }
  if (!missing.empty()) {
    const std::size_t named = std::min(missing.size(), kMaxNamed);
    throw InputError(
        {folder},
        fmt::format(
            "{} of {} proofs are missing ({}{}), expected LRAT or DRAT of every cube",
            missing.size(), cubes.size(),
            fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(named), ", "),
            named < missing.size() ? ", …" : ""));
  }
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    ProofReader(proofs[i], clauses.variables(), cubes[i], trace).read();
  }
}

/// The manifest, checked as far as its cubes go.
nlohmann::json read_manifest(const std::string& folder) {
  const std::string path = (fs::path(folder) / "manifest.json").string();
  nlohmann::json found = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!found.is_object() || found.value("schema", nlohmann::json()) != kSchema ||
      !found.value("cubes", nlohmann::json()).is_array()) {
    throw InputError({path}, "is no manifest of cubes, expected what --cubes has written");
  }
  return found;
}

/// A formula of write_cubes: clauses, each ended by 0.
std::vector<Literal> read_dimacs(const std::string& path) {
  std::istringstream text(read_file(path));
  std::string p;
  std::string cnf;
  std::int64_t variables = 0;
  std::int64_t clauses = 0;
  std::vector<Literal> literals;
  if (text >> p >> cnf >> variables >> clauses && p == "p" && cnf == "cnf") {
    for (Literal literal = 0; text >> literal;) {
      if (literal < -variables || literal > variables) break;
      literals.push_back(literal);
      clauses -= literal == 0 ? 1 : 0;
    }
  }
  if (!text.eof() || clauses != 0 || literals.empty() || literals.back() != 0) {
    throw InputError({path}, "is not whole, expected a formula in DIMACS as --cubes writes it");
  }
  return literals;
}

Decided decide_by_proofs(const Clauses& clauses, std::span<const Literal> cubes,
                         const std::string& folder, const Limits& limits) {
  const DratTrace proofs;
  read_cube_proofs(folder, clauses, cubes, proofs);
  Conquest others(clauses.literals(), limits);
  if (others.possible_without(cubes)) return Model(others.solver(), clauses.variables());
  const std::vector<const DratTrace*> traces = {&proofs, &others.trace()};
  try {
    return clause_proof(clauses, traces, limits);
  } catch (const ToolError& error) {
    throw InputError({folder}, fmt::format("the proofs of the cubes prove nothing ({}), expected "
                                           "refutations by resolution, without RAT",
                                           error.what()));
  }
}

}  // namespace

Decided decide(const Clauses& clauses, std::span<const Literal> cubes, unsigned parts,
               const std::optional<std::string>& refuted_in, const Limits& limits) {
  return refuted_in ? decide_by_proofs(clauses, cubes, *refuted_in, limits)
                    : decide_on_threads(clauses, cubes, parts, limits);
}

CubeFolder read_cube_folder(const std::string& folder) {
  const nlohmann::json manifest = read_manifest(folder);
  return {manifest.at("cubes").size(), manifest.value("fingerprint", std::string())};
}

bool refute_cube(const std::string& folder, std::size_t cube, const Limits& limits) {
  const fs::path path = folder;
  const fs::path proof = path / name_of(cube - 1, "drat");
  if (fs::exists(proof) || fs::exists(path / name_of(cube - 1, "lrat"))) return true;
  Conquest conquest(read_dimacs((path / name_of(cube - 1, "cnf")).string()), limits);
  if (conquest.possible_without({})) return false;
  const std::string failure = write_whole_file(proof.string(), [&](std::ostream& file) {
    conquest.trace().for_each([&](bool learnt, std::span<const Literal> clause) {
      file << (learnt ? "" : "d ") << fmt::format("{}", fmt::join(clause, " "))
           << (clause.empty() ? "0\n" : " 0\n");
      return file.good();
    });
  });
  if (!failure.empty()) {
    throw InputError({proof.string()},
                     failure + ", expected a writable folder with room for a proof");
  }
  return true;
}

}  // namespace p2::cnf
