#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proofs/kernel/certificate.h"
#include "proofs/kernel/problem.h"

namespace p2::kernel {

/// The files of a certificate with this claim, except its manifest; of those that may be left out
/// the ones among `files`. Rejects an unknown claim.
std::vector<std::string> files_of(const std::string& claim, const Files& files);
/// The claim in words, and the begin of its digest, if the files, those and no others, prove it and
/// it answers the question, where there is one (docs/certificates.md). Whatever the bytes are, it
/// ends in bounded time and memory, and throws nothing but a CheckFailure, or std::bad_alloc where
/// the machine has less memory than that bound.
std::string check_claim(const std::string& claim, const Files& files,
                        const std::optional<std::string>& question);

using Clause = std::vector<std::int32_t>;  ///< variables, or their negations as negative numbers

struct Variables {
  std::int32_t count = 0;
  std::string varmap;  ///< the text of `varmap`
};

/// For valid programs of at most `size` steps over the stage's, the choices: for those that are not
/// listed, as numbers of choices, and, where `uses` is given, make one of these choices.
struct Search {
  Stage stage;
  std::uint32_t size = 0;
  std::vector<Numbers> programs;
  std::optional<Numbers> uses;
};

/// Hands out one by one the clauses of docs/certificates.md, whose models are the programs searched
/// for. Choices with the same groups stand together, AllReduce first.
Variables encode(const Search& search, const std::function<void(const Clause&)>& sink);

/// Hands out clauses and returns the number of their variables.
using ClauseMaker = std::function<std::int32_t(const std::function<void(const Clause&)>& sink)>;

/// Rejects unless the clauses of problem.cnf (the header `p cnf VARIABLES CLAUSES`, and clauses)
/// are some of the maker's, in their order and over as many variables, and proof.lrat ends by
/// deriving the empty clause from the clauses: every step's hints, taken in order, become unit
/// clauses once the step's clause is assumed false, and the last of them is false then (strict
/// LRUP: no RAT, no deletion, no hint that is not unit).
void check_refutation(const Files& files, const ClauseMaker& encode, Budget& budget);

// All functions below return the claim as text, or reject. `statement` has the files that say what
// is claimed, by their names.

/// The claims about a program: derivation.json records the states of all devices before the first
/// step and after every legal one, as numbered sets and states, and is replayed. Then the goal is
/// reached, `program-valid`, and a step is no instruction over the hierarchy `to`,
/// `not-expressible`; or, `program-invalid`, refutation.json names the step after the last recorded
/// one with the rule that it breaks, or the goal, which is missed.
std::string judge_program(const std::string& claim, const Json& statement, const Files& files);

/// The claims `program-valid-all-sizes`, `synthesis-complete-all-sizes`, `expressible-all-sizes`
/// and `unused-all-sizes`, in dialect published: by the machine of theorem T7, which is run here.
/// There is no other evidence.
std::string judge_all_sizes(const std::string& claim, const Json& statement, const Files& files);
/// The claims `program-valid-large-sizes` and `synthesis-complete-large-sizes`, in dialect printed:
/// for the given sizes, and whatever those from 5 on are, by tables of chunks and a search, which
/// are made here. There is no other evidence.
std::string judge_large_sizes(const std::string& claim, const Json& statement, const Files& files);

/// The claims that there is no program of a kind, by proof.lrat on clauses that this checker makes
/// itself: none that problem.json does not list, `synthesis-complete`, and those listed are
/// replayed; none with a step that is no instruction over `to`, `expressible`; none with a choice
/// that problem.json names, `unused`; or none with a group across classes, over any disjoint
/// groups, `unmixed`.
std::string judge_absence(const std::string& claim, const Json& statement, const Files& files);

/// The claim `cheapest`: no program over any disjoint groups, or over the hierarchy of
/// problem.json, costs less than the least of the programs listed there, for all α and β. By
/// potential.json: at every α : β a lower bound of what is left to pay, for some states, which no
/// step contradicts.
std::string judge_cost(const std::string& claim, const Json& statement, const Files& files);

/// The claims `strategy-optimal` and `strategy-optimal-clauses`: no strategy of the graph in
/// problem.json costs less than the one in strategy.json. By bound.json, where there is one: it
/// removes dominated configurations, each checked, and gives an elimination order of the remaining
/// vertices, in which the checker redoes the bucket elimination. Otherwise by proof.lrat.
std::string judge_strategy(const std::string& claim, const Json& statement, const Files& files);

/// The claims `reshard-schedule` and `reshard-schedule-clauses`: schedule.json is a schedule of
/// unit tasks, and none is shorter. By bound.json, where there is one: pairwise conflicting
/// tasks, or tasks all of whose senders lie in a given set. Otherwise by proof.lrat. The claim
/// `reshard-schedule-gap`: by bound.json none is shorter than the number that it names.
std::string judge_schedule(const std::string& claim, const Json& statement, const Files& files);

/// The claim `reshard-plan`: the programs in plan.json bring every device what it needs, whatever
/// they do first; and `reshard-plan-wrong`: they do not.
std::string judge_plan(const std::string& claim, const Json& statement, const Files& files);

/// The claim `pipeline-memory`: the start times in pipeline.json are feasible, and no pipeline with
/// the same or a smaller makespan holds fewer activations on any stage. By cases.json: a
/// complete set of orders of a forward and a backward pass, in each of which some operation ends
/// after the makespan.
std::string judge_pipeline(const std::string& claim, const Json& statement, const Files& files);

/// The claim `modules-equal`: two modules of XLA have the same outputs on all devices, for all
/// inputs, as functions of real numbers and of integers modulo 2^bits; by executing both on random
/// points of a field that the checker draws. The claim `modules-different`: on the inputs that
/// run.json names, an element of an output differs.
std::string judge_modules(const std::string& claim, const Json& statement, const Files& files);
/// The claim `programs-equal`: several programs of XLA, each on devices of its own, that send and
/// receive, compute what a module does that is not partitioned, and none waits forever; by the
/// facts of relation.json about their arrays.
std::string judge_programs(const std::string& claim, const Json& statement, const Files& files);
/// For writers of certificates: run.json of a difference, in one of the ways to draw inputs with
/// one of the seeds from 1 to `seeds`; empty if there is none.
std::string differing_run(const Files& files, std::uint32_t seeds);

// Of one-sided plans and of algorithms of MSCCL (proofs/kernel/onesided).

/// The claims `onesided-valid` and `onesided-invalid` about an execution plan of MSCCL++,
/// plan.json: the checker unrolls its launches, orders them, looks for races, and executes one
/// order.
std::string judge_onesided(const std::string& claim, const Json& statement, const Files& files);
/// For writers of certificates: fault.json of a plan that is wrong; empty if no fault is found.
std::string onesided_fault(const Files& files);

/// The claims `algorithm-valid` and `algorithm-invalid` about an algorithm in MSCCL XML: the same
/// for one call of it.
std::string judge_algorithm(const std::string& claim, const Json& statement, const Files& files);
/// As onesided_fault().
std::string algorithm_fault(const Files& files);

}  // namespace p2::kernel
