#include "tests/proofs/examples.h"

#include <algorithm>

namespace p2::proofs {
namespace {

constexpr const char* kPair =
    R"({"devices":2,"classes":[[0,1]],"dialect":"published","steps":[{"collective":"AllReduce","groups":[[0,1]]}]})";
constexpr const char* kPairTwice =
    R"({"devices":2,"classes":[[0,1]],"dialect":"published","steps":[{"collective":"AllReduce","groups":[[0,1]]},
        {"collective":"AllReduce","groups":[[0,1]]}]})";
constexpr const char* kPairStates =
    R"({"symmetry":"none","sets":[[0,2],[0,1],[1,2]],"states":[[0,1],[0,2],[0,0]],
        "systems":[[0,1,1,1],[2,2]]})";

/// Four devices; the sum over `data` is formed by one AllReduce over node.data, which no level of
/// the hierarchy `a` has alone.
constexpr const char* kColumns =
    R"J({"devices":4,"classes":[[0,2],[1,3]],"dialect":"published",
        "hierarchy":[{"name":"node","size":4}],
        "axes":[{"name":"data","size":2},{"name":"shard","size":2}],"reduce":[0],
        "placement":[[2],[2]],"synthesis_hierarchy":"b","to":"a",
        "steps":[{"collective":"AllReduce","slice":"node.data","form":"Parallel(root)",
                  "groups":[[0,2],[1,3]]}]})J";
constexpr const char* kColumnStates =
    R"({"symmetry":"classes","sets":[[0,4],[0,1],[1,2],[0,2]],"states":[[0,1],[0,2],[0,3]],
        "systems":[[0,1,1,1],[2,2]]})";

/// The same system for all sizes: what (b) says of it.
constexpr const char* kColumnsOfAllSizes =
    R"J({"hierarchy":[{"name":"node","size":4}],
        "axes":[{"name":"data","size":2},{"name":"shard","size":2}],"reduce":[0],
        "placement":[[2],[2]],"synthesis_hierarchy":"b")J";

/// The system of the synthesis example, and its five choices.
constexpr const char* kTwoDevices =
    R"({"devices":2,"classes":[[0,1]],"dialect":"published",
        "hierarchy":[{"name":"l0","size":2}],"axes":[{"name":"a0","size":2}],"reduce":[0],
        "placement":[[2]],"synthesis_hierarchy":"collapsed","size":1,
        "choices":[{"slice":"root","form":"InsideGroup","collective":"AllReduce"},
                   {"slice":"root","form":"InsideGroup","collective":"ReduceScatter"},
                   {"slice":"root","form":"InsideGroup","collective":"AllGather"},
                   {"slice":"root","form":"InsideGroup","collective":"Reduce"},
                   {"slice":"root","form":"InsideGroup","collective":"Broadcast"}])";
constexpr const char* kTwoDevicesCnf =
    "p cnf 59 23 | 1 0 | 15 -7 0 | 16 -9 0 | 17 -12 0 | -19 8 0 | -32 22 0 | -32 24 0 | 7 0 | -8 0 "
    "| 9 0 | 12 0 | 33 -1 -15 0 | 34 -33 0 | 37 -34 -16 0 | 38 -37 0 | 2 3 4 5 6 19 0 "
    "| -3 -38 55 -34 0 | -3 -22 -55 0 | -4 -15 -17 0 | -5 -24 0 | -6 -12 8 0 | 32 0 | -2 0";
constexpr const char* kTwoDevicesProof =
    "24 1 0 1 0 | 25 7 0 8 0 | 26 15 0 25 2 0 | 27 -8 0 9 0 | 28 -19 0 27 5 0 | 29 9 0 10 0 "
    "| 30 16 0 29 3 0 | 31 12 0 11 0 | 32 17 0 31 4 0 | 33 33 0 24 26 12 0 | 34 34 0 33 13 0 "
    "| 35 37 0 34 30 14 0 | 36 38 0 35 15 0 | 37 -4 0 26 32 19 0 | 38 -6 0 31 27 21 0 "
    "| 39 32 0 22 0 | 40 22 0 39 6 0 | 41 24 0 39 7 0 | 42 -5 0 41 20 0 | 43 -2 0 23 0 "
    "| 44 3 0 43 37 42 38 28 16 0 | 45 55 0 44 36 34 17 0 | 46 0 40 44 45 18 0";
constexpr const char* kTwoDevicesVarmap =
    "true 1 | picked 0 2 | cells 0 7 | done 0 19 | cells 1 20 | done 1 32";

constexpr const char* kGraph =
    R"({"vertices":[[1,2],[3,0]],"tables":[[[2,0],[0,2]]],"edges":[[0,1,0]]})";
constexpr const char* kStrategy = R"({"configurations":[0,1],"cost":1})";

constexpr const char* kSchedule =
    R"({"tasks":[{"size":3,"sender_hosts":[0,1],"receiver_hosts":[0],"sender":0,"start":0},
                 {"size":2,"sender_hosts":[0,1],"receiver_hosts":[1],"sender":1,"start":0},
                 {"size":2,"sender_hosts":[0,1],"receiver_hosts":[2],"sender":1,"start":2}],
        "makespan":4})";

}  // namespace

std::string lines(std::string text) {
  for (std::size_t at = text.find(" | "); at != std::string::npos; at = text.find(" | ")) {
    text.replace(at, 3, "\n");
  }
  return text + "\n";
}

Example sealed(const std::string& claim, CertificateFiles files) {
  reseal(claim, files);
  return {claim, std::move(files)};
}

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      sealed("program-valid", {{"problem.json", kPair}, {"derivation.json", kPairStates}}),
      sealed("program-invalid",
             {{"problem.json", kPairTwice},
              {"derivation.json", kPairStates},
              {"refutation.json", R"({"step":2,"rule":"disjoint","group":[0,1]})"}}),
      sealed("not-expressible", {{"problem.json", kColumns}, {"derivation.json", kColumnStates}}),
      sealed("expressible-all-sizes",
             {{"problem.json", std::string(kColumnsOfAllSizes) + R"(,"to":"d","size":5})"}}),
      sealed(
          "unused-all-sizes",
          {{"problem.json",
            std::string(kColumnsOfAllSizes) +
                R"J(,"uses":[{"collective":"Broadcast","slice":"node.data","form":"Parallel(root)"}],"size":1})J"}}),
      sealed("synthesis-complete",
             {{"problem.json", std::string(kTwoDevices) + R"(,"programs":[[0]]})"},
              {"problem.cnf", lines(kTwoDevicesCnf)},
              {"varmap", lines(kTwoDevicesVarmap)},
              {"proof.lrat", lines(kTwoDevicesProof)}}),
      sealed(
          "cheapest",
          {{"problem.json",
            R"({"devices":2,"classes":[[0,1]],"dialect":"published","uplinks":[],"among":"all","programs":[)" +
                std::string(kPair) + "]}"},
           {"potential.json",
            R"({"states":[],"ratios":[{"alpha":0,"beta":1,"potential":[]},{"alpha":1,"beta":0,"potential":[]}]})"}}),
      sealed("strategy-optimal", {{"problem.json", kGraph},
                                  {"strategy.json", kStrategy},
                                  {"bound.json", R"({"removals":[[1,0,1]],"order":[0,1]})"}}),
      sealed("strategy-optimal-clauses",
             {{"problem.json", kGraph},
              {"strategy.json", kStrategy},
              {"sums.json", R"({"additions":[[0],[3,2],[1],[5,4]],"sums":[[1],[1],[0],[1]]})"},
              {"problem.cnf", lines("p cnf 8 10 | 1 0 | 2 3 0 | 4 5 0 | -2 6 0 | -3 6 0 "
                                    "| -2 -4 7 0 | -6 -2 -5 7 0 | -6 -3 -4 7 0 | -3 -5 7 0 "
                                    "| -7 -1 0")},
              {"proof.lrat", lines("11 -7 0 1 10 0 | 12 -4 -2 0 11 6 0 | 13 -2 0 11 4 12 3 7 0 "
                                   "| 14 0 11 13 2 5 8 9 3 0")}}),
      sealed("reshard-schedule", {{"schedule.json", kSchedule},
                                  {"bound.json", R"({"tasks":[0,1,2],"senders":[0,1]})"}}),
      sealed("reshard-schedule-gap",
             {{"schedule.json", kSchedule},
              {"bound.json", R"({"tasks":[0,1,2],"senders":[0,1],"least":3})"}}),
      sealed("pipeline-memory",
             {{"pipeline.json",
               R"({"stages":2,"microbatches":2,"forward":1,"backward":1,"latency":0,"makespan":6,
                   "forwards":[[0,1],[1,3]],"backwards":[[3,5],[2,4]]})"},
              {"cases.json", R"({"cases":[[],[]]})"}}),
      sealed("reshard-plan", {{"plan.json",
                               R"({"dimensions":1,"has":[[0,4],[0,0]],"needs":[[0,0],[0,4]],
            "programs":[[[[1,1,0,2],[1,1,2,4]]],[[[0,0,0,2]],[[0,0,2,4]]]]})"}}),
      sealed("reshard-plan-wrong", {{"plan.json",
                                     R"({"dimensions":1,"has":[[0,4],[0,0]],"needs":[[0,0],[0,4]],
            "programs":[[[[1,1,0,2]]],[[[0,0,0,2]]]]})"}})};
  return all;
}

CertificateFiles example(const std::string& claim) {
  return std::ranges::find(examples(), claim, &Example::claim)->files;
}

}  // namespace p2::proofs
