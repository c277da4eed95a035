#pragma once

#include <string>
#include <variant>

#include "engine/hlo/equality/equivalence.h"
#include "proofs/certificate/subject_certificates.h"

namespace p2::hlo {

/// A module of `partitions` partitions with these lines as its entry, and with the reducers `add`,
/// `maximum`, `minimum`, `multiply` and `subtract` of f32.
std::string module_text(const std::string& entry, int partitions = 4);

/// `text` with the only occurrence of `from` replaced. Fails the test unless there is exactly one.
std::string replaced(std::string text, const std::string& from, const std::string& to);
/// `text` with all occurrences of `from`, of which there may be none, replaced.
std::string replaced_everywhere(std::string text, std::string_view from, std::string_view to);

std::shared_ptr<const Module> module_of(const std::string& text);
ModuleDecision compared(const std::string& before, const std::string& after,
                        const ComparisonOptions& options = {});

/// The certificate that modules are equal on two devices, each with inputs of its own; or why
/// p2-check accepts none.
std::variant<CertificateFiles, std::string> certified_equal(const std::string& before,
                                                            const std::string& after);
/// Whether it accepts one.
bool is_certified(const std::string& before, const std::string& after);
/// Whether it accepts one that they differ, on one device.
bool is_certified_different(const std::string& before, const std::string& after);

/// The outcome and the rule: `valid`, `invalid contributions`, …
std::string summary(const ModuleDecision& decision);

/// What symbolic evaluation says, and execution: `valid; invalid value`.
std::string verdicts(const std::string& before, const std::string& after);

/// An unpartitioned module with these lines as its entry, and a module that `devices` run, with the
/// same reducers.
std::string before_text(const std::string& body);
std::string after_text(const std::string& body, int devices = 2);
/// What symbolic evaluation says under a relation in JSON.
std::string symbolic_verdict(const std::string& before, const std::string& after,
                             const std::string& relation);

/// The lines of an attention with a causal mask over `n` tokens, where `rows` and `columns`
/// compare: of queries x·a, keys x·b times t and values x. `scores` computes d, and `end` the root
/// of the exponentials e, their sums c and x.
std::string attention(int n, const std::string& compared, const std::string& scores,
                      const std::string& end);
std::string scores_of(int n);
/// Normalized before the values are added up, or thereafter.
std::string normalized_first(int n);
std::string normalized_last(int n, const std::string& divided = "divide");

/// Lines of equal modules, in which rounding alone may tell a difference; the last one, o, is
/// compared.
struct EqualPair {
  const char* why;
  const char* before;
  const char* from;  ///< what stands otherwise in the other module
  const char* to;
};

/// A correct rewrite of collectives as compilers make them.
struct Rewrite {
  const char* name;
  std::string before;
  std::string after;
};

Rewrite by_host();           ///< all-reduce over 8 as three collectives with hosts of 4
Rewrite scatter_made();      ///< all-reduce and dynamic-slice through a table as reduce-scatter
Rewrite split_reduction();   ///< all-reduce over 8 as two around a dynamic-slice
Rewrite folded();            ///< two all-reduces as one
Rewrite gathered_locally();  ///< all-reduce as all-gather and a local reduction
Rewrite ring_step();         ///< all-gather as permutes, updates of slices and an addition
Rewrite exchanged();         ///< all-to-all as slices of an all-gather
Rewrite largest();           ///< an all-reduce with maximum in two levels

}  // namespace p2::hlo
