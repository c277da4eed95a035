#pragma once

#include <functional>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/reshard/scheduling.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/certificate.h"

namespace p2 {

ExactSchedule solve(const UnitTasks& tasks, const Limits& limits = {});

/// The shortest makespan by trying every order with every choice of senders.
std::int64_t brute_force(const UnitTasks& tasks);

/// 2 to `most` tasks over 2 to 4 hosts, of sizes up to 6.
UnitTasks random_tasks(std::mt19937_64& random, std::size_t most);

/// No argument about hosts is enough for these: the bound is 3 and the optimum 4.
extern const UnitTasks kSearched;

/// The certificate by clauses that no schedule is shorter than this one.
CertificateFiles by_clauses(const UnitTasks& tasks, const TaskSchedule& schedule);

/// The certificate of the shortest schedule, by a bound where there is one.
CertificateFiles certificate(const UnitTasks& tasks);

/// The certificate that none is shorter than a bound, which may be less than this one's makespan.
CertificateFiles gap_certificate(const UnitTasks& tasks, const TaskSchedule& schedule);

/// The verdict after `change` was done to one file and the manifest made to fit.
kernel::Verdict after(CertificateFiles files, const std::string& name,
                      const std::function<void(nlohmann::json&)>& change);

/// Whether what the folder claims is true, by another search: that this is a schedule, and none is
/// shorter than `least`, or than this one.
bool is_true(const nlohmann::json& said, std::optional<std::int64_t> least = {});

/// All single changes of a number in schedule.json by one, followed by the remaining order.
std::vector<std::function<void(nlohmann::json&)>> changes_by_one(const nlohmann::json& said);

}  // namespace p2
