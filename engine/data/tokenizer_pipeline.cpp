// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenizer_pipeline.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

namespace {

class PipelineReader {
 public:
  PipelineReader(const TokenizerDescription& description, const std::string& name)
      : description_(description), name_(name) {}

  TokenizerPipeline read() {
    normalizer(parsed(description_.normalizer), "normalizer");
    pre_tokenizer(parsed(description_.pre_tokenizer), "pre_tokenizer");
    post_processor(parsed(description_.post_processor), "post_processor");
    decoder(parsed(description_.decoder), "decoder");
    if (other_splitters_) pipeline_.cuts_words = false;
    return std::move(pipeline_);
  }

 private:
  Json parsed(const std::string& text) const { return parse_json(text, name_); }

  [[noreturn]] void refuse(const std::string& place, const std::string& what) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be used: {} {}. Choose another tokenizer, or let one be "
                            "trained on your text.",
                            name_, place, what));
  }

  std::string type_of(const Json& step, const std::string& place) const {
    const auto type = step.is_object() ? step.find("type") : step.end();
    if (!step.is_object() || type == step.end() || !type->is_string())
      refuse(place, "must be an object with a \"type\"");
    return type->get<std::string>();
  }

  [[noreturn]] void refuse_type(const std::string& type, const std::string& place) const {
    refuse(place, fmt::format("is a \"{}\", which Athanor does not know", type.substr(0, 80)));
  }

  bool flag(const Json& step, const char* field, bool absent, const std::string& place) const {
    const auto found = step.find(field);
    if (found == step.end() || found->is_null()) return absent;
    if (!found->is_boolean()) refuse(place + "." + field, "must be true or false");
    return found->get<bool>();
  }

  std::string text(const Json& step, const char* field, const std::string& place) const {
    const auto found = step.find(field);
    if (found == step.end() || !found->is_string()) refuse(place + "." + field, "must be a text");
    return found->get<std::string>();
  }

  /// Calls `read` for each member of a Sequence.
  template <class Read>
  void sequence(const Json& step, const char* field, const std::string& place, const Read& read) {
    const auto members = step.find(field);
    if (members == step.end() || !members->is_array())
      refuse(place + "." + field, "must be a list");
    if (++depth_ > kDeepest) refuse(place, "is nested too deep");
    for (std::size_t index = 0; index < members->size(); ++index)
      read((*members)[index], fmt::format("{}.{}[{}]", place, field, index));
    --depth_;
  }

  void normalizer(const Json& step, const std::string& place) {
    using Kind = NormalizerStep::Kind;
    if (step.is_null()) return;
    const std::string type = type_of(step, place);
    static const std::array<std::pair<std::string_view, Kind>, 4> forms = {
        {{"NFC", Kind::nfc}, {"NFD", Kind::nfd}, {"NFKC", Kind::nfkc}, {"NFKD", Kind::nfkd}}};
    for (const auto& [form, kind] : forms) {
      if (type != form) continue;
      pipeline_.normalizer.push_back({.kind = kind});
      return;
    }
    if (type == "Sequence") {
      sequence(step, "normalizers", place,
               [this](const Json& each, const std::string& where) { normalizer(each, where); });
    } else if (type == "Prepend") {
      pipeline_.normalizer.push_back(
          {.kind = Kind::prepend, .from = "", .to = text(step, "prepend", place)});
    } else if (type == "Replace") {
      pipeline_.normalizer.push_back({.kind = Kind::replace,
                                      .from = literal(step, place),
                                      .to = text(step, "content", place)});
    } else {
      refuse_type(type, place);
    }
  }

  /// {"String": "…"} of a pattern; expressions are refused.
  std::string literal(const Json& step, const std::string& place) const {
    const auto pattern = step.find("pattern");
    if (pattern == step.end() || !pattern->is_object() || !pattern->contains("String"))
      refuse(place + ".pattern", "is not a plain text");
    const std::string found = text(*pattern, "String", place + ".pattern");
    if (found.empty()) refuse(place + ".pattern", "is empty");
    return found;
  }

  void pre_tokenizer(const Json& step, const std::string& place) {
    if (step.is_null()) return;
    const std::string type = type_of(step, place);
    if (pipeline_.byte_level) refuse(place, "comes after a ByteLevel, which must be the last");
    if (type == "Sequence") {
      sequence(step, "pretokenizers", place,
               [this](const Json& each, const std::string& where) { pre_tokenizer(each, where); });
    } else if (type == "ByteLevel") {
      if (flag(step, "add_prefix_space", true, place)) {
        require_first(place, "adds a space");
        pipeline_.preparation.push_back(
            {.kind = NormalizerStep::Kind::prepend, .from = " ", .to = " "});
      }
      pipeline_.byte_level = true;
      if (flag(step, "use_regex", true, place)) known(KnownPattern::gpt2);
    } else if (type == "Digits") {
      pipeline_.splitters.push_back(
          make_digit_splitter(flag(step, "individual_digits", false, place)));
    } else if (type == "Split") {
      split(step, place);
    } else if (type == "Metaspace") {
      metaspace(step, place);
    } else {
      refuse_type(type, place);
    }
  }

  void require_first(const std::string& place, const std::string& what) const {
    if (!pipeline_.splitters.empty() || !pipeline_.preparation.empty())
      refuse(place, what + " to pieces that others have cut already");
  }

  SplitBehavior behavior_of(const Json& step, const std::string& place) const {
    static constexpr std::array<std::string_view, 5> names = {
        "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    const std::string name = text(step, "behavior", place);
    for (std::size_t index = 0; index < names.size(); ++index) {
      if (name == names[index]) return static_cast<SplitBehavior>(index);
    }
    refuse(place + ".behavior", "is not known");
  }

  void known(KnownPattern pattern) {
    pipeline_.splitters.push_back(make_scanner(pattern));
    pipeline_.cuts_words = true;
  }

  void split(const Json& step, const std::string& place) try {
    const SplitBehavior behavior = behavior_of(step, place);
    const bool inverted = flag(step, "invert", false, place);
    const auto pattern = step.find("pattern");
    if (pattern != step.end() && pattern->is_object() && pattern->contains("Regex")) {
      const std::string expression = text(*pattern, "Regex", place + ".pattern");
      const KnownPattern* const found = known_pattern(expression);
      // These patterns match all of a text, so dropping the rest drops nothing.
      const bool isolates = (behavior == SplitBehavior::isolated && !inverted) ||
                            (behavior == SplitBehavior::removed && inverted);
      if (found != nullptr && isolates) {
        known(*found);
        return;
      }
      pipeline_.splitters.push_back(make_pattern_splitter(expression, behavior, inverted));
    } else {
      pipeline_.splitters.push_back(
          make_literal_splitter(literal(step, place), behavior, inverted));
    }
    other_splitters_ = true;
  } catch (const Error& error) {
    if (error.message().starts_with(name_)) throw;
    refuse(place + ":", error.message());
  }

  /// "always", "first" or "never".
  std::string prepend_scheme(const Json& step, const std::string& place) const {
    if (!step.contains("prepend_scheme"))
      return flag(step, "add_prefix_space", true, place) ? "always" : "never";
    const std::string scheme = text(step, "prepend_scheme", place);
    if (scheme != "always" && scheme != "first" && scheme != "never")
      refuse(place + ".prepend_scheme", "is not known");
    return scheme;
  }

  void metaspace(const Json& step, const std::string& place) {
    require_first(place, "adds marks");
    if (text(step, "replacement", place) != kSpaceMark)
      refuse(place + ".replacement", "is not \"▁\"");
    const std::string scheme = prepend_scheme(step, place);
    const std::string mark(kSpaceMark);
    pipeline_.preparation.push_back(
        {.kind = NormalizerStep::Kind::replace, .from = " ", .to = mark});
    if (scheme != "never") {
      pipeline_.preparation.push_back({.kind = NormalizerStep::Kind::prepend,
                                       .from = mark,
                                       .to = mark,
                                       .only_first = scheme == "first"});
    }
    if (flag(step, "split", true, place)) {
      pipeline_.splitters.push_back(
          make_literal_splitter(mark, SplitBehavior::merged_with_next, false));
      other_splitters_ = true;
    }
  }

  /// What these add, Athanor does not: it ends documents itself.
  void post_processor(const Json& step, const std::string& place) {
    if (step.is_null()) return;
    const std::string type = type_of(step, place);
    if (type == "Sequence") {
      sequence(step, "processors", place,
               [this](const Json& each, const std::string& where) { post_processor(each, where); });
    } else if (type != "ByteLevel" && type != "TemplateProcessing") {
      refuse_type(type, place);
    }
  }

  void decoder(const Json& step, const std::string& place) {
    if (step.is_null()) return;
    const std::string type = type_of(step, place);
    if (type == "Sequence") {
      sequence(step, "decoders", place,
               [this](const Json& each, const std::string& where) { decoder(each, where); });
    } else if (type == "Replace") {
      if (literal(step, place) != kSpaceMark || text(step, "content", place) != " ")
        refuse(place, "replaces something else than \"▁\" by a space");
      pipeline_.marks_are_spaces = true;
    } else if (type == "Strip") {
      if (text(step, "content", place) != " " || step.value("start", Json()) != 1 ||
          step.value("stop", Json()) != 0) {
        refuse(place, "strips something else than one space at the start");
      }
      pipeline_.drops_first_space = true;
    } else if (type == "Metaspace") {
      pipeline_.marks_are_spaces = true;
      pipeline_.drops_first_space = prepend_scheme(step, place) != "never";
    } else if (type == "ByteLevel") {
      if (!pipeline_.byte_level) refuse(place, "is a ByteLevel, the pre_tokenizer is not");
    } else if (type != "ByteFallback" && type != "Fuse") {
      refuse_type(type, place);
    }
  }

  static constexpr int kDeepest = 8;

  const TokenizerDescription& description_;
  const std::string& name_;
  TokenizerPipeline pipeline_;
  int depth_ = 0;
  bool other_splitters_ = false;
};

}  // namespace

std::string pre_tokenizer_json(KnownPattern pattern) {
  const bool has_own_step = pattern != KnownPattern::gpt2;
  const Json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", !has_own_step}};
  if (!has_own_step) return byte_level.dump();
  const Json split{{"type", "Split"},
                   {"pattern", {{"Regex", expression_of(pattern)}}},
                   {"behavior", "Isolated"},
                   {"invert", false}};
  return Json{{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}}.dump();
}

TokenizerPipeline read_pipeline(const TokenizerDescription& description, const std::string& name) {
  return PipelineReader(description, name).read();
}

}  // namespace athanor
