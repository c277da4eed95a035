#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/onesided/unrolling.h"

namespace p2::onesided {

/// An expression over the rank `r`, the block `b`, the number of ranks `n`, the `launch` and the
/// variables of loops.
struct Expression {
  enum class Kind : std::uint8_t { Number, Name, Add, Subtract, Multiply, Divide, Remainder };
  Kind kind = Kind::Number;
  std::int64_t number = 0;
  std::string name = {};
  std::vector<Expression> parts = {};  ///< both operands
  std::size_t line = 0;
  std::size_t column = 0;
};

/// `all`, or the numbers from `first` to `last`.
struct NumberSet {
  bool all = false;
  Expression first = {};
  std::optional<Expression> last = {};
  std::optional<Expression> except = {};
};

/// Cells of a buffer: of the own rank, of another, or of all ranks of a group.
struct Reference {
  std::string buffer;
  std::optional<Expression> rank = {};
  std::optional<NumberSet> group = {};
  Expression first = {};
  std::optional<Expression> last = {};  ///< inclusive
  std::size_t line = 0;
  std::size_t column = 0;
};

struct TextStatement {
  enum class Kind : std::uint8_t {
    For,
    Loop,
    Put,
    Get,
    Copy,
    Reduce,
    GroupReduce,  ///< `multimem_ld_reduce`
    GroupStore,   ///< `multimem_st`
    PutPackets,
    Poll,
    Signal,
    Wait,
    Fence,
    Sync,
    Barrier,
    Flush
  };
  enum class Scope : std::uint8_t { Block, Gpu, System };
  Kind kind = Kind::Sync;
  bool async = false;
  std::string name = {};  ///< the variable of For, the counter of Signal and Wait
  NumberSet set = {};     ///< of For and Barrier
  std::vector<TextStatement> body = {};
  std::vector<Reference> targets = {};
  std::vector<Reference> sources = {};
  std::optional<Expression> peer = {};    ///< of Signal and Wait
  std::optional<Expression> amount = {};  ///< of Loop and `wait +=`
  std::optional<Expression> threshold = {};
  std::optional<Order> order = {};
  Scope scope = Scope::System;
  std::size_t line = 0;
  std::size_t column = 0;
};

struct TextBlock {
  NumberSet ranks = {};
  std::optional<NumberSet> blocks = {};
  std::vector<TextStatement> body = {};
  std::size_t line = 0;
};

struct TextBuffer {
  std::string name;
  std::uint32_t cells = 0;
  bool packets = false;
  bool doubled = false;  ///< even and odd launches have a half each
};

struct TextCounter {
  std::string name;
  std::uint32_t initial = 0;
  bool per_peer = false;
};

/// A plan in the text format, for ranks that are numbered from 0.
struct TextPlan {
  std::string collective;
  std::uint32_t ranks = 0;
  bool in_place = false;
  bool threads = false;  ///< blocks have many threads, which meet at `sync` only
  std::vector<TextBuffer> buffers = {};
  std::vector<TextCounter> counters = {};
  std::vector<TextBlock> blocks = {};
};

/// Whether the first word of a text is `plan`.
bool is_text_plan(std::string_view text);

/// Reads a plan. Throws InputError with line and column.
TextPlan read_text_plan(const std::string& source, const std::string& text);

/// All launches of a plan, or the rule that it breaks. Throws InputError for expressions without a
/// meaning.
std::variant<Unrolling, Violation> unroll(const TextPlan& plan, const std::string& source,
                                          std::uint32_t launches);
std::uint32_t launches_to_check(const TextPlan& plan);

}  // namespace p2::onesided
