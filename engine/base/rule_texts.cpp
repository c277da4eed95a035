#include "engine/base/document_writers.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "engine/base/invariant.h"

namespace p2 {
namespace {

constexpr auto kProgramRules = std::to_array<RuleText>({
    {"same-chunks", "The devices of a group hold different chunks.",
     "AllReduce, ReduceScatter and Reduce add chunk by chunk, so every device of a group has to "
     "hold the same chunks. Look at the step before: a scatter over other groups leaves different "
     "chunks behind."},
    {"disjoint", "A contribution would be counted twice.",
     "Two devices of a group hold the contribution of one device in one chunk; adding them counts "
     "it twice. Reduce over groups whose devices have not met before."},
    {"divisible", "The chunks of a group cannot be dealt out evenly.",
     "ReduceScatter deals the chunks that a device holds into as many equal parts as the group has "
     "devices."},
    {"disjoint-chunks", "Two devices bring the same chunk to an AllGather.",
     "AllGather puts different chunks together; if two devices supply the same chunk, the "
     "result is ambiguous."},
    {"equal-count", "The devices of an AllGather bring different numbers of chunks.",
     "Libraries gather blocks of one size. Scatter evenly before."},
    {"contained", "A Broadcast would overwrite a contribution that its root lacks.",
     "What a device of the group holds has to be contained in what the root holds, or it is lost."},
    {"informative", "A device of the group contributes no new data.",
     "A device of the group holds nothing, or nothing that the others lack."},
    {"master", "A collective that the dialect does not allow with Master.",
     "Dialect published allows only AllReduce with Master; dialect printed allows all."},
    {"empty-group", "An instruction forms a group in which nobody holds anything.",
     "Choose a slice and form whose groups hold data, or leave the step out."},
    {"goal-lacks", "At the end a device lacks a contribution.",
     "The steps are legal, but do not reach the goal: a reduction or a gather is missing."},
    {"goal-excess", "At the end a device holds what it should not.",
     "The steps are legal, but reduce over more devices than the reduction class has, or leave "
     "more behind than the goal asks for."},
    {"all-sizes", "The program is valid for the given sizes, but not for all.",
     "The explanation names sizes for which it is not valid."},
});

constexpr auto kMscclRules = std::to_array<RuleText>({
    {"out-of-bounds", "A step reaches past a buffer.",
     "The offset and the count of a region have to stay inside what the file declares and what a "
     "caller of the collective provides. Loaders look at the offset only."},
    {"no-peer", "A step sends or receives in a thread block without a peer that way.",
     "Set send or recv of the thread block."},
    {"shared-connection", "Two thread blocks send, or receive, on the same connection.",
     "Nothing orders their messages. Use another channel, or one thread block."},
    {"unmatched-send", "A send has no receive.",
     "The k-th send of a connection meets its k-th receive. A step is missing at the other end, or "
     "stands on another channel."},
    {"unmatched-receive", "A receive has no send.",
     "The k-th send of a connection meets its k-th receive. A step is missing at the other end, or "
     "stands on another channel."},
    {"count-mismatch", "A send and its receive have different counts.",
     "The k-th send of a connection meets its k-th receive: compare the order of the steps too."},
    {"never-published", "A step waits for one that is never announced.",
     "The step named by depid and deps, or a later one of its thread block, needs hasdep=\"1\"; "
     "nop "
     "never announces anything."},
    {"order-deadlock", "Steps wait for each other through orders and messages.",
     "None of the steps of the cycle can start. Send before receiving on one side."},
    {"dependency-deadlock", "Steps wait for each other, one of them through a dependency.",
     "None of the steps of the cycle can start. Remove or turn round one of the dependencies."},
    {"capacity-deadlock", "Steps wait for each other because a connection is full.",
     "A connection holds 8 transmissions with LL and LL128 and 2 with Simple; then a send waits. "
     "Receive earlier, or use another channel."},
    {"data-race", "Two steps touch one cell in either order, and one of them writes it.",
     "Neither dependencies nor messages order the two steps: in some run one comes first, in "
     "another run the other. Add a dependency (depid, deps, hasdep)."},
    {"missing-data", "A cell of the output was never written.",
     "A receive or a copy is missing, or its source was never written."},
    {"wrong-chunk", "A cell of the output holds a chunk that belongs elsewhere.",
     "Compare the offsets of the steps that made it."},
    {"double-count", "A cell of the output holds a contribution more than once.",
     "A reduction is done twice, or its operands have met before."},
    {"lost-contribution", "A cell of the output lacks a contribution.",
     "A reduction is missing, or a copy stands where a reduction should."},
});

constexpr auto kOnesidedRules = std::to_array<RuleText>({
    {"malformed", "A field is missing, or the executor refuses an operation.",
     "The plan cannot be loaded as it is written."},
    {"executor-limit", "The plan exceeds a limit of the executor.",
     "Thread blocks hold 64 ops, 16 channels of a type and 16 remote buffers, ops 8 channels."},
    {"no-channel", "An operation names a channel or semaphore that there is not.",
     "The numbers in an op are positions in the lists of its thread block."},
    {"no-buffer", "An operation names a remote buffer that there is not.",
     "The numbers in an op are positions in the list of its thread block, by channel type."},
    {"no-peer", "A rank is named that the plan does not have.",
     "Compare the rank with the number of ranks."},
    {"wrong-peer", "A transfer goes through a channel to a different rank from its buffer's.",
     "Channel and buffer have to belong to the same peer."},
    {"size-mismatch", "Regions that belong together have different sizes.",
     "An operation works element by element: all its regions are equally long."},
    {"out-of-bounds", "A region reaches past its buffer.",
     "Packets take twice the space, at twice the offset; a round of a pipeline is a whole unit."},
    {"barrier-mismatch", "The blocks that meet at a barrier are not those it expects.",
     "All blocks pass a barrier equally often, and as many as it says."},
    {"packet-overwritten", "Two packets with one flag go to one slot.",
     "The flag is the number of the launch: a slot takes one packet in a launch."},
    {"packet-never-written", "A packet is polled that nothing writes in that launch.",
     "Compare the slot with those that peers write."},
    {"unmatched-wait", "A counter gets fewer signals than it is waited for.",
     "A signal is missing, or goes to the other end of another channel."},
    {"deadlock", "Operations wait for each other for ever.",
     "None of the operations of the cycle can go on. Signal before waiting."},
    {"signal-surplus",
     "A counter gets more signals than it is waited for, and its waits end too early.",
     "Signals are never reset: those left over end the waits of later launches."},
    {"data-race", "Two operations touch one cell in either order, and one of them writes it.",
     "Nothing orders them: add a signal and a wait, or a barrier."},
    {"missing-sync",
     "Two operations of a block are taken to be in order, but threads only meet at nop and "
     "barrier.",
     "Insert a nop between them and what follows."},
    {"relaxed-order", "A relaxed signal or wait is taken to order memory.",
     "Use signal and wait (release, acquire) where data was written."},
    {"missing-flush",
     "The source of a transfer is overwritten before the transfer is known to be complete.",
     "Use pwsf or flush, or wait for an answer of the receiver."},
    {"early-access", "A peer touches a user buffer before its owner has begun the launch.",
     "Wait for a signal that the owner sends in this launch first."},
    {"late-access", "A peer touches a user buffer when its owner may have ended the launch.",
     "The owner has to wait for a signal that comes after the access."},
    {"scratch-reuse", "A launch touches scratch memory that an earlier one still uses.",
     "Use both halves of a doubled buffer, or wait until the peers are done."},
    {"missing-data", "A cell of the output is made of memory that was never written.",
     "A copy or a transfer is missing, or its source was never written."},
    {"stale-data", "A cell of the output holds data of another launch.",
     "It was not written again in this launch."},
    {"double-count", "A cell of the output holds a contribution more than once.",
     "A reduction is done twice, or its operands have met before."},
    {"wrong-chunk", "A cell of the output holds a chunk that belongs elsewhere.",
     "Compare the indexes of the operations that made it."},
    {"lost-contribution", "A cell of the output lacks a contribution.",
     "A reduction is missing, or a copy stands where a reduction should."},
    {"wrong-result", "The outputs are not what the collective defines.",
     "Compare which rank sends to which."},
});

constexpr auto kPlanRules = std::to_array<RuleText>({
    {"out-of-bounds", "An operation names elements that its buffer has no place for.",
     "A device sends from what it has of the source or has received, and receives what it is to "
     "end with."},
    {"unmatched", "A send and the receive that it is for differ, or one of them is not there.",
     "The k-th send from one device to another meets its k-th receive: compare elements and "
     "order."},
    {"deadlock", "Devices wait for each other for ever.",
     "A send waits for its receive. Put operations that wait for each other into one step."},
    {"overwritten", "A receive writes what another operation of the same step reads or writes.",
     "Put the two operations into different steps."},
    {"not-held", "A device sends an element that it does not have by then.",
     "Receive it in an earlier step, or send it from a device that has it."},
    {"missing", "A device never receives an element that it is to end with.",
     "A transfer is missing or too small."},
});

constexpr auto kHloRules = std::to_array<RuleText>({
    {"contributions", "An output holds the wrong contributions.",
     "Compare the groups, their order, the dimensions and the offsets of the collectives."},
    {"value", "An output has another value for inputs that were drawn.",
     "Both modules were run on the same inputs: compare device, output and index with the "
     "instructions that were changed."},
    {"order", "A floating-point sum is added in another order.",
     "The sums are equal as numbers, but not as they are rounded. Without --order that is no "
     "fault."},
    {"signature", "Two modules have different parameters or outputs.",
     "Only modules of the same signature can be compared."},
    {"shapes", "The shape of a result does not follow from its operands.",
     "Look at the dimensions that the instruction names."},
    {"groups", "The replica groups of a collective are malformed.",
     "Every device stands in one group at most; groups have the size that the shapes say."},
    {"pairs", "The source-target pairs of a collective-permute are malformed.",
     "No device is twice a source, or twice a target."},
    {"operands", "An instruction does not have the operands that it needs.",
     "Compare the number and the types of the operands."},
    {"unmatched", "A send, a receive or a collective has no counterpart on another device.",
     "A send needs a receive on the same channel with the same pair of devices; a collective needs "
     "one on the same channel in the program of every device of its groups."},
    {"deadlock", "Devices wait for each other for ever.",
     "The explanation names the cycle: issue one of its communications earlier."},
});

constexpr auto kDefinitionRules = std::to_array<RuleText>({
    {"satisfiable", "No group can satisfy all premises.",
     "The premises that exclude each other are named: the collective never runs."},
    {"nothing-invented", "A device ends with a contribution that nobody in the group held.",
     "The post-state may only speak of contributions that some device holds before the step."},
    {"chunks-apart", "A contribution moves from one chunk to another.",
     "Chunk r is the same place in the data everywhere: the post-state of a chunk may only take "
     "from that chunk."},
    {"sums-whole", "A sum is taken apart.",
     "A device holds one number for a chunk; a part cannot be taken out of it."},
    {"no-double-count", "A contribution is counted twice.",
     "A premise that the rows which are added up are disjoint is missing, or does not hold for "
     "every size."},
    {"realisable", "A row after the step is not a sum of disjoint rows before it.",
     "Copying and adding cannot make what the post-state says."},
    {"keeps-all", "A contribution is lost.",
     "What a device of the group held, some device of it has to hold after the step."},
    {"measure", "The measure does not rise.",
     "It has to rise strictly in every legal step, so that no program goes on for ever."},
    {"equivariant", "The number of a contributor matters.",
     "Position i of a group is not device i: compare contributors by what is held of them only."},
});

/// Of flight recorder dumps, pipeline schedules and transfer plans.
constexpr auto kRecordRules = std::to_array<RuleText>({
    {"mismatched-collective", "Ranks make different collectives where they have to make the same.",
     "The calls of a group have to be the same on all of its ranks, in the same order: look for a "
     "branch that not all ranks take."},
    {"reordered-collectives", "Ranks make the same collectives in different orders.",
     "Each waits for the other in a call that the other makes later."},
    {"mismatched-type", "Ranks pass elements of different types to one collective.",
     "The bytes of one type are read as another, or the call hangs."},
    {"mismatched-size", "Ranks pass different numbers of elements to one collective.",
     "The call hangs or overwrites memory: pad uneven shards, or use the variant for uneven "
     "sizes."},
    {"missing-call", "Ranks wait in a collective that another rank never makes.",
     "Look at the last call of that rank."},
    {"deadlock", "Everyone waits for someone else.",
     "The explanation names the cycle: change the order of one of its members."},
    {"unmatched-send", "A send waits for a receive that never comes.", "Look at the receiver."},
    {"unmatched-receive", "A receive waits for a send that never comes.", "Look at the sender."},
    {"stage-placement", "A stage of the pipeline is on two ranks.",
     "All actions of a stage belong to the row of one rank."},
    {"duplicate-work", "A stage computes something twice for a microbatch.",
     "Gradients would be added twice."},
    {"missing-work", "A stage never computes something for a microbatch.",
     "The gradients of the step are incomplete."},
    {"order", "A rank uses a result before it computes it.",
     "Move the action behind what it needs."},
    {"missing-send", "A rank waits for activations or gradients that no rank sends.",
     "Add the send to the row of the other stage's rank."},
    {"missing-receive", "A rank uses, or another sends, what it never receives.",
     "Add the receive to the row of the rank."},
    {"p2p-order", "Two ranks issue their sends and receives in different orders.",
     "Both orders have to be equal, as the calls of one communicator are."},
    {"bounds", "A box is empty or reaches beyond the tensor.", "Look at the offsets."},
    {"source", "A rank sends what it does not hold.", "Its source shards do not cover the box."},
    {"destination", "A rank receives what it has no place for.",
     "Its destination shards do not cover the box."},
    {"twice", "An element arrives twice.",
     "The second arrival may overwrite what the receiver has done with the first."},
    {"missing", "An element never arrives.", "The receiver keeps an old value."},
});

bool is_record(std::string_view format) {
  return format == "flight-recorder" || format == "pipeline-schedule" || format == "transfer-plan";
}

std::span<const RuleText> rules_of(std::string_view format) {
  if (format == "program") return kProgramRules;
  if (format == "msccl") return kMscclRules;
  if (format == "onesided") return kOnesidedRules;
  if (format == "reshard-plan") return kPlanRules;
  if (format == "hlo") return kHloRules;
  if (format == "definition") return kDefinitionRules;
  if (is_record(format)) return kRecordRules;
  return {};
}

}  // namespace

std::string rule_id(std::string_view format, std::string_view rule) {
  return fmt::format("{}/{}", format, rule);
}

RuleText rule_text(std::string_view format, std::string_view rule) {
  const std::span<const RuleText> rules = rules_of(format);
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const RuleText& each) { return each.name == rule; });
  if (found != rules.end()) return *found;
  invariant(format == "program", "a rule without a text");
  return {rule, "A premise of a user-defined collective does not hold.",
          "See the definition given with --collectives."};
}

std::string rule_page(std::string_view format) {
  if (format == "msccl") return "docs/msccl.md";
  if (format == "onesided") return "docs/onesided.md";
  if (format == "hlo") return "docs/hlo.md";
  if (is_record(format)) return "docs/records.md";
  return format == "reshard-plan" ? "docs/reshard.md" : "docs/definitions.md";
}

}  // namespace p2
