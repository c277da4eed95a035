#include "tests/proofs/certificates.h"

#include <algorithm>

#include "tests/synthesis/brute_force.h"

namespace p2::proofs {
namespace {

constexpr const char* kPrograms[] = {
    "devices 2\nAllReduce{0,1}",
    "devices 1\nskip",
    "devices 4\nclasses {0,1},{2,3}\nReduce{2,3}; Broadcast{1,3}; Reduce{0,3}; "
    "Broadcast{0,1},{2,3}",
    "devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,2},{1,3}; AllGather{0,1},{2,3}",
    "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nReduce(node, InsideGroup); AllReduce(node, "
    "Master(root)); Broadcast(node, InsideGroup)",
    "hierarchy node=2,gpu=4\naxes data=4,shard=2\nreduce data\nplacement [[2,2],[1,2]]\n"
    "ReduceScatter(node, InsideGroup); AllReduce(node, Parallel(root)); AllGather(node, "
    "InsideGroup)",
    "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nsynthesis-hierarchy lattice\n"
    "Reduce({gpu.data}, Parallel); AllReduce({node.data}, Master({gpu.data})); "
    "Broadcast({gpu.data}, Parallel)",
    "hierarchy node=2,gpu=2\naxes data=2,shard=2\nreduce shard\nplacement [[2,1],[1,2]]\n"
    "synthesis-hierarchy c\nAllReduce(gpu.data, InsideGroup)",
    // Refused, by every rule there is.
    "devices 4\nReduceScatter{0,1},{2,3}; AllReduce{0,1}",
    "devices 4\nAllReduce{0,1},{2,3}; Reduce{0,1}",
    "devices 3\nReduceScatter{0,1}; AllGather{0,1}",
    "devices 2\nAllGather{0,1}",
    "devices 4\nReduceScatter{0,1},{2,3}; ReduceScatter{0,2}; AllGather{0,1}",
    "devices 3\nBroadcast{0,1,2}",
    "devices 2\nAllReduce{0,1}; Broadcast{0,1}",
    "devices 3\nclasses {0,1},{2}\nAllReduce{0,1,2}",
    "devices 4\nReduce{0,1},{2,3}; Reduce{0,2}",
    // States whose pieces are cut differently are added up.
    "devices 6\nAllReduce{0,1}; ReduceScatter{2,3},{4,5}; AllGather{2,5}; AllReduce{0,2}",
    "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nReduce(node, InsideGroup); Reduce(node, "
    "Master(root)); Broadcast(node, InsideGroup)",
    "hierarchy node=2,gpu=2\naxes data=4\nreduce data\nReduce(node, InsideGroup); AllReduce(node, "
    "Parallel(root))",
    "hierarchy node=2,gpu=2\naxes data=2,shard=2\nreduce data\nplacement [[2,1],[1,2]]\n"
    "AllReduce(root, InsideGroup); AllReduce(root, InsideGroup)",
};

bool legal(const Step& step, Dialect dialect, brute_force::Matrices& state) {
  if (step.shape && dialect == Dialect::Published && step.shape->pattern.pinned != 0 &&
      step.collective != Collective::AllReduce) {
    return false;
  }
  return std::all_of(step.groups.begin(), step.groups.end(), [&](const Group& group) {
    const bool empty = std::all_of(group.begin(), group.end(), [&](std::uint32_t device) {
      return state[device] == std::vector<std::uint64_t>(state.size(), 0);
    });
    return !(step.shape && empty) && brute_force::apply(step.collective, group, state);
  });
}

bool is_valid(const ProgramFile& file) {
  const std::uint32_t devices = file.program.devices;
  brute_force::Matrices state(devices);
  brute_force::Matrices goal(devices);
  for (std::uint32_t d = 0; d < devices; ++d) state[d].assign(devices, std::uint64_t{1} << d);
  for (const Group& members : file.program.classes) {
    std::uint64_t sum = 0;
    for (const std::uint32_t device : members) sum |= std::uint64_t{1} << device;
    for (const std::uint32_t device : members) goal[device].assign(devices, sum);
  }
  for (const Step& step : file.program.steps) {
    if (!legal(step, file.dialect, state)) return false;
  }
  return state == goal;
}

}  // namespace

CertificateFiles certify(const ProgramFile& file) {
  StateTable states(file.program.devices);
  return program_certificate(file, check(file.program, file.dialect, states), {});
}

CertificateFiles certify(const std::string& text) {
  return certify(read_program("test", text, {}));
}

void reseal(const std::string& claim, CertificateFiles& files) { add_manifest(claim, {}, files); }

std::string claim_of(const CertificateFiles& files) {
  return json::parse(files.at("manifest.json"))["claim"];
}

kernel::Result check_changed(CertificateFiles files, const std::string& key, const json& value) {
  json problem = json::parse(files["problem.json"]);
  problem[key] = value;
  files["problem.json"] = problem.dump();
  reseal(claim_of(files), files);
  return check_certificate(files);
}

bool is_true(const std::string& claim, const std::string& problem) {
  try {
    const ProgramFile file = read_program("problem.json", problem, {});
    if (file.program.devices > 64) return false;
    return is_valid(file) ? claim == "program-valid" : claim == "program-invalid";
  } catch (const InputError&) {
    return false;
  }
}

std::vector<CertificateFiles> small_certificates() {
  std::vector<CertificateFiles> all;
  for (const char* text : kPrograms) all.push_back(certify(text));
  return all;
}

}  // namespace p2::proofs
