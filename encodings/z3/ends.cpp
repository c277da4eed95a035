#include "encodings/z3/ends.h"

#include "encodings/z3/reading.h"
#include "engine/collective/language/built_in.h"

namespace p2::z3_encoding {
namespace {

/// The rows after one step of a definition on every class of more than one device.
SystemRows after(const language::Definition& definition, const std::vector<Group>& classes,
                 SystemRows rows) {
  const Rule rule(definition);
  for (const Group& members : classes) {
    if (members.size() < 2) continue;
    const GroupRows before = rows.of(members);
    Reading reading(rows.row(0, 0).ctx(), rule, before);
    rows.take(members, reading);
  }
  return rows;
}

}  // namespace

EndRows end_rows(z3::context& context, const Goal& goal, Start start,
                 const std::vector<Group>& classes, std::uint32_t chunks,
                 std::uint32_t contributors) {
  std::uint32_t devices = 0;
  for (const Group& members : classes) devices += static_cast<std::uint32_t>(members.size());
  SystemRows begin = SystemRows::initial(context, devices, chunks, contributors);
  if (goal.is_allreduce()) return {begin, begin.with_sums(classes)};
  if (const std::optional<Collective> prepared = preparation(start)) {
    begin = after(language::built_in(to_string(*prepared)), classes, std::move(begin));
  }
  return {begin, after(goal.definition(), classes, begin)};
}

}  // namespace p2::z3_encoding
