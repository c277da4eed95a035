#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/hlo/module_relation.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"
#include "proofs/kernel/xla/relation.h"

/// Pairs of modules for certificates by a relation at every node.
namespace p2::hlo {

/// A module that is not partitioned, one that four devices run, on axes a and b of two each, and
/// how inputs and outputs are held: a letter for every dimension, `.` where it is not cut, and
/// `+a` where the whole is a sum over an axis; separated by spaces, `->` before the outputs.
struct Pair {
  std::string before;
  std::string after;
  std::string held;
  std::string computations_before = {};
  std::string computations_after = {};
};

/// The relation of a pair, for --relate, from `held`.
std::string relation_json(const std::string& held);
std::string whole(const Pair& pair);
std::string local(const Pair& pair);

/// The certificate by the shardings that the modules have, or why there is none.
std::variant<CertificateFiles, std::string> related_by_shardings(const CertifiedModules& modules,
                                                                 const Devices& devices);
/// The certificate, or why there is none.
std::variant<CertificateFiles, std::string> related(const std::string& before,
                                                    const std::string& after,
                                                    const std::string& relation,
                                                    int partitions = 4);
/// What executing the modules says of the problem: Accepted, Rejected where a run differs, or
/// Incomplete.
kernel::Verdict executed(const CertificateFiles& files);
/// Accepted if the pair has a certificate, which execution has to confirm; else Incomplete.
kernel::Verdict verdict_of(const Pair& pair);
/// What stands otherwise in the module that devices run: the first occurrence of `from`.
struct Change {
  std::size_t pair = 0;
  const char* from = nullptr;
  const char* to = nullptr;
};
/// Checks that all pairs have certificates, and none of them has one after a change.
void check_related(const std::vector<Pair>& pairs, const std::vector<Change>& changes);

// The attributes of a collective along an axis.
constexpr const char* kAlongA =
    "replica_groups={{0,2},{1,3}}, channel_id=1, "
    "use_global_device_ids=true";
constexpr const char* kAlongB =
    "replica_groups={{0,1},{2,3}}, channel_id=1, "
    "use_global_device_ids=true";

/// Right pairs with loops and all-to-alls.
std::vector<Pair> loop_pairs();
/// Right pairs with other layouts, and with what a compiler expands or joins.
std::vector<Pair> moved_pairs();
/// Right pairs as compilers write them after the partitioner.
std::vector<Pair> compiled_pairs();
/// Right pairs of look-ups at tables of indices that are data.
std::vector<Pair> looked_up_pairs();
/// Right pairs, these among them: of every rule a case to which it applies.
std::vector<Pair> right_pairs();

struct WholePart {
  kernel::xla::WholeModule whole;
};
/// Facts about a module that devices run and one that is not partitioned.
class RelatedOnDevices : private WholePart, public kernel::xla::RelatedModules {
 public:
  RelatedOnDevices(const kernel::xla::Module& before, const kernel::xla::Module& after,
                   const kernel::xla::Devices& devices,
                   const std::vector<kernel::xla::Relation>& inputs,
                   const std::set<std::string>& equal, kernel::Budget& budget)
      : WholePart{{before, {equal, {}}, devices, false, true, budget}},
        RelatedModules(whole, after, kernel::xla::Runners(devices), {inputs.begin(), inputs.end()},
                       budget) {}
};

}  // namespace p2::hlo
