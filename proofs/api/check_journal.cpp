#include "proofs/api/checked_files.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/campaign/campaign.h"
#include "engine/hlo/module_relation.h"
#include "p2/error.h"

namespace p2 {
namespace {

using Record = nlohmann::ordered_json;
using campaign::optional_text;

Record record_of(const Property& property) {
  return {property.name,    number(property.status), property.rule,
          property.message, property.line,           property.column};
}

Property property_of(const Record& record) {
  return {record.at(0), enumeration<Property::Status>(record.at(1)),
          record.at(2), record.at(3),
          record.at(4), record.at(5)};
}

Record record_of(const SubjectCheck& check) {
  Document text;
  for (const Document::Block& block : check.text) text.add(block);
  Record record{{"json", check.json.dump()},
                {"input", check.input.dump()},
                {"text", write_document(text, DocumentFormat::Text)},
                {"result", record_of(check.result)},
                {"file", check.report.file},
                {"format", check.report.format},
                {"properties", Record::array()},
                {"diagnostics", record_of(check.diagnostics)}};
  for (const Property& each : check.report.properties) {
    record["properties"].push_back(record_of(each));
  }
  return record;
}

SubjectCheck check_of(const Record& record) {
  SubjectCheck check;
  check.json = Json::parse(record.at("json"));
  check.input = Json::parse(record.at("input"));
  check.text = {Preformatted{record.at("text")}};
  check.result = journaled_result(record.at("result"));
  check.report.file = record.at("file");
  check.report.format = record.at("format");
  for (const Record& each : record.at("properties")) {
    check.report.properties.push_back(property_of(each));
  }
  check.diagnostics = journaled_diagnostics(record.at("diagnostics"));
  return check;
}

/// Of the contents of everything that the answers depend on.
std::string digest_of(const CheckRequest& request, std::vector<std::string> files,
                      const hlo::Dump* dump) {
  for (const auto& file : {request.before, request.after, request.relate}) {
    if (file) files.push_back(*file);
  }
  if (request.relate && !request.after) {
    for (const auto& each : hlo::program_files(*request.relate, read_file(*request.relate))) {
      files.push_back(each.file);
    }
  }
  for (const std::string& file : files_of(request.instance)) files.push_back(file);
  if (dump != nullptr) {
    for (const hlo::DumpModule& module : dump->modules) {
      for (const hlo::DumpFile& version : module.versions) files.push_back(version.path);
    }
  }
  return digest_of_files(files);
}

}  // namespace

std::string journal_text(const CheckedFile& file) {
  Record record{{"check", nullptr}, {"errors", Record::array()}, {"seconds", file.seconds}};
  if (file.check) record["check"] = record_of(*file.check);
  for (const FileError& each : file.errors) {
    record["errors"].push_back({number(each.kind), each.where.source, each.where.line,
                                each.where.column, each.message, each.line});
  }
  return record.dump(-1, ' ', false, Record::error_handler_t::replace);
}

void take_journaled(const Record& text, CheckedFile& file) {
  std::optional<SubjectCheck> check;
  if (!text.at("check").is_null()) check = check_of(text.at("check"));
  std::vector<FileError> errors;
  for (const Record& each : text.at("errors")) {
    errors.push_back({enumeration<Diagnostic::Kind>(each.at(0)),
                      {each.at(1), each.at(2), each.at(3)},
                      each.at(4),
                      each.at(5)});
  }
  file.seconds = text.at("seconds");
  file.check = std::move(check);
  file.errors = std::move(errors);
}

Json check_journal_header(const CheckRequest& request, const std::vector<std::string>& files,
                          const hlo::Dump* dump, std::size_t questions) {
  refuse_flags("--shard, --resume or mpirun", "asks about each file alone",
               {{"baseline", request.baseline.has_value()},
                {"cache", request.cache.has_value()},
                {"repair", request.repair},
                {"smt2", request.smt2}});
  if (std::ranges::find(files, "-") != files.end()) {
    throw InputError({"-"}, "is read once, expected files with --shard, --resume or mpirun");
  }
  const auto count = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json();
  };
  Json header = campaign::journal_header("check");
  header.add("files", Json::array_of(files))
      .add("before", optional_text(request.before))
      .add("after", optional_text(request.after))
      .add("relate", optional_text(request.relate))
      .add("dump", optional_text(request.dump))
      .add("ordered", request.ordered)
      .add("replicated_inputs", request.replicated_inputs)
      .add("numbers", to_string(request.numbers))
      .add("reduces", optional_text(request.reduces))
      .add("replicas", count(request.replicas))
      .add("partitions", count(request.partitions))
      .add("engine", request.engine)
      .add("all_sizes", request.all_sizes)
      .add("explain", request.explain)
      .add("certify", optional_text(request.certify))
      .add("instance", to_json(request.instance))
      .add("sha256", digest_of(request, files, dump));
  return campaign::with_shard(std::move(header), questions, request.part);
}

CheckRequest journaled_check(const Record& header) {
  CheckRequest request;
  for (const Record& file : header.at("files")) request.files.push_back(file);
  request.before = optional_text(header, "before");
  request.after = optional_text(header, "after");
  request.relate = optional_text(header, "relate");
  request.dump = optional_text(header, "dump");
  request.ordered = header.at("ordered");
  request.replicated_inputs = header.at("replicated_inputs");
  request.numbers = float_equality_called(header.at("numbers").get<std::string>());
  request.reduces = optional_text(header, "reduces");
  if (!header.at("replicas").is_null()) request.replicas = header.at("replicas");
  if (!header.at("partitions").is_null()) request.partitions = header.at("partitions");
  request.engine = header.at("engine");
  request.all_sizes = header.at("all_sizes");
  request.explain = header.at("explain");
  request.certify = optional_text(header, "certify");
  request.instance = journaled_instance(header.at("instance"));
  return request;
}

}  // namespace p2
