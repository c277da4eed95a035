// Constants in the textual form of MLIR: elements as numbers, as bit patterns, or as bytes (MLIR
// Language Reference, DenseIntOrFPElementsAttr). The formats of narrow floats are those of LLVM's
// APFloat.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "engine/hlo/text/hlo_syntax.h"
#include "engine/hlo/text/mlir_syntax.h"

namespace p2::hlo {
namespace {

/// Which bit patterns of a float are no finite numbers.
enum class NonFinite : std::uint8_t {
  Ieee,          ///< the largest exponent: infinities and NaNs
  AllOnes,       ///< all ones: a NaN (`FN`)
  NegativeZero,  ///< the pattern of -0: a NaN (`FNUZ`)
  None
};

struct FloatFormat {
  std::string_view name;
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
  NonFinite non_finite;
};

constexpr auto kFloatFormats = std::to_array<FloatFormat>({
    {"f64", 11, 52, 1023, NonFinite::Ieee},
    {"f32", 8, 23, 127, NonFinite::Ieee},
    {"bf16", 8, 7, 127, NonFinite::Ieee},
    {"f16", 5, 10, 15, NonFinite::Ieee},
    {"f8e5m2", 5, 2, 15, NonFinite::Ieee},
    {"f8e4m3", 4, 3, 7, NonFinite::Ieee},
    {"f8e3m4", 3, 4, 3, NonFinite::Ieee},
    {"f8e4m3fn", 4, 3, 7, NonFinite::AllOnes},
    {"f8e5m2fnuz", 5, 2, 16, NonFinite::NegativeZero},
    {"f8e4m3fnuz", 4, 3, 8, NonFinite::NegativeZero},
    {"f8e4m3b11fnuz", 4, 3, 11, NonFinite::NegativeZero},
    {"f4e2m1fn", 2, 1, 1, NonFinite::None},
});

constexpr std::uint64_t low_ones(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// mantissa · 2^power, exactly if a Number can represent it.
LiteralElement binary_number(bool negative, std::uint64_t mantissa, int power, bool is_double) {
  if (mantissa == 0) return {};
  const int zeros = std::countr_zero(mantissa);
  const Wide odd =
      static_cast<Wide>(mantissa >> static_cast<unsigned>(zeros)) * (negative ? -1 : 1);
  const int shift = power + zeros;
  if (shift > -63 && shift < 63) {
    const Wide factor = Wide{1} << (shift < 0 ? -shift : shift);
    if (const auto number =
            shift < 0 ? Number::ratio(odd, factor) : Number::ratio(odd * factor, 1)) {
      return {*number, {}};
    }
  }
  const double value = std::ldexp(static_cast<double>(odd), shift);
  return {{}, is_double ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value)};
}

LiteralElement float_element(std::uint64_t bits, const FloatFormat& format) {
  const std::uint64_t largest_exponent = low_ones(format.exponent_bits);
  const std::uint64_t largest_mantissa = low_ones(format.mantissa_bits);
  const bool negative = ((bits >> (format.exponent_bits + format.mantissa_bits)) & 1U) != 0;
  const std::uint64_t exponent = (bits >> format.mantissa_bits) & largest_exponent;
  const std::uint64_t mantissa = bits & largest_mantissa;
  const char* const sign = negative ? "-" : "";
  if (format.non_finite == NonFinite::Ieee && exponent == largest_exponent) {
    if (mantissa == 0) return {{}, fmt::format("{}inf", sign)};
    const bool quiet = mantissa == std::uint64_t{1} << (format.mantissa_bits - 1);
    return {{}, quiet ? fmt::format("{}nan", sign) : fmt::format("{}nan(0x{:x})", sign, mantissa)};
  }
  const bool ones = exponent == largest_exponent && mantissa == largest_mantissa;
  if (format.non_finite == NonFinite::AllOnes && ones) return {{}, fmt::format("{}nan", sign)};
  const bool minus_zero = negative && exponent == 0 && mantissa == 0;
  if (format.non_finite == NonFinite::NegativeZero && minus_zero) return {{}, "nan"};
  const std::uint64_t hidden = exponent == 0 ? 0 : std::uint64_t{1} << format.mantissa_bits;
  const int power = static_cast<int>(std::max<std::uint64_t>(exponent, 1)) - format.bias -
                    static_cast<int>(format.mantissa_bits);
  return binary_number(negative, mantissa | hidden, power, format.name == "f64");
}

/// The number with these bits; its text for a type without numbers.
LiteralElement element_of_bits(std::uint64_t bits, ElementType type) {
  const auto* const format =
      std::find_if(kFloatFormats.begin(), kFloatFormats.end(),
                   [&](const FloatFormat& each) { return each.name == type.name(); });
  if (format != kFloatFormats.end()) return float_element(bits, *format);
  if (type.name() == "f8e8m0fnu") {
    if (bits == 0xff) return {{}, "nan"};
    return binary_number(false, 1, static_cast<int>(bits & 0xffU) - 127, false);
  }
  if (type.kind() == ElementType::Kind::Boolean) return {{(bits & 1U) != 0 ? 1 : 0, 1}, {}};
  Wide value = static_cast<Wide>(bits & low_ones(type.bits()));
  const bool is_negative =
      type.kind() == ElementType::Kind::Signed && ((bits >> (type.bits() - 1)) & 1U) != 0;
  if (is_negative) value -= Wide{1} << type.bits();
  const auto number = type.is_integer() ? Number::ratio(value, 1) : std::nullopt;
  if (number) return {*number, {}};
  if (is_negative) return {{}, fmt::format("{}", static_cast<std::int64_t>(bits))};
  return {{}, type.is_integer() ? fmt::format("{}", bits) : fmt::format("0x{:X}", bits)};
}

int digit_of(char ch) {
  if (ch >= '0' && ch <= '9') return ch - '0';
  if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
  return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/// The bits of `0xFF800000`; nothing for other text, or more than 64 bits.
std::optional<std::uint64_t> bit_pattern(std::string_view text) {
  if (!text.starts_with("0x") || text.size() == 2 || text.size() > 18) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char ch : text.substr(2)) {
    const int digit = digit_of(ch);
    if (digit < 0) return std::nullopt;
    bits = bits << 4U | static_cast<std::uint64_t>(digit);
  }
  return bits;
}

/// The bytes of `0x0100`; nothing for other text.
std::optional<std::string> bytes_of(std::string_view text) {
  if (!text.starts_with("0x") || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 2; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return bits;
}

LiteralElement element_of_bytes(std::string_view bytes, ElementType type) {
  if (type.kind() != ElementType::Kind::Complex) {
    return element_of_bits(little_endian(bytes), type);
  }
  const ElementType part = *ElementType::from_xla(type.bits() == 64 ? "f32" : "f64");
  const auto text = [&](std::string_view half) {
    const LiteralElement element = element_of_bits(little_endian(half), part);
    return element.text.empty() ? to_string(element.number) : element.text;
  };
  const std::size_t half = bytes.size() / 2;
  return {{}, fmt::format("({}, {})", text(bytes.substr(0, half)), text(bytes.substr(half)))};
}

/// Reads all elements from their bytes, in little-endian order; whether their number fits. A
/// boolean takes a bit, or a byte; elements of less than a byte take one.
bool append_bytes(const std::string& bytes, Literal& literal) {
  const ElementType type = literal.shape.type;
  const std::int64_t count = literal.shape.elements();
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (count > static_cast<std::int64_t>(kMaxLiteralElements) && size > 16) return false;
  const std::int64_t each = (static_cast<std::int64_t>(type.bits()) + 7) / 8;
  if (each == 0) return false;
  const bool boolean = type.kind() == ElementType::Kind::Boolean;
  if (size == each || size == each * count) {
    for (std::int64_t i = 0; i < size; i += each) {
      literal.elements.push_back(
          element_of_bytes(std::string_view(bytes).substr(static_cast<std::size_t>(i),
                                                          static_cast<std::size_t>(each)),
                           type));
    }
    return true;
  }
  if (!boolean || size != (count + 7) / 8) return false;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i / 8)]);
    literal.elements.push_back(element_of_bits((byte >> (i % 8)) & 1U, type));
  }
  return true;
}

/// A number, a bit pattern or, of a complex type, `(1.0, 2.0)`.
LiteralElement read_dense_element(TextReader& reader) {
  if (reader.accept("(")) {
    const std::string pair(reader.raw(")", false));
    reader.expect(")", "after a complex number");
    return {{}, "(" + pair + ")"};
  }
  const std::string_view text = reader.literal();
  if (const auto number = Number::read(text)) return {*number, {}};
  return {{}, std::string(text)};
}

void read_dense_elements(TextReader& reader, Literal& literal) {
  std::size_t depth = 0;
  do {
    if (reader.accept("[")) {
      ++depth;
    } else if (depth > 0 && reader.accept("]")) {
      --depth;
    } else if (!reader.accept(",")) {
      if (literal.elements.size() == kMaxLiteralElements) {
        reader.fail(fmt::format("a constant of more than {} elements, expected fewer",
                                kMaxLiteralElements));
      }
      reader.require_growth(literal.elements);
      literal.elements.push_back(read_dense_element(reader));
    }
  } while (depth > 0);
}

}  // namespace

Literal read_dense(TextReader& reader) {
  Literal literal;
  std::optional<std::string> bytes;
  if (reader.accept("dense_resource<")) {
    literal.elided = true;
    reader.raw(">", false, true);
  } else {
    reader.expect("dense<", "before the elements of a constant");
    if (reader.next_is("\"")) {
      bytes = bytes_of(reader.quoted());
      literal.elided = !bytes;
    } else if (!reader.next_is(">")) {
      read_dense_elements(reader, literal);
    }
  }
  reader.expect(">", "after the elements of a constant");
  reader.expect(":", "before the type of a constant");
  literal.shape = read_mlir_type(reader).array;
  if (bytes) {
    literal.elided = !append_bytes(*bytes, literal);
    return literal;
  }
  for (LiteralElement& element : literal.elements) {
    if (const auto bits = bit_pattern(element.text)) {
      element = element_of_bits(*bits, literal.shape.type);
    }
  }
  const auto listed = static_cast<std::int64_t>(literal.elements.size());
  const bool splat = listed == 1;
  if (!literal.elided && !splat && listed != literal.shape.elements()) {
    reader.fail(fmt::format("{} elements for {}, expected {}", listed, to_string(literal.shape),
                            literal.shape.elements()));
  }
  return literal;
}

}  // namespace p2::hlo
