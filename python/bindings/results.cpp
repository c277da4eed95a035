#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/call.h"
#include "p2/answer.h"
#include "p2/bytes.h"
#include "p2/error.h"
#include "p2/instance.h"
#include "p2/text_file.h"
#include "p2/version.h"

namespace p2::python {
namespace {

using namespace nb::literals;

/// Raises the exception `name` of p2_verify.errors.
void raise(const char* name, const nb::object& arguments) {
  const nb::object type = nb::module_::import_("p2_verify.errors").attr(name);
  PyErr_SetObject(type.ptr(), type(*arguments).ptr());
}

/// The part of a message after `expected`, which messages of InputError end with.
std::string expected_part(const std::string& message) {
  constexpr std::string_view kWord = "expected ";
  const std::size_t at = message.find(kWord);
  return at == std::string::npos ? "" : message.substr(at + kWord.size());
}

void translate_errors(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise("InputError",
          nb::make_tuple(error.what(), error.where().source, error.where().line,
                         error.where().column, error.message(), expected_part(error.message())));
  } catch (const LimitReached& error) {
    raise("LimitReached", nb::make_tuple(error.what()));
  } catch (const InternalError& error) {
    raise("InternalError", nb::make_tuple(error.what()));
  } catch (const Error& error) {
    raise("ToolError", nb::make_tuple(error.what()));
  }
}

}  // namespace

void bind_results(nb::module_& module) {
  nb::register_exception_translator(translate_errors);

  nb::class_<CallOptions>(module, "CallOptions")
      .def(nb::init<>())
      .def_rw("timeout", &CallOptions::timeout, nb::arg().none())
      .def_rw("memory", &CallOptions::memory, nb::arg().none())
      .def_rw("rlimit", &CallOptions::rlimit, nb::arg().none())
      .def_rw("jobs", &CallOptions::jobs)
      .def_rw("seed", &CallOptions::seed)
      .def_rw("progress", &CallOptions::progress, nb::arg().none());

  nb::class_<TextFile>(module, "TextFile")
      .def(nb::init<const std::string&, std::string>(), "name"_a, "text"_a)
      .def_prop_ro("path", &TextFile::path);

  nb::class_<InstanceSpec>(module, "InstanceSpec")
      .def(nb::init<>())
      .def_rw("hierarchy", &InstanceSpec::hierarchy, nb::arg().none())
      .def_rw("system", &InstanceSpec::system, nb::arg().none())
      .def_rw("axes", &InstanceSpec::axes, nb::arg().none())
      .def_rw("reduce", &InstanceSpec::reduce, nb::arg().none())
      .def_rw("placement", &InstanceSpec::placement, nb::arg().none())
      .def_rw("synthesis_hierarchy", &InstanceSpec::synthesis_hierarchy, nb::arg().none())
      .def_rw("dialect", &InstanceSpec::dialect, nb::arg().none())
      .def_rw("collectives", &InstanceSpec::collectives)
      .def_rw("goal", &InstanceSpec::goal, nb::arg().none())
      .def_rw("max_group", &InstanceSpec::max_group);

  nb::class_<Counterexample>(module, "Counterexample")
      .def_ro("rule", &Counterexample::rule)
      .def_prop_ro("file", [](const Counterexample& each) { return each.where.source; })
      .def_prop_ro("line", [](const Counterexample& each) { return each.where.line; })
      .def_prop_ro("column", [](const Counterexample& each) { return each.where.column; })
      .def_ro("explanation", &Counterexample::explanation)
      .def_prop_ro("facts_json", [](const Counterexample& each) { return each.facts.dump(); })
      .def_ro("drawing", &Counterexample::drawing);

  nb::class_<EngineAnswer>(module, "EngineAnswer")
      .def_ro("engine", &EngineAnswer::engine)
      .def_prop_ro("outcome",
                   [](const EngineAnswer& each) { return std::string(to_string(each.outcome)); })
      .def_ro("step", &EngineAnswer::step)
      .def_ro("rule", &EngineAnswer::rule);

  nb::class_<Result>(module, "Result")
      .def_ro("subject", &Result::subject)
      .def_prop_ro("outcome",
                   [](const Result& each) { return std::string(to_string(each.outcome)); })
      .def_ro("counterexample", &Result::counterexample)
      .def_prop_ro("undecided",
                   [](const Result& each) -> std::optional<std::string> {
                     if (!each.undecided) return std::nullopt;
                     return each.undecided->explanation;
                   })
      .def_ro("engines", &Result::engines)
      .def_ro("model", &Result::model)
      .def_prop_ro("certificate",
                   [](const Result& each) -> std::optional<std::string> {
                     if (each.evidence.kind != Evidence::Kind::Certificate) return std::nullopt;
                     return each.evidence.folder;
                   })
      .def_prop_ro("claim", [](const Result& each) { return each.evidence.claim; })
      .def_ro("seconds", &Result::seconds);

  nb::enum_<Diagnostic::Kind>(module, "DiagnosticKind")
      .value("BadInput", Diagnostic::Kind::BadInput)
      .value("Undecided", Diagnostic::Kind::Undecided)
      .value("ToolFailure", Diagnostic::Kind::ToolFailure)
      .value("Note", Diagnostic::Kind::Note);
  nb::class_<Diagnostic>(module, "Diagnostic")
      .def_ro("kind", &Diagnostic::kind)
      .def_ro("message", &Diagnostic::message);

  nb::class_<Property>(module, "Property")
      .def_ro("name", &Property::name)
      .def_ro("rule", &Property::rule)
      .def_ro("message", &Property::message)
      .def_ro("line", &Property::line)
      .def_ro("column", &Property::column);
  nb::class_<FileReport>(module, "FileReport")
      .def_ro("file", &FileReport::file)
      .def_ro("format", &FileReport::format)
      .def_ro("properties", &FileReport::properties);

  nb::class_<Answer>(module, "Answer")
      .def_ro("results", &Answer::results)
      .def_prop_ro("outcome",
                   [](const Answer& answer) { return std::string(to_string(answer.outcome)); })
      .def_ro("diagnostics", &Answer::diagnostics)
      .def_prop_ro("reports", [](const Answer& answer) { return answer.document.reports; })
      .def_prop_ro("exit_code", [](const Answer& answer) { return answer.document.exit_code; })
      .def("json", [](const Answer& answer) { return answer.document.json.document(); })
      .def("text",
           [](const Answer& answer) {
             return write_document(answer.document, DocumentFormat::Text);
           })
      .def("html", [](const Answer& answer) { return write_page(answer); });

  module.def("version", [] { return build_info().version; });
  module.def("solver_versions", &solver_versions);
  module.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes("memory", text); }, "text"_a);
}

}  // namespace p2::python
