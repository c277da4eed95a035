#include <doctest/doctest.h>

#include "tests/proofs/certificates.h"

using namespace p2;
using namespace p2::proofs;

namespace {

std::size_t number_of_set(json& derivation, const json& set) {
  json& sets = derivation["sets"];
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i] == set) return i;
  }
  sets.push_back(set);
  return sets.size() - 1;
}

/// Records that `device` holds `state`, a list of (chunks, contributors), after `step` steps.
/// Runs of devices are written out for that.
void record(json& derivation, std::size_t step, std::size_t device, const json& state) {
  json numbers = json::array();
  for (const json& set : state) numbers.push_back(number_of_set(derivation, set));
  json& states = derivation["states"];
  auto found = std::find(states.begin(), states.end(), numbers);
  const auto number = static_cast<std::size_t>(found - states.begin());
  if (found == states.end()) states.push_back(numbers);
  json one_by_one = json::array();
  const json system = derivation["systems"][step];
  for (std::size_t i = 0; i < system.size(); i += 2) {
    for (std::size_t n = system[i + 1]; n > 0; --n) {
      one_by_one.insert(one_by_one.end(), {system[i], json(1U)});
    }
  }
  one_by_one[2 * device] = number;
  derivation["systems"][step] = one_by_one;
}

struct Wrong {
  const char* program;
  std::size_t step;
  std::vector<std::size_t> devices;  ///< that the wrong rule leaves in `state`
  const char* state;
  const char* reason;
};

constexpr const char* kScattered = "devices 4\nReduceScatter{0,1,2,3}; AllGather{0,1,2,3}";
constexpr const char* kRooted = "devices 4\nReduce{0,1,2,3}; Broadcast{0,1,2,3}";

const Wrong kWrongs[] = {
    {"devices 4\nAllReduce{0,1,2,3}",
     1,
     {0, 1, 2, 3},
     "[[0,4],[0,3]]",
     "device 0 after step 1 (AllReduce)"},
    {"devices 4\nAllReduce{0,1,2,3}", 1, {2}, "[[0,3],[0,4]]", "device 2 after step 1 (AllReduce)"},
    {"devices 4\nAllReduce{0,1},{2,3}; AllReduce{0,2},{1,3}",
     1,
     {3},
     "[[0,4],[3,4]]",
     "device 3 after step 1 (AllReduce)"},
    {kScattered, 1, {1}, "[[2,3],[0,4]]", "device 1 after step 1 (ReduceScatter)"},
    {kScattered, 1, {2}, "[[2,3],[0,3]]", "device 2 after step 1 (ReduceScatter)"},
    {kScattered, 1, {3}, "[[0,4],[0,4]]", "device 3 after step 1 (ReduceScatter)"},
    {kScattered, 2, {1}, "[[0,3],[0,4]]", "device 1 after step 2 (AllGather)"},
    {kScattered, 2, {3}, "[[0,3],[0,4],[3,4],[0,3]]", "device 3 after step 2 (AllGather)"},
    {kRooted, 1, {2}, "[[0,4],[2,3]]", "device 2 after step 1 (Reduce)"},
    {kRooted, 1, {0}, "[[0,4],[1,4]]", "device 0 after step 1 (Reduce)"},
    {kRooted, 2, {3}, "[]", "device 3 after step 2 (Broadcast)"},
    {kRooted, 2, {1}, "[[0,4],[0,1,2,4]]", "device 1 after step 2 (Broadcast)"},
    {"devices 4\nclasses {0,1},{2},{3}\nAllReduce{0,1}",
     1,
     {2},
     "[[0,4],[2,4]]",
     "device 2 after step 1 (AllReduce)"},
};

/// A program whose last step is refused, and the states of its first devices after that step if the
/// premise is left out.
struct Careless {
  const char* program;
  const char* states;
  const char* reason;
};

const Careless kCareless[] = {
    {"devices 2\nReduceScatter{0,1}; AllReduce{0,1}", "[[[0,2],[0,2]],[[0,2],[0,2]]]",
     "step 2 (AllReduce), group of device 0: same-chunks fails"},
    {"devices 2\nAllReduce{0,1}; Reduce{0,1}", "[[[0,2],[0,2]],[]]",
     "step 2 (Reduce), group of device 0: disjoint fails"},
    {"devices 3\nclasses {0,1},{2}\nReduceScatter{0,1}", "[[[0,2],[0,2]],[[2,3],[0,2]]]",
     "step 1 (ReduceScatter), group of device 0: divisible fails"},
    {"devices 2\nAllReduce{0,1}; AllGather{0,1}", "[]",
     "step 2 (AllGather), group of device 0: disjoint-chunks fails"},
    {"devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2}; AllGather{0,1}",
     "[[[0,1],[0,4],[2,4],[0,2]],[[0,1],[0,4],[2,4],[0,2]]]",
     "step 3 (AllGather), group of device 0: equal-count fails"},
    {"devices 3\nBroadcast{0,1}", "[[[0,3],[0,1]],[[0,3],[0,1]]]",
     "step 1 (Broadcast), group of device 0: contained fails"},
    {"devices 2\nAllReduce{0,1}; Broadcast{0,1}", "[]",
     "step 2 (Broadcast), group of device 0: informative fails"},
    {"devices 2\nReduceScatter{0,1}; Broadcast{0,1}", "[[[0,1],[0,2]],[[0,1],[0,2]]]",
     "step 2 (Broadcast), group of device 0: contained fails"},
    {"hierarchy node=2,gpu=2\naxes data=4\nreduce data\n"
     "Reduce(node, InsideGroup); Reduce(node, Master(root))",
     "[[[0,4],[0,4]],[],[],[]]", "step 2 (Reduce): not allowed with Master"},
    {"hierarchy node=2,gpu=2\naxes data=4\nreduce data\n"
     "Reduce(node, InsideGroup); AllReduce(node, Parallel(root))",
     "[[[0,4],[0,4]],[],[[0,4],[0,4]],[]]",
     "step 2 (AllReduce), group of device 1: empty-group fails"},
};

}  // namespace

TEST_CASE("a derivation by a wrong rule is rejected at the first wrong state") {
  for (const Wrong& wrong : kWrongs) {
    CertificateFiles files = certify(wrong.program);
    REQUIRE(claim_of(files) == "program-valid");
    json derivation = json::parse(files["derivation.json"]);
    for (const std::size_t device : wrong.devices) {
      record(derivation, wrong.step, device, json::parse(wrong.state));
    }
    files["derivation.json"] = derivation.dump();
    reseal("program-valid", files);
    const kernel::Result result = check_certificate(files);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason == std::string(wrong.reason) + ": the recorded state is wrong",
                  result.reason);
  }
}

TEST_CASE("a premise is checked although the states are what the rule without it computes") {
  for (const Careless& careless : kCareless) {
    CertificateFiles files = certify(careless.program);
    REQUIRE(claim_of(files) == "program-invalid");
    json derivation = json::parse(files["derivation.json"]);
    derivation["systems"].push_back(json(derivation["systems"].back()));
    const std::size_t step = derivation["systems"].size() - 1;
    const json states = json::parse(careless.states);
    for (std::size_t d = 0; d < states.size(); ++d) record(derivation, step, d, states[d]);
    files["derivation.json"] = derivation.dump();
    files.erase("refutation.json");
    reseal("program-valid", files);
    const kernel::Result result = check_certificate(files);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason == careless.reason, result.reason);
  }
}

TEST_CASE("the first class does not stand for classes that are not like it") {
  const std::pair<const char*, const char*> forged[] = {
      {"devices 3\nclasses {0},{1,2}\nAllReduce{0},{1}", "symmetry: the classes differ in size"},
      {"devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1}",
       "symmetry: a step forms other groups in another class"},
      {"devices 4\nclasses {0,1},{2,3}\nAllReduce{0,1},{2}",
       "symmetry: a step forms other groups in another class"},
      {"devices 4\nclasses {0,1},{2,3}\nAllReduce{0,3},{1,2}", "symmetry: a group crosses classes"},
  };
  for (const auto& [program, reason] : forged) {
    CertificateFiles files = certify(program);
    REQUIRE(claim_of(files) == "program-invalid");
    const std::string k = std::to_string(json::parse(files["problem.json"])["devices"].get<int>());
    files["derivation.json"] =
        k == "3" ? R"({"symmetry":"classes","sets":[[0,3],[0,1]],"states":[[0,1]],)"
                   R"("systems":[[0,1],[0,1]]})"
                 : R"({"symmetry":"classes","sets":[[0,4],[0,1],[1,2],[0,2]],)"
                   R"("states":[[0,1],[0,2],[0,3]],"systems":[[0,1,1,1],[2,2]]})";
    files.erase("refutation.json");
    reseal("program-valid", files);
    const kernel::Result result = check_certificate(files);
    CHECK(result.verdict == kernel::Verdict::Rejected);
    CHECK_MESSAGE(result.reason == reason, result.reason);
  }
}
