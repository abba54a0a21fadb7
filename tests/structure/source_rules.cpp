// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/structure/source_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr int kLongest_file_lines = 400;

/// What each folder may include besides itself. Folders that are not listed may include nothing.
const std::map<std::string, std::set<std::string>>& allowed_includes() {
  static const std::map<std::string, std::set<std::string>> allowed = {
      {"engine/base", {}},
      {"engine/tensor", {"engine/base"}},
      {"engine/backend", {"engine/base", "engine/tensor"}},
      {"engine/data", {"engine/base"}},
      {"engine/chat", {"engine/base", "engine/data"}},
      {"engine/io", {"engine/base", "engine/tensor"}},
      {"engine/model", {"engine/base", "engine/tensor", "engine/backend", "engine/io"}},
      {"engine/exchange",
       {"engine/base", "engine/tensor", "engine/backend", "engine/data", "engine/io",
        "engine/model"}},
      {"engine/train",
       {"engine/base", "engine/tensor", "engine/backend", "engine/data", "engine/io",
        "engine/model"}},
      {"engine/planner",
       {"engine/base", "engine/tensor", "engine/backend", "engine/model", "engine/train"}},
      {"engine/infer",
       {"engine/base", "engine/tensor", "engine/backend", "engine/data", "engine/io",
        "engine/model"}},
      {"engine/store", {"engine/base"}},
      {"engine/session",
       {"engine/base", "engine/tensor", "engine/backend", "engine/data", "engine/io",
        "engine/model", "engine/exchange", "engine/train", "engine/infer", "engine/store",
        "engine/chat"}},
      {"engine/cli", {"engine"}},
      {"widgets", {}},
      {"gui", {"engine", "widgets"}},
      {"tests", {"engine", "widgets", "gui"}}};
  return allowed;
}

/// "engine/data" for engine/data/bpe.cpp; "gui" for everything below gui/.
std::string part_of(const std::string& path) {
  const std::size_t first = path.find('/');
  if (path.substr(0, first) != "engine" || first == std::string::npos) return path.substr(0, first);
  return path.substr(0, path.find('/', first + 1));
}

bool may_include(const std::string& from, const std::string& part) {
  if (from == part) return true;
  const auto found = allowed_includes().find(from);
  if (found == allowed_includes().end()) return false;
  return found->second.contains(part) ||
         (found->second.contains("engine") && part.starts_with("engine/"));
}

bool is_qt(std::string_view header) {
  return header.starts_with("Qt") || header == "qcustomplot.h" ||
         (header.size() > 1 && header[0] == 'Q' &&
          std::isupper(static_cast<unsigned char>(header[1])) != 0);
}

bool is_cuda(std::string_view header) {
  return header.starts_with("cuda") || header.starts_with("cublas") || header.starts_with("nvml");
}

bool is_identifier(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Whether `word` stands in `line` by itself, and is called when it ends in a parenthesis.
bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !is_identifier(line[at - 1]);
    const std::size_t end = at + word.size();
    const bool ends = word.back() == '(' || end == line.size() || !is_identifier(line[end]);
    if (starts && ends) return true;
  }
  return false;
}

class FileCheck {
 public:
  FileCheck(std::string path, std::vector<std::string>& broken)
      : path_(std::move(path)), part_(part_of(path_)), broken_(broken) {}

  void check(const fs::path& file) {
    std::ifstream stream(file);
    // Highway includes its -inl.h files again for each instruction set.
    bool guarded = path_.ends_with(".cpp") || path_.ends_with(".cu") || path_.ends_with("-inl.h");
    for (std::string line; std::getline(stream, line);) {
      ++line_number_;
      if (line_number_ == 1 && line != "// SPDX-License-Identifier: GPL-3.0-or-later") {
        report("does not begin with the licence line");
      }
      guarded = guarded || line == "#pragma once";
      check_line(line);
    }
    if (!guarded) report("is a header without #pragma once");
    if (line_number_ > kLongest_file_lines) report("is longer than 400 lines");
    const std::string name = file.filename().string();
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c); })) {
      report("is not named in snake_case");
    }
  }

 private:
  void report(const std::string& what) {
    broken_.push_back(path_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  void check_line(const std::string& line) {
    if (line.starts_with("#include ")) {
      const std::string header = line.substr(10, line.find_first_of(">\"", 10) - 10);
      if (line[9] == '"') {
        check_own_include(header);
      } else {
        check_system_include(header);
      }
      return;
    }
    check_calls(line.substr(0, line.find("//")));
  }

  void check_own_include(const std::string& header) {
    // A file that the build generates beside the source, such as a moc file.
    if (header.find('/') == std::string::npos) return;
    const std::string part = part_of(header);
    if (!may_include(part_, part)) report("includes " + part + ", which it may not use");
  }

  void check_system_include(const std::string& header) {
    if (part_.starts_with("engine") && is_qt(header)) report("includes Qt: " + header);
    const bool on_cards =
        path_.starts_with("engine/backend/cuda/") || path_.starts_with("tests/gpu/");
    if (!on_cards && is_cuda(header)) {
      report("includes CUDA: " + header);
    }
    if (header == "qcustomplot.h" && part_ != "widgets" && part_ != "tests") {
      report("includes QCustomPlot outside widgets");
    }
  }

  void check_calls(const std::string& code) {
    static constexpr std::array<std::string_view, 10> words = {
        "std::cout", "std::cerr", "std::clog", "printf(", "fprintf(",
        "puts(",     "exit(",     "_exit(",    "abort(",  "terminate("};
    if (!part_.starts_with("engine") || part_ == "engine/cli") return;
    for (const std::string_view word : words) {
      if (has_word(code, word)) report("prints or ends the program: " + std::string(word));
    }
  }

  std::string path_;
  std::string part_;
  std::vector<std::string>& broken_;
  int line_number_ = 0;
};

}  // namespace

std::vector<std::string> broken_rules(const fs::path& root) {
  std::vector<std::string> broken;
  for (const char* folder : {"engine", "widgets", "gui", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path extension = entry.path().extension();
      if (!entry.is_regular_file() ||
          (extension != ".h" && extension != ".cpp" && extension != ".cu")) {
        continue;
      }
      FileCheck(fs::relative(entry.path(), root).generic_string(), broken).check(entry.path());
    }
  }
  std::sort(broken.begin(), broken.end());
  return broken;
}

}  // namespace athanor
