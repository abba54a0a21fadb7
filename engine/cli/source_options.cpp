// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/source_options.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"
#include "engine/cli/setting_options.h"

namespace athanor {

namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::invalid_argument, sentence);
}

/// What was typed for one field of a source, checked as in a file of settings.
template <class Value>
void set_field(CorpusSource& source, const char* field, const Value& value,
               const std::string& flag) {
  Json json = settings_to_json(source);
  json[field] = value;
  try {
    source = settings_from_json<CorpusSource>(json, "source");
  } catch (const Error& error) {
    std::string message = error.message();
    const std::string name = std::string("source.") + field;
    if (message.starts_with(name)) message.replace(0, name.size(), flag);
    throw Error(error.kind(), message, error.context());
  }
}

/// Line breaks and tabulators are hard to type.
std::string unescaped(const std::string& typed) {
  std::string text;
  for (std::size_t at = 0; at < typed.size(); ++at) {
    const char next = at + 1 < typed.size() ? typed[at + 1] : '\0';
    if (typed[at] == '\\' && (next == 'n' || next == 't')) {
      text += next == 'n' ? '\n' : '\t';
      ++at;
    } else {
      text += typed[at];
    }
  }
  return text;
}

}  // namespace

void check_utf8(const std::string& flag, const std::string& text) {
  if (!is_utf8(text)) {
    refuse(flag + " must be UTF-8 text. Rename the file, or choose another name.");
  }
}

void SourceOptions::add_to(CLI::App& command, const std::string& flag, const std::string& help) {
  flag_ = flag;
  paths_given_ = command.add_option(flag, paths_, help)->type_name("PATH...");
  weights_given_ =
      command
          .add_option("--data-weight", weights_,
                      "How often each path's documents occur in a pass over the data, in the same "
                      "order: 2 is twice, 0.5 every other")
          ->type_name("X...");
  const auto add = [&](const char* name, std::string& text, const char* kind, const char* about) {
    return command.add_option(name, text, about)->type_name(kind);
  };
  text_given_ = add("--text-field", text_, "NAME",
                    "Of records: the field that is the text, or a template such as "
                    "'{title}\\n\\n{text}'; without it the field is looked for");
  boundary_given_ = add("--boundary", boundary_, "KIND",
                        "Where a document of a plain text ends: mark (a line <|endoftext|>), file, "
                        "blank_line or separator");
  separator_given_ = add("--separator", separator_, "TEXT",
                         "Ends a document, for --boundary separator; \\n is a line break");
}

void SourceOptions::apply(std::vector<CorpusSource>& sources) const {
  if (paths_given_->count() > 0) {
    sources.clear();
    for (const std::string& path : paths_) {
      if (path.empty()) {
        refuse(flag_ +
               " must name a file, a folder or a pattern; leave it out to train on the built-in "
               "stories.");
      }
      sources.push_back({.path = path});
    }
  }
  if (weights_given_->count() > 0 && weights_.size() != sources.size()) {
    refuse(fmt::format("--data-weight needs one number for each of the {} paths; it has {}.",
                       sources.size(), weights_.size()));
  }
  for (std::size_t at = 0; at < sources.size(); ++at) {
    CorpusSource& source = sources[at];
    check_utf8(flag_, source.path);
    // A run may be resumed from another folder.
    source.path = std::filesystem::absolute(source.path).lexically_normal().string();
    if (weights_given_->count() > 0) {
      set_field(source, "weight", value_as_typed(weights_[at]), "--data-weight");
    }
    if (boundary_given_->count() > 0) set_field(source, "boundary", boundary_, "--boundary");
    if (text_given_->count() > 0) source.text = text_;
    if (separator_given_->count() > 0) {
      source.separator = unescaped(separator_);
      if (boundary_given_->count() == 0) source.boundary = Boundary::separator;
    }
    if (source.boundary == Boundary::separator && source.separator.empty()) {
      refuse("--boundary separator needs --separator TEXT.");
    }
    check_source(source, flag_);
  }
}

}  // namespace athanor
