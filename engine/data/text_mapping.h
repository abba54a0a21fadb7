// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/base/json_fwd.h"

namespace athanor {

/// Makes a document's text out of a record's fields.
class TextMapping {
 public:
  /// A field's name, or a template with names in braces: "{title}\n\n{text}"; {{ and }} are braces,
  /// \n and \t in it a line break and a tabulator. A name with dots looks into nested records
  /// ("message.content") where no field has it as it is. Throws invalid_argument for a template
  /// with an open brace.
  explicit TextMapping(const std::string& text);

  /// The field that is most likely the text: the only one that is a text, else the first there is
  /// of text, content, body, document, story and the like. Throws invalid_argument listing the
  /// fields when none is, naming `place` ("FILE, line N").
  static TextMapping detect(const Json& fields, const std::string& place);

  /// False when a field is missing or is neither text nor number nor truth; `cause` then says so,
  /// listing the fields there are. A field that is null is empty.
  bool apply(const Json& fields, std::string& text, std::string& cause) const;
  const std::string& description() const { return description_; }

 private:
  struct Part {
    bool is_field;
    std::string text;
  };

  std::string description_;
  std::vector<Part> parts_;
};

}  // namespace athanor
