#include <fmt/format.h>

#include "encodings/z3/queries.h"
#include "engine/program/program_picture.h"
#include "p2/error.h"
#include "p2/version.h"
#include "proofs/api/open_sizes.h"
#include "proofs/api/reference_run.h"
#include "proofs/api/subject_check.h"
#include "proofs/api/terms.h"
#include "proofs/certificate/program_certificate.h"

namespace p2 {
namespace {

using Status = Property::Status;

/// The facts of a failed premise: devices and, where it is about them, chunk, contributor and
/// counts.
void add_premise_facts(const Refutation& refutation, Json& facts) {
  const Refusal& refusal = refutation.refusal;
  const std::uint32_t first = refutation.group[refusal.first];
  const std::uint32_t second = refutation.group[refusal.second];
  switch (refusal.premise) {
    case Premise::SameChunks:
    case Premise::DisjointChunks:
      facts.add("devices", Json::array({first, second})).add("chunk", refusal.chunk);
      break;
    case Premise::Disjoint:
    case Premise::Contained:
      facts.add("devices", Json::array({first, second})).add("chunk", refusal.chunk);
      facts.add("contributor", refusal.contributor);
      break;
    case Premise::Divisible:
      facts.add("devices", Json::array({first}));
      facts.add("chunks_held", Json::array({refusal.first_count}));
      break;
    case Premise::EqualCount:
      facts.add("devices", Json::array({first, second}));
      facts.add("chunks_held", Json::array({refusal.first_count, refusal.second_count}));
      break;
    case Premise::Informative:
      facts.add("devices", Json::array({first}));
      break;
  }
}

/// The variables of a user's premise for whose values it does not hold.
Json witness_json(const Refutation& refutation) {
  Json witness = Json::object();
  for (const language::Binding& binding : refutation.defined.witness) {
    const bool is_position = binding.sort == language::Sort::Position;
    witness.add(binding.name,
                is_position ? Json(refutation.group[binding.value]) : Json(binding.value));
  }
  return witness;
}

Json facts_of(const Refutation& refutation) {
  Json facts;
  facts.add("rule", rule_name(refutation)).add("step", refutation.step);
  if (!refutation.group.empty()) facts.add("group", Json::array_of(refutation.group));
  switch (refutation.rule) {
    case Refutation::Rule::Premise:
      add_premise_facts(refutation, facts);
      break;
    case Refutation::Rule::Lacks:
    case Refutation::Rule::Excess:
      facts.add("devices", Json::array({refutation.device})).add("chunk", refutation.chunk);
      facts.add("contributor", refutation.contributor);
      break;
    case Refutation::Rule::Defined:
      facts.add("witness", witness_json(refutation));
      break;
    case Refutation::Rule::Master:
    case Refutation::Rule::Empty:
      break;
  }
  return facts;
}

/// The position of a step, from 1, in its file.
SourcePosition position_of(const std::string& file, const ProgramFile& read, std::size_t step) {
  if (step == 0 || step > read.step_positions.size()) return {file};
  return {file, read.step_positions[step - 1].line, read.step_positions[step - 1].column};
}

/// The decision of the explicit engine and the answers of all.
struct CheckedProgram {
  const std::string& file;
  const ProgramFile& read;
  ProgramDecision decision;
  std::vector<EngineAnswer> answers;
  bool cnf_left_out = false;
  Evidence evidence = {};
  std::optional<SizesAnswer> all_sizes = {};
  std::optional<OpenSizes> open = {};  ///< what all_sizes is about
  bool sizes_given = true;             ///< none is `*`

  const Instance* instance() const { return read.instance ? &*read.instance : nullptr; }
  Outcome explicit_outcome() const { return decision.outcome; }
  /// With `all_sizes` about all sizes, else about the given ones.
  Outcome outcome() const {
    const bool valid = decision.outcome == Outcome::Established;
    return valid && all_sizes ? all_sizes->outcome : decision.outcome;
  }
  std::string all_sizes_text() const {
    return to_string(*all_sizes, "valid", *read.instance, *open);
  }
};

Result result_of(const CheckedProgram& checked) {
  const Program& program = checked.read.program;
  Result result;
  result.subject = checked.file;
  result.outcome = disagree(checked.answers) ? Outcome::Disagreement : checked.outcome();
  if (const auto& refutation = checked.decision.violation) {
    result.counterexample = {.rule = std::string(rule_name(*refutation)),
                             .where = position_of(checked.file, checked.read, refutation->step),
                             .explanation = explain(*refutation, program, checked.instance()),
                             .facts = facts_of(*refutation)};
  } else if (checked.all_sizes && checked.all_sizes->outcome == Outcome::Refuted) {
    result.counterexample = {.rule = "all-sizes",
                             .where = {checked.file},
                             .explanation = checked.all_sizes_text(),
                             .facts = Json::object({{"rule", "all-sizes"}})};
  } else if (checked.all_sizes && checked.all_sizes->outcome == Outcome::Undecided) {
    result.undecided = {Undecided::Reason::Limit, checked.all_sizes_text()};
  } else if (checked.explicit_outcome() == Outcome::Undecided) {
    result.undecided = {Undecided::Reason::Limit,
                        fmt::format("A limit was met after {} of {} steps, all of them legal.",
                                    checked.decision.legal_steps, program.steps.size())};
  }
  result.engines = checked.answers;
  result.model =
      fmt::format("dialect {}, goal {}", to_string(checked.read.dialect), program.terms.goal.name);
  result.evidence = checked.evidence;
  return result;
}

bool is_written(const Evidence& evidence) { return evidence.kind == Evidence::Kind::Certificate; }

std::string reason_of(const Result& result) {
  if (result.counterexample) return result.counterexample->explanation;
  return result.undecided ? result.undecided->explanation : "";
}

Json json_of(const CheckedProgram& checked, const Result& result) {
  const Program& program = checked.read.program;
  const std::string reason = reason_of(result);
  Json findings = Json::object();
  for (const EngineAnswer& answer : checked.answers) findings.add(answer.engine, json_of(answer));
  Json json;
  json.add("file", checked.file).add("dialect", to_string(checked.read.dialect));
  json.add("goal", program.terms.goal.name).add("begins", to_string(program.beginning.start));
  json.add("chunks", checked.sizes_given ? Json(program.chunks()) : Json());
  json.add("verdict", to_string(checked.outcome()));
  json.add("engines", outcomes_json(checked.answers)).add("findings", std::move(findings));
  add_certificate(result.evidence, json);
  if (checked.cnf_left_out) json.add("not_asked", Json::array({"cnf"}));
  const auto& refutation = checked.decision.violation;
  json.add("step", refutation ? Json(refutation->step) : Json());
  json.add("reason", reason.empty() ? Json() : Json(reason));
  json.add("counterexample", result.counterexample ? result.counterexample->facts : Json());
  if (checked.all_sizes) {
    json.add("all_sizes", json_of(*checked.all_sizes, *checked.read.instance, *checked.open));
  }
  return json;
}

/// The steps on the hardware, and what the devices hold.
void add_pictures(const CheckedProgram& checked, const Limits& limits, std::vector<Block>& blocks) {
  const Program& program = checked.read.program;
  if (checked.instance() != nullptr && program.devices <= kMaxPicturedDevices) {
    blocks.emplace_back(Drawing{"What each step sends, on the hardware",
                                svg_document(program_picture(program, *checked.instance()))});
  }
  std::string states = draw_states(program, checked.read.dialect, checked.instance(), limits);
  if (states.empty()) return;
  blocks.emplace_back(Drawing{"What the devices hold after every step", std::move(states)});
}

std::vector<Document::Block> text_of(const CheckedProgram& checked, const Result& result,
                                     const CheckQuestion& question) {
  const Program& program = checked.read.program;
  std::vector<Document::Block> text;
  const std::string size =
      checked.sizes_given ? fmt::format("{} devices", program.devices)
                          : checked.open->hierarchy_text(checked.read.instance->grid.hierarchy());
  text.push_back(Heading{fmt::format(
      "{}: {} ({}, {} step{}, dialect {}{})", checked.file, to_string(checked.outcome()), size,
      program.steps.size(), program.steps.size() == 1 ? "" : "s", to_string(checked.read.dialect),
      goal_text(program.terms.goal, program.beginning))});
  const std::string reason = reason_of(result);
  if (!checked.sizes_given && checked.decision.violation) {
    text.push_back(
        Paragraph{fmt::format("For {}:", to_string(checked.read.instance->grid.hierarchy()))});
  }
  if (question.request.explain) {
    text.push_back(Preformatted{draw_derivation(program, checked.read.dialect, checked.instance(),
                                                question.options.limits)});
  } else if (!reason.empty()) {
    text.push_back(Paragraph{reason});
  }
  if (question.request.page) add_pictures(checked, question.options.limits, text);
  if (checked.all_sizes && reason.empty()) text.push_back(Paragraph{checked.all_sizes_text()});
  for (const EngineAnswer& answer : checked.answers) {
    if (checked.answers.size() == 1) break;
    text.push_back(Paragraph{fmt::format("{}: {}", answer.engine, to_string(answer))});
  }
  if (checked.cnf_left_out) text.push_back(Paragraph{not_asked_text()});
  if (is_written(result.evidence)) {
    text.push_back(Paragraph{certificate_line(result.evidence)});
  }
  return text;
}

bool is_about_goal(const std::optional<Refutation>& refutation) {
  return refutation && (refutation->rule == Refutation::Rule::Lacks ||
                        refutation->rule == Refutation::Rule::Excess);
}

FileReport report_of(const CheckedProgram& checked, const Result& result) {
  Property premises{"premises"};
  Property goal{"goal"};
  if (const auto& counterexample = result.counterexample) {
    Property& refuted = is_about_goal(checked.decision.violation) ? goal : premises;
    refuted.status = Status::Refuted;
    refuted.rule = counterexample->rule;
    refuted.message = counterexample->explanation;
    refuted.line = counterexample->where.line;
    refuted.column = counterexample->where.column;
    if (&refuted == &premises) goal.status = Status::NotExamined;
  } else if (result.undecided) {
    premises.status = Status::Undecided;
    premises.message = result.undecided->explanation;
    goal.status = Status::NotExamined;
  }
  FileReport report{checked.file, "program", {premises, goal}, 0};
  if (checked.answers.size() > 1) report.properties.push_back(engines_property(checked.answers));
  return report;
}

/// Writes that the program is valid for all sizes, where the machine says so.
void certify_all_sizes(const std::string& folder, std::uint64_t seed, CheckedProgram& checked,
                       std::vector<Diagnostic>& diagnostics) {
  if (checked.all_sizes->outcome != Outcome::Established) return;
  if (checked.all_sizes->engine != SearchEngine::Machine ||
      checked.read.dialect != Dialect::Published) {
    diagnostics.push_back(
        {Diagnostic::Kind::Undecided,
         fmt::format("{}: --certify: p2-check knows of all sizes in dialect published only",
                     checked.file)});
    return;
  }
  const auto make = [&] {
    return all_sizes_certificate(
        *checked.read.instance, checked.read.program.steps,
        {{{"p2-verify", build_info().version}}, {{"engine", "machine"}}, seed});
  };
  checked.evidence = written_evidence(folder, make, diagnostics);
}

/// Writes that a program of many devices is valid, without its devices: for all sizes where the
/// machine says so.
void certify_without_devices(const CheckQuestion& question, SearchEngine engine,
                             CheckedProgram& checked, std::vector<Diagnostic>& diagnostics) {
  const auto make = [&] {
    const Provenance provenance{{{"p2-verify", build_info().version}},
                                {{"engine", std::string(to_string(engine))}},
                                question.options.seed};
    const Instance& instance = *checked.read.instance;
    const std::vector<Step>& steps = checked.read.program.steps;
    const bool all = engine == SearchEngine::Machine && checked.read.dialect == Dialect::Published;
    return all ? all_sizes_certificate(instance, steps, provenance)
               : large_sizes_certificate(instance, steps, provenance);
  };
  checked.evidence = written_evidence(*question.certificate, make, diagnostics);
}

void certify(const CheckQuestion& question, CheckedProgram& checked,
             std::vector<Diagnostic>& diagnostics) {
  const bool decided = checked.explicit_outcome() != Outcome::Undecided;
  if (!question.certificate || !decided || disagree(checked.answers)) return;
  if (checked.all_sizes && checked.explicit_outcome() == Outcome::Established) {
    certify_all_sizes(*question.certificate, question.options.seed, checked, diagnostics);
    return;
  }
  const auto make = [&] {
    return program_certificate(
        checked.read, checked.decision,
        {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, question.options.seed});
  };
  checked.evidence = written_evidence(*question.certificate, make, diagnostics);
}

std::string smt_lib_of(const ProgramFile& file, const Engines& engines, const Limits& limits) {
  z3_encoding::ValidityQuery query;
  query.program = &file.program;
  query.instance = file.instance ? &*file.instance : nullptr;
  query.dialect = file.dialect;
  query.definitions = engines.z3_definitions;
  query.limits = limits;
  return smt_lib(query);
}

/// From so many devices on the engines that know no sizes are asked first.
constexpr std::uint32_t kManyDevices = 4096;

SubjectCheck answer_of(const CheckedProgram& checked, const CheckQuestion& question) {
  SubjectCheck answer;
  answer.result = result_of(checked);
  answer.json = json_of(checked, answer.result);
  answer.text = text_of(checked, answer.result, question);
  answer.report = report_of(checked, answer.result);
  return answer;
}

/// Decides whether a program that is valid for its sizes is valid for all.
void decide_all_sizes(CheckedProgram& checked, const CheckQuestion& question) {
  const ProgramFile& read = checked.read;
  require_known_for_all_sizes(read.program.terms);
  if (!read.instance) {
    throw InputError(
        {checked.file},
        "has no hierarchy, expected one: --all-sizes is about the sizes of its levels");
  }
  const Instance& instance = *read.instance;
  if (!checked.open) checked.open = OpenSizes::all(instance.grid);
  checked.all_sizes.emplace();
  if (checked.explicit_outcome() != Outcome::Established) return;
  const NamedProblem named = make_problem(instance, read.dialect);
  const auto moves = moves_of(named, read.program.steps);
  if (!moves) {
    throw InputError({checked.file},
                     "has a step of bare groups, expected instructions: --all-sizes is about the "
                     "sizes of levels");
  }
  const FactorSet open = digits_of(checked.open->of(instance.grid), simulated_factors(instance));
  *checked.all_sizes = valid_for_all_sizes(named.problem, *moves, open, question.options.limits);
}

/// A valid program, without its devices; nothing if the engines that know no sizes do not decide.
std::optional<SubjectCheck> check_without_sizes(const std::string& file, const std::string& text,
                                                const CheckQuestion& question,
                                                const std::optional<OpenSizes>& open) {
  const CheckRequest& request = question.request;
  const bool all_sizes = open || request.all_sizes;
  const bool asked =
      request.engine == "auto" && !request.explain && !request.smt2 && !request.cache;
  if (!asked) return std::nullopt;
  const std::optional<ProgramFile> read = read_unlowered(file, text, question.given);
  if (!read || read->program.devices < kManyDevices) return std::nullopt;
  const Terms& terms = read->program.terms;
  if (question.certificate) require_paper("--certify", terms);
  const NamedProblem named =
      make_problem(*read->instance, read->dialect, {}, read->program.beginning);
  const auto moves = moves_of(named, read->program.steps);
  if (!moves) return std::nullopt;
  const auto engine = accepting_engine(named.problem, terms, *moves, question.options.limits);
  if (!engine) return std::nullopt;
  CheckedProgram checked{
      file, *read, {}, {{std::string(to_string(*engine)), Outcome::Established}}};
  checked.open = open;
  checked.sizes_given = !open;
  if (all_sizes) decide_all_sizes(checked, question);
  std::vector<Diagnostic> diagnostics;
  if (question.certificate && !all_sizes) {
    certify_without_devices(question, *engine, checked, diagnostics);
  } else {
    certify(question, checked, diagnostics);
  }
  SubjectCheck answer = answer_of(checked, question);
  answer.diagnostics = std::move(diagnostics);
  return answer;
}

/// Throws InputError for what needs the sizes that are left open.
void require_sizes(const CheckQuestion& question, const std::string& file) {
  const CheckRequest& request = question.request;
  refuse_flags(file, "leaves sizes open (*)",
               {{"explain", request.explain},
                {"smt2", request.smt2},
                {"engine", request.engine != "auto" && request.engine != "explicit"}});
}

}  // namespace

SubjectCheck check_program(const std::string& file, const std::string& given_text,
                           const CheckQuestion& question) {
  std::string text = given_text;
  std::optional<OpenSizes> open = question.open;
  if (const auto in_file = close_sizes(file, text)) open = in_file;
  if (open) require_sizes(question, file);
  if (auto answer = check_without_sizes(file, text, question, open)) return std::move(*answer);
  const Limits& limits = question.options.limits;
  const ProgramFile read = read_program(file, text, question.given);
  const Program& program = read.program;
  const Engines engines = on_terms(question.engines, program.terms);
  if (question.certificate) require_paper("--certify", program.terms);
  StateTable states(program.chunks());
  CheckedProgram checked{
      file, read, check(program, read.dialect, states, limits), {}, engines.cnf_left_out};
  if (checked.explicit_outcome() == Outcome::Established) SoundSteps(limits).require(file, program);
  checked.answers = ask_with_cache(engines, read, checked.decision, text, limits, question.cache);

  checked.open = open;
  checked.sizes_given = !open;
  if (open || question.request.all_sizes) decide_all_sizes(checked, question);
  std::vector<Diagnostic> diagnostics;
  certify(question, checked, diagnostics);
  SubjectCheck answer = answer_of(checked, question);
  answer.diagnostics = std::move(diagnostics);
  if (answer.result.outcome == Outcome::Disagreement) {
    answer.input.add("program", program_json(program, checked.instance(), read.dialect));
  }
  if (question.request.smt2) {
    try {
      answer.smt2 = smt_lib_of(read, engines, limits);
    } catch (const LimitReached& error) {
      answer.diagnostics.push_back(
          {Diagnostic::Kind::Undecided, fmt::format("{}: --smt2: {}", file, error.what())});
    }
  }
  return answer;
}

}  // namespace p2
