#include "engine/hlo/equality/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"
#include "engine/hlo/equality/description.h"

namespace p2::hlo {
namespace {

constexpr std::size_t kGroupsShown = 4;

Verdict ill_formed(const Fault& fault, const Devices& devices) {
  Verdict verdict{Verdict::Kind::Invalid, fault.rule, fault.reason};
  verdict.position = fault.position;
  verdict.devices = devices;
  return verdict;
}

/// A group of all is only known where somebody says how many there are.
void require_devices(const Devices& devices, const Module& module) {
  if (!devices.assumed || devices.count() > 1) return;
  for (const Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (is_collective(base_opcode(instruction.opcode)) &&
          instruction.attributes.groups.all_in_one && instruction.attributes.pairs.empty()) {
        throw InputError(instruction.position,
                         "a group of all devices, and nothing says how many there are, expected "
                         "--replicas or --partitions");
      }
    }
  }
}

std::string shapes_text(const std::vector<ArrayShape>& shapes) {
  std::string text;
  for (const ArrayShape& shape : shapes) text += (text.empty() ? "" : ", ") + to_string(shape);
  return "(" + text + ")";
}

std::vector<ArrayShape> outputs_of(const Flow& flow) {
  std::vector<ArrayShape> shapes;
  for (const Ref ref : flow.outputs) shapes.push_back(flow.shape(ref));
  return shapes;
}

std::optional<std::string> other_signature(const Flow& before, const Flow& after) {
  const std::string inputs = shapes_text(before.inputs);
  const std::string outputs = shapes_text(outputs_of(before));
  if (inputs != shapes_text(after.inputs)) {
    return fmt::format("The inputs are {} before and {} after.", inputs, shapes_text(after.inputs));
  }
  if (outputs != shapes_text(outputs_of(after))) {
    return fmt::format("The outputs are {} before and {} after.", outputs,
                       shapes_text(outputs_of(after)));
  }
  return std::nullopt;
}

Counterexample told(const ComparisonContext& context, const Mismatch& mismatch) {
  const Flow& flow = *context.flows[0];
  return {mismatch.device,
          mismatch.device / flow.devices.partitions,
          mismatch.device % flow.devices.partitions,
          mismatch.output,
          mismatch.index,
          describe(context, flow, mismatch.before),
          describe(context, flow, mismatch.after)};
}

std::string paragraph(const Counterexample& example, const char* what) {
  return fmt::format(
      "On device {} (replica {}, partition {}), {}[{}] of output {} is {} before, and {} after.",
      example.device, example.replica, example.partition, what, fmt::join(example.index, ","),
      example.output, example.before, example.after);
}

/// Runs one comparison into `verdict`; nothing is changed where all is equal.
void compare_into(Verdict& verdict, ComparisonContext& context) {
  Comparison comparison(context);
  context.fixed.resize(context.flows.size());
  std::string open;
  try {
    comparison.run();
  } catch (const OutOfReach& limit) {
    open = fmt::format("It stays open: {}.", limit.what());
  }
  if (comparison.difference()) {
    verdict.kind = Verdict::Kind::Invalid;
    verdict.rule = context.ordered ? "order" : "contributions";
    verdict.counterexample = told(context, *comparison.difference());
    verdict.reason = paragraph(*verdict.counterexample, "element ");
    if (context.ordered) verdict.reason += " The sums are equal, the orders of addition are not.";
  } else if (comparison.open_question() || !open.empty()) {
    verdict.kind = Verdict::Kind::Unknown;
    verdict.reason = open;
    if (comparison.open_question()) {
      verdict.counterexample = told(context, *comparison.open_question());
      verdict.reason = paragraph(*verdict.counterexample, "element ") +
                       " Whether that is the same depends on what is not understood.";
    }
  }
}

std::string groups_text(const Collective& collective) {
  std::string text;
  const bool pairs = !collective.source.empty();
  std::size_t shown = 0;
  for (std::size_t i = 0; i < (pairs ? collective.source.size() : collective.groups.size()); ++i) {
    if (pairs && collective.source[i] == kNone) continue;
    if (shown++ == kGroupsShown) return text + " …";
    const auto& group = pairs ? std::vector<std::uint32_t>{} : collective.groups[i];
    text += text.empty() ? "" : " ";
    text += pairs               ? fmt::format("{}→{}", collective.source[i], i)
            : group.size() > 16 ? fmt::format("{{{},{},…,{}}}", group[0], group[1], group.back())
                                : fmt::format("{{{}}}", fmt::join(group, ","));
  }
  return text;
}

}  // namespace

Verdict compare(std::shared_ptr<const Module> before, std::shared_ptr<const Module> after,
                const Question& question, const Limits& limits) {
  Verdict verdict;
  verdict.devices = devices_of({before.get(), after.get()}, question.devices);
  require_devices(verdict.devices, *before);
  require_devices(verdict.devices, *after);
  Fingerprints fingerprints;
  std::vector<Flow> flows;
  try {
    flows.push_back(flow_of(std::move(before), verdict.devices, fingerprints));
    flows.push_back(flow_of(std::move(after), verdict.devices, fingerprints));
  } catch (const IllFormed& error) {
    return ill_formed(error.fault, verdict.devices);
  }
  if (auto other = other_signature(flows[0], flows[1])) {
    verdict.kind = Verdict::Kind::Invalid;
    verdict.rule = "signature";
    verdict.reason = *other;
    return verdict;
  }
  for (const bool ordered : {false, true}) {
    if (ordered && !question.ordered) break;
    ComparisonContext context{{&flows[0], &flows[1]}, fingerprints, limits, ordered};
    compare_into(verdict, context);
    verdict.uninterpreted.assign(context.uninterpreted.begin(), context.uninterpreted.end());
    if (verdict.kind != Verdict::Kind::Valid) break;
  }
  return verdict;
}

Verdict examine(std::shared_ptr<const Module> module, const Question& question) {
  Verdict verdict;
  verdict.devices = devices_of({module.get()}, question.devices);
  Fingerprints fingerprints;
  try {
    const Flow flow = flow_of(std::move(module), verdict.devices, fingerprints);
    for (const Node& node : flow.nodes) {
      if (node.collective == kNone) continue;
      const Shape& shape = node.instruction->shape;
      verdict.collectives.push_back({node.instruction->name, node.instruction->opcode,
                                     to_string(shape),
                                     groups_text(flow.collectives[node.collective])});
    }
  } catch (const IllFormed& error) {
    return ill_formed(error.fault, verdict.devices);
  }
  return verdict;
}

}  // namespace p2::hlo
