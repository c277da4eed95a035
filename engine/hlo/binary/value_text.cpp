// Shapes, constants, shardings and strings of binary modules.

#include "engine/hlo/binary/binary_module.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "engine/hlo/module.h"
#include "p2/error.h"

namespace p2::hlo::binary {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::int32_t kTuple = 13;
constexpr std::int32_t kPred = 1;

/// By the number of the element type (PrimitiveType in xla/xla_data.proto).
constexpr auto kTypes = std::to_array<std::string_view>(
    {"",           "pred",       "s8",   "s16",    "s32",      "s64",    "u8",     "u16",
     "u32",        "u64",        "f16",  "f32",    "f64",      "",       "opaque", "c64",
     "bf16",       "token",      "c128", "f8e5m2", "f8e4m3fn", "s4",     "u4",     "f8e4m3b11fnuz",
     "f8e5m2fnuz", "f8e4m3fnuz", "s2",   "u2",     "f8e4m3",   "f8e3m4", "s1",     "u1",
     "f4e2m1fn",   "f8e8m0fnu"});

std::string nested_shape(const Shape& shape, const std::string& where, int depth) {
  require_known(shape, where);
  if (depth == kMaxDepth) throw InputError({where}, "a tuple nested too deeply, expected less");
  if (shape.element_type() == kTuple) {
    std::string text = "(";
    for (const Shape& part : shape.tuple_shapes()) {
      if (text.size() > 1) text += ", ";
      text += nested_shape(part, where, depth + 1);
    }
    return text + ")";
  }
  const auto type = static_cast<std::size_t>(shape.element_type());
  if (type >= kTypes.size() || kTypes[type].empty()) {
    throw InputError({where}, fmt::format("element type {}, expected one of XLA's numbers up to {}",
                                          shape.element_type(), kTypes.size() - 1));
  }
  std::string text(kTypes[type]);
  text += '[';
  for (int i = 0; i < shape.dimensions_size(); ++i) {
    if (i > 0) text += ',';
    if (i < shape.is_dynamic_dimension_size() && shape.is_dynamic_dimension(i)) text += "<=";
    text += std::to_string(shape.dimensions(i));
  }
  text += ']';
  if (shape.layout().minor_to_major_size() > 0) text += list_text(shape.layout().minor_to_major());
  return text;
}

/// A floating-point format of at most 16 bits.
struct SmallFloat {
  enum class Specials : std::uint8_t {
    Ieee,        ///< infinities and NaN
    OnlyNan,     ///< NaN where all bits but the sign are ones ("fn")
    UnsignedNan  ///< no negative zero: its bits are NaN ("fnuz")
  };
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials = Specials::Ieee;
};

double value_of(std::uint32_t bits, const SmallFloat& format) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  const std::uint32_t all_ones = (1U << format.exponent_bits) - 1;
  const std::uint32_t exponent = (bits >> format.mantissa_bits) & all_ones;
  const bool negative = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1U) != 0;
  using Specials = SmallFloat::Specials;
  if (format.specials == Specials::UnsignedNan && negative && exponent == 0 && mantissa == 0) {
    return kNan;
  }
  if (exponent == all_ones && format.specials == Specials::Ieee) {
    if (mantissa != 0) return kNan;
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  if (exponent == all_ones && format.specials == Specials::OnlyNan &&
      mantissa == (1U << format.mantissa_bits) - 1) {
    return kNan;
  }
  const double fraction = exponent == 0 ? mantissa : mantissa + (1U << format.mantissa_bits);
  const int power = (exponent == 0 ? 1 : static_cast<int>(exponent)) - format.bias;
  const double magnitude = std::ldexp(fraction, power - format.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::vector<std::string> small_floats(const std::string& bytes, const SmallFloat& format) {
  const bool wide = format.exponent_bits + format.mantissa_bits == 15;  // little endian
  std::vector<std::string> texts;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (std::size_t i = 0; i + (wide ? 1 : 0) < bytes.size(); i += wide ? 2 : 1) {
    const std::uint32_t bits =
        wide ? byte(i) | static_cast<std::uint32_t>(byte(i + 1)) << 8U : byte(i);
    texts.push_back(number_text(value_of(bits, format)));
  }
  return texts;
}

template <typename Numbers>
std::vector<std::string> numbers(const Numbers& values) {
  std::vector<std::string> texts;
  for (const auto value : values) texts.push_back(fmt::format("{}", value));
  return texts;
}

template <typename Numbers>
std::vector<std::string> complex_numbers(const Numbers& values) {
  std::vector<std::string> texts;
  for (int i = 0; i + 1 < values.size(); i += 2) {
    texts.push_back(fmt::format("({}, {})", values[i], values[i + 1]));
  }
  return texts;
}

template <typename Integer>
std::vector<std::string> little_endian(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + sizeof(Integer) <= bytes.size(); i += sizeof(Integer)) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < sizeof(Integer); ++k) {
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) << (8 * k);
    }
    texts.push_back(std::to_string(static_cast<Integer>(bits)));
  }
  return texts;
}

[[noreturn]] void not_read(const Literal& literal, const std::string& where) {
  throw LimitReached(LimitReached::Kind::Size,
                     fmt::format("{}: a binary constant of {}, whose elements are not read", where,
                                 shape_text(literal.shape(), where)));
}

/// Integers of fewer than 8 bits, a byte each, with or without the bits of the sign above. Older
/// XLA packs several into a byte, which is not read: then there are fewer bytes, and the byte of a
/// single element has only zeros below it.
std::vector<std::string> narrow_integers(const Literal& literal, const std::string& bytes, int bits,
                                         bool is_signed, const std::string& where) {
  std::size_t elements = 1;
  for (const std::int64_t size : literal.shape().dimensions()) {
    elements *= static_cast<std::size_t>(size);
  }
  if (elements != bytes.size()) not_read(literal, where);
  const int range = 1 << bits;
  std::vector<std::string> texts;
  for (const char byte : bytes) {
    int value = static_cast<unsigned char>(byte);
    const bool has_sign_above = value >= 256 - range / 2;
    if (is_signed && has_sign_above) value -= 256;
    if (is_signed && value >= range / 2 && value < range) value -= range;
    const int least = is_signed ? -range / 2 : 0;
    if (value < least || value >= least + range) not_read(literal, where);
    texts.push_back(std::to_string(value));
  }
  return texts;
}

/// In the order in which they are stored.
std::vector<std::string> stored_elements(const Literal& literal, const std::string& where) {
  using Specials = SmallFloat::Specials;
  switch (literal.shape().element_type()) {
    case kPred: {
      std::vector<std::string> texts;
      for (const bool value : literal.preds()) texts.emplace_back(value ? "1" : "0");
      return texts;
    }
    case 2:
      return little_endian<std::int8_t>(literal.s8s());
    case 3:
      return little_endian<std::int16_t>(literal.s16s());
    case 4:
      return numbers(literal.s32s());
    case 5:
      return numbers(literal.s64s());
    case 6:
      return little_endian<std::uint8_t>(literal.u8s());
    case 7:
      return little_endian<std::uint16_t>(literal.u16s());
    case 8:
      return numbers(literal.u32s());
    case 9:
      return numbers(literal.u64s());
    case 10:
      return small_floats(literal.f16s(), {5, 10, 15});
    case 11:
      return numbers(literal.f32s());
    case 12:
      return numbers(literal.f64s());
    case 15:
      return complex_numbers(literal.c64s());
    case 16:
      return small_floats(literal.bf16s(), {8, 7, 127});
    case 18:
      return complex_numbers(literal.c128s());
    case 19:
      return small_floats(literal.f8e5m2s(), {5, 2, 15});
    case 20:
      return small_floats(literal.f8e4m3fns(), {4, 3, 7, Specials::OnlyNan});
    case 23:
      return small_floats(literal.f8e4m3b11fnuzs(), {4, 3, 11, Specials::UnsignedNan});
    case 24:
      return small_floats(literal.f8e5m2fnuzs(), {5, 2, 16, Specials::UnsignedNan});
    case 25:
      return small_floats(literal.f8e4m3fnuzs(), {4, 3, 8, Specials::UnsignedNan});
    case 21:
      return narrow_integers(literal, literal.s4s(), 4, true, where);
    case 22:
      return narrow_integers(literal, literal.u4s(), 4, false, where);
    case 26:
      return narrow_integers(literal, literal.s2s(), 2, true, where);
    case 27:
      return narrow_integers(literal, literal.u2s(), 2, false, where);
    case 28:
      return small_floats(literal.f8e4m3s(), {4, 3, 7});
    case 29:
      return small_floats(literal.f8e3m4s(), {3, 4, 3});
    default:
      not_read(literal, where);
  }
}

/// From the physical order, the first of minor_to_major fastest, to the row-major one.
std::vector<std::string> in_row_major(const std::vector<std::string>& stored, const Shape& shape) {
  const auto& order = shape.layout().minor_to_major();
  const auto rank = static_cast<std::size_t>(shape.dimensions_size());
  if (static_cast<std::size_t>(order.size()) != rank) return stored;
  std::vector<std::size_t> stride(rank, 0);
  std::size_t product = 1;
  for (const std::int64_t dimension : order) {
    if (dimension < 0 || dimension >= shape.dimensions_size()) return {};
    stride[static_cast<std::size_t>(dimension)] = product;
    product *= static_cast<std::size_t>(shape.dimensions(static_cast<int>(dimension)));
  }
  if (product != stored.size()) return {};
  std::vector<std::string> elements;
  std::vector<std::size_t> index(rank, 0);
  for (std::size_t count = 0; count < product; ++count) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < rank; ++k) at += index[k] * stride[k];
    elements.push_back(stored[at]);
    for (std::size_t k = rank; k-- > 0;) {
      if (++index[k] < static_cast<std::size_t>(shape.dimensions(static_cast<int>(k)))) break;
      index[k] = 0;
    }
  }
  return elements;
}

std::string nested_literal(const Literal& literal, const std::string& where, int depth) {
  if (depth == kMaxDepth) throw InputError({where}, "a tuple nested too deeply, expected less");
  require_known(literal, where);
  const Shape& shape = literal.shape();
  if (shape.element_type() == kTuple) {
    std::string text = "( ";
    for (int i = 0; i < literal.tuple_literals_size(); ++i) {
      if (i > 0) text += ", ";
      const Literal& part = literal.tuple_literals(i);
      text += shape_text(part.shape(), where) + " " + nested_literal(part, where, depth + 1);
    }
    return text + " )";
  }
  std::size_t count = 1;
  for (const std::int64_t size : shape.dimensions()) {
    if (size < 0) throw InputError({where}, "a negative size, expected one that is not");
    count *= static_cast<std::size_t>(size);
    if (count > kMaxLiteralElements) {
      throw LimitReached(
          LimitReached::Kind::Size,
          fmt::format("{}: a constant of more than {} elements", where, kMaxLiteralElements));
    }
  }
  const std::vector<std::string> elements = in_row_major(stored_elements(literal, where), shape);
  if (elements.size() != count) {
    throw InputError({where}, fmt::format("a constant of {} with other elements, expected {}",
                                          shape_text(shape, where), count));
  }
  if (shape.dimensions_size() == 0) {
    if (shape.element_type() == kPred) return elements[0] == "1" ? "true" : "false";
    return elements[0];
  }
  std::string text = "{";
  for (const std::string& element : elements) {
    if (text.size() > 1) text += ", ";
    text += element;
  }
  return text + "}";
}

}  // namespace

void fail_unknown_fields(const std::string& where) {
  throw LimitReached(
      LimitReached::Kind::Size,
      fmt::format("{}: has fields of a later version of XLA, which are not known", where));
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      quoted += '\\';
      quoted += each;
    } else if (each == '\n') {
      quoted += "\\n";
    } else if (each == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += each;
    }
  }
  return quoted + "\"";
}

std::string dictionary_or_quoted(const std::string& text) {
  bool in_string = false;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char each = text[i];
    if (static_cast<unsigned char>(each) < 0x20 || (i == 0 && each != '{')) return in_quotes(text);
    if (in_string && each == '\\') {
      ++i;
    } else if (each == '"') {
      in_string = !in_string;
    } else if (!in_string && each == '{') {
      ++depth;
    } else if (!in_string && each == '}') {
      if (--depth == 0 && i + 1 != text.size()) return in_quotes(text);
    }
  }
  return in_string || depth != 0 || text.empty() ? in_quotes(text) : text;
}

std::string shape_text(const Shape& shape, const std::string& where) {
  return nested_shape(shape, where, 0);
}

std::string literal_text(const Literal& literal, const std::string& where) {
  return nested_literal(literal, where, 0);
}

std::string sharding_text(const Sharding& sharding, const std::string& where) {
  require_known(sharding, where);
  enum Type : std::uint8_t { Replicated, Maximal, Tuple, Tiled, Manual, Unknown, Unreduced };
  constexpr auto kNames = std::to_array<std::string_view>(
      {"replicated", "maximal", "", "", "manual", "unknown", "unreduced"});
  if (!sharding.named().empty()) return "{named}";
  const auto type = static_cast<std::size_t>(sharding.type());
  if (type == Tuple) {
    std::string text = "{";
    for (const Sharding& part : sharding.tuple()) {
      if (text.size() > 1) text += ", ";
      text += sharding_text(part, where);
    }
    return text + "}";
  }
  if (type >= kNames.size()) return fmt::format("{{type {}}}", type);
  std::string group;
  if (sharding.is_shard_group()) {
    group = fmt::format(" shard_{} {}", sharding.shard_group_type() == 0 ? "as" : "like",
                        sharding.shard_group_id());
  }
  if (type == Maximal) {
    return fmt::format("{{maximal device={}{}}}", joined_text(sharding.devices()), group);
  }
  if (type != Tiled) return fmt::format("{{{}{}}}", kNames[type], group);
  std::string text = fmt::format("{{devices=[{}]", joined_text(sharding.tile_dimensions()));
  if (sharding.iota_reshape_dims_size() > 0) {
    text += "<=" + iota_text(sharding.iota_reshape_dims(), sharding.iota_transpose());
  } else {
    text += joined_text(sharding.devices());
  }
  if (sharding.replicate_on_last_dimension()) text += " last_tile_dim_replicate";
  if (sharding.last_tile_dims_size() > 0) {
    text += " last_tile_dims={";
    for (int i = 0; i < sharding.last_tile_dims_size(); ++i) {
      if (i > 0) text += ", ";
      const auto last = static_cast<std::size_t>(sharding.last_tile_dims(i));
      text += last < kNames.size() ? std::string(kNames[last]) : std::to_string(last);
    }
    text += "}";
  }
  return text + group + "}";
}

std::string frontend_attributes_text(const FrontendAttributes& attributes) {
  const std::map<std::string, std::string> sorted(attributes.map().begin(), attributes.map().end());
  std::string text = "{";
  for (const auto& [name, value] : sorted) {
    if (text.size() > 1) text += ',';
    text += name + "=" + dictionary_or_quoted(value);
  }
  return text + "}";
}

}  // namespace p2::hlo::binary
