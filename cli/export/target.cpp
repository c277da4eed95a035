#include "cli/export/target.h"

#include <filesystem>

namespace p2 {

const char* extension_of(Target target) {
  switch (target) {
    case Target::Msccl:
      return "xml";
    case Target::Json:
      return "json";
    case Target::Hlo:
      return "hlo";
    case Target::StableHlo:
      return "mlir";
  }
  return "";
}

std::vector<Exported> exported_as(Target target, const SourceProgram& source,
                                  const std::string& file, msccl::Protocol protocol,
                                  const Limits& limits) {
  const SourcePosition where{source.name};
  switch (target) {
    case Target::Msccl:
      return as_msccl(source.read, protocol, std::filesystem::path(file).stem().string(), where,
                      limits);
    case Target::Json:
      return {as_json(source.read, where, limits)};
    case Target::Hlo:
      return {as_module(source.read, ModuleText::Hlo, where, limits)};
    case Target::StableHlo:
      return {as_module(source.read, ModuleText::StableHlo, where, limits)};
  }
  return {};
}

}  // namespace p2
