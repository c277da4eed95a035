#include <new>

#include "proofs/kernel/completeness.h"
#include "proofs/kernel/derivation.h"

namespace p2::kernel {
namespace {

std::string in_words(const Problem& problem, const std::string& verdict) {
  return "the program is " + verdict + " (" + std::to_string(problem.devices) + " devices, " +
         std::to_string(problem.steps.size()) + (problem.steps.size() == 1 ? " step" : " steps") +
         ", dialect " + (problem.published ? "published" : "printed") + ")";
}

std::string judge_valid(const Files& files) {
  Budget budget;
  const Problem problem = read_problem(files, budget);
  Derivation derivation(files, problem, budget);
  if (derivation.steps() != problem.steps.size()) reject("the derivation ends before the program");
  if (!derivation.system().at_goal(derivation.stage().classes)) reject("the goal is missed");
  return in_words(problem, "valid");
}

std::string judge_invalid(const Files& files) {
  Budget budget;
  const Problem problem = read_problem(files, budget);
  Derivation derivation(files, problem, budget);
  return in_words(problem, "invalid: " + check_refutation(files, problem, derivation));
}

/// The kinds of claims: the files of each beside the manifest, and who judges it. A judge returns
/// the claim in words, or objects.
struct Kind {
  const char* claim;
  std::vector<std::string> files;
  std::string (*judge)(const Files&);
};

const Kind kKinds[] = {
    {"program-valid", {"problem.json", "derivation.json"}, judge_valid},
    {"program-invalid", {"problem.json", "derivation.json", "refutation.json"}, judge_invalid},
    {"synthesis-complete",
     {"problem.json", "problem.cnf", "varmap", "proof.lrat"},
     judge_completeness},
};

/// The manifest's seal is the hash of its own bytes with the digits of the seal replaced by zeros.
void check_seal(std::string manifest, const std::string& seal) {
  const std::size_t at = manifest.find(seal);
  if (seal.size() != 64 || at == std::string::npos) malformed("manifest.json: its seal is no hash");
  manifest.replace(at, seal.size(), seal.size(), '0');
  if (sha256(manifest) != seal) reject("manifest.json is not what its seal says");
}

/// Checks form and hashes of the folder; returns the kind of its claim.
const Kind& check_manifest(const Files& files) {
  if (!files.contains("manifest.json")) malformed("there is no manifest.json");
  const Json root = parse_json(files, "manifest.json");
  expect_object(root, "manifest.json",
                {"schema", "claim", "tools", "seed", "options", "files", "seal"});
  if (root["schema"] != "p2-certificate/1") malformed("schema is not p2-certificate/1");
  for (const char* key : {"tools", "options", "files"}) {
    if (!root[key].is_object()) malformed(std::string(key) + " is not an object");
    for (const Json& value : root[key]) expect_text(value, std::string("a value of ") + key);
  }
  if (!root["seed"].is_number_unsigned()) malformed("seed is not a number");
  check_seal(files.at("manifest.json"), expect_text(root["seal"], "seal"));
  const std::string& claim = expect_text(root["claim"], "claim");
  for (const Kind& kind : kKinds) {
    if (claim != kind.claim) continue;
    expect_object(root["files"], "files", kind.files);
    if (files.size() != kind.files.size() + 1) malformed("the folder has a file too many");
    for (const std::string& name : kind.files) {
      if (!files.contains(name)) malformed(name + " is missing");
      if (root["files"][name] != sha256(files.at(name))) reject(name + " has another hash");
    }
    return kind;
  }
  malformed("claim is unknown");
}

}  // namespace

Result check_certificate(const Files& files) try {
  return {Verdict::Accepted, check_manifest(files).judge(files)};
} catch (const Objection& objection) {
  return {objection.verdict, objection.what()};
} catch (const std::bad_alloc&) {
  return {Verdict::Incomplete, "out of memory"};
}

Result check_folder(const std::string& path) try {
  return check_certificate(read_folder(path));
} catch (const Objection& objection) {
  return {objection.verdict, objection.what()};
} catch (const std::bad_alloc&) {
  return {Verdict::Incomplete, "out of memory"};
}

}  // namespace p2::kernel
