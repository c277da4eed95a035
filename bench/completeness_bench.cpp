#include <benchmark/benchmark.h>

#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"
#include "engine/program/synthesis.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"
#include "tests/program/instances.h"

namespace {

using namespace p2;

constexpr std::uint32_t kSize = 5;

/// [2,2], [2,2,2] and [4,4], all devices in one class.
Instance instance(std::int64_t which) {
  if (which == 0) return instance_of("2,2", "4", "0", "[[2 2]]");
  if (which == 1) return instance_of("2,2,2", "8", "0", "[[2 2 2]]");
  return instance_of("4,4", "16", "0", "[[4 4]]");
}

std::vector<std::vector<Step>> programs_of(const Instance& instance) {
  SynthesisOptions options;
  options.size = kSize;
  return find_programs({instance}, options)[0].programs();
}

CertificateFiles certificate(const Instance& instance,
                             const std::vector<std::vector<Step>>& programs) {
  cnf::Absence settled = cnf::refute(instance, Dialect::Published, kSize, {.known = programs});
  return synthesis_certificate(instance, Dialect::Published, kSize, std::move(settled.proof), {});
}

/// Baseline: Z3 finds all programs and refutes that there is another.
void complete_by_z3(benchmark::State& state) {
  const Instance system = instance(state.range(0));
  for (auto _ : state) {
    z3_encoding::SynthesisQuery query;
    query.instance = &system;
    query.size = kSize;
    if (!z3_encoding::enumerate(query).complete) state.SkipWithError("not complete");
  }
}
BENCHMARK(complete_by_z3)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// The same by clauses.
void complete_by_clauses(benchmark::State& state) {
  const Instance system = instance(state.range(0));
  for (auto _ : state) {
    if (!cnf::enumerate_programs(system, Dialect::Published, kSize).complete) {
      state.SkipWithError("not complete");
    }
  }
}
BENCHMARK(complete_by_clauses)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// That a list is complete, with the certificate.
void certify_completeness(benchmark::State& state) {
  const Instance system = instance(state.range(0));
  const auto programs = programs_of(system);
  std::size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    for (const auto& [name, text] : certificate(system, programs)) bytes += text.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(certify_completeness)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

/// What p2-check does with that certificate.
void check_completeness(benchmark::State& state) {
  const Instance system = instance(state.range(0));
  const CertificateFiles files = certificate(system, programs_of(system));
  for (auto _ : state) {
    if (check_certificate(files).verdict != kernel::Verdict::Accepted) {
      state.SkipWithError("not accepted");
    }
  }
}
BENCHMARK(check_completeness)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

}  // namespace
