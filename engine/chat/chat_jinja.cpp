// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "engine/base/checksum.h"
#include "engine/chat/chat_format.h"

namespace athanor {

namespace {

/// Stands for a text in quotes while templates are compared.
constexpr std::string_view kHole = "%HOLE%";

constexpr std::string_view kSystem_and_turns =
    R"({% if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %})"
    R"({% set turns = messages[1:] %}{% else %}{% set system = %SYSTEM% %})"
    R"({% set turns = messages %}{% endif %})";

/// %SYSTEM% is what stands where there is no system's message.
std::string_view body_of(ChatFormat format) {
  switch (format) {
    case ChatFormat::none:
      return "";
    case ChatFormat::plain:
      return R"({% if system is not none %}{{ system + '\n' }}{% endif %}{% for message in turns %})"
             R"({{ message['content'] }}{% if message['role'] == 'assistant' %}{{ eos_token }})"
             R"({% else %}{{ '\n' }}{% endif %}{% endfor %})";
    case ChatFormat::alpaca:
      return R"({% if system is none %}{{ 'Below is an instruction that describes a task. Write a )"
             R"(response that appropriately completes the request.\n\n' }}{% else %})"
             R"({{ system + '\n\n' }}{% endif %}{% for message in turns %})"
             R"({% if message['role'] == 'assistant' %})"
             R"({{ '### Response:\n' + message['content'] + eos_token }}{% else %})"
             R"({% if not loop.first %}{{ '\n\n' }}{% endif %})"
             R"({{ '### Instruction:\n' + message['content'] + '\n\n' }}{% endif %}{% endfor %})"
             R"({% if add_generation_prompt %}{{ '### Response:\n' }}{% endif %})";
    case ChatFormat::chatml:
    case ChatFormat::qwen:
      return R"({% if system is not none %}{{ '<|im_start|>system\n' + system + '<|im_end|>\n' }})"
             R"({% endif %}{% for message in turns %}{{ '<|im_start|>' + message['role'] + '\n' + )"
             R"(message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %})"
             R"({{ '<|im_start|>assistant\n' }}{% endif %})";
    case ChatFormat::llama2:
      return R"({% if system is none %}{% set before = '' %}{% else %})"
             R"({% set before = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' %}{% endif %})"
             R"({% for message in turns %}{% if message['role'] == 'assistant' %})"
             R"({{ ' ' + message['content'] | trim + ' ' + eos_token }}{% else %})"
             R"({% if not loop.first %}{{ %BEGIN% }}{% set before = '' %}{% endif %}{{ '[INST] ' + )"
             R"(((before if loop.first else '') + message['content']) | trim + ' [/INST]' }})"
             R"({% endif %}{% endfor %})";
    case ChatFormat::llama3:
      return R"({% if system is not none %}{{ '<|start_header_id|>system<|end_header_id|>\n\n' + )"
             R"(system | trim + '<|eot_id|>' }}{% endif %}{% for message in turns %})"
             R"({{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + )"
             R"(message['content'] | trim + '<|eot_id|>' }}{% endfor %})"
             R"({% if add_generation_prompt %})"
             R"({{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})";
    case ChatFormat::mistral:
      return R"({% if system is none %}{% set before = '' %}{% else %})"
             R"({% set before = system + '\n\n' %}{% endif %}{% for message in turns %})"
             R"({% if message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }})"
             R"({% else %}{{ ' [INST] ' + (before if loop.first else '') + message['content'] + )"
             R"(' [/INST]' }}{% endif %}{% endfor %})";
    case ChatFormat::gemma:
      return R"({% if system is none %}{% set before = '' %}{% else %})"
             R"({% set before = system + '\n\n' %}{% endif %}{% for message in turns %})"
             R"({% if message['role'] == 'assistant' %}{{ '<start_of_turn>model\n' }}{% else %})"
             R"({{ '<start_of_turn>user\n' }}{% endif %}{{ (before if loop.first else '') + )"
             R"(message['content'] | trim + '<end_of_turn>\n' }}{% endfor %})"
             R"({% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %})";
    case ChatFormat::zephyr:
      return R"({% if system is not none %}{{ '<|system|>\n' + system + eos_token + '\n' }})"
             R"({% endif %}{% for message in turns %}{{ '<|' + message['role'] + '|>\n' + )"
             R"(message['content'] + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %})"
             R"({{ '<|assistant|>\n' }}{% endif %})";
  }
  return "";
}

/// Templates as their models are published with, for detection only.
struct Published {
  ChatFormat format;
  bool begins_with_token;
  std::string_view jinja;
};
constexpr std::array kPublished = {
    Published{ChatFormat::chatml, false,
              R"({% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + )"
              R"(message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if )"
              R"(add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})"},
    // Qwen 2, SmolLM 2 and others, each with its own system's message.
    Published{ChatFormat::chatml, false,
              R"({% for message in messages %}{% if loop.first and messages[0]['role'] != )"
              R"('system' %}{{ '<|im_start|>system\n%HOLE%<|im_end|>\n' }}{% endif %}{{)"
              R"('<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + )"
              R"('\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }})"
              R"({% endif %})"},
    Published{ChatFormat::llama3, true,
              R"({% set loop_messages = messages %}{% for message in loop_messages %}{% set )"
              R"(content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ )"
              R"(message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set )"
              R"(content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if )"
              R"(add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' )"
              R"(}}{% endif %})"},
    Published{ChatFormat::gemma, true,
              R"({{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception()"
              R"('System role not supported') }}{% endif %}{% for message in messages %}{% if )"
              R"((message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception()"
              R"('Conversation roles must alternate user/assistant/user/assistant/...') }})"
              R"({% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %})"
              R"({% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role )"
              R"(+ '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if )"
              R"(add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %})"},
    Published{ChatFormat::zephyr, false,
              "{% for message in messages %}\n{% if message['role'] == 'user' %}\n"
              R"({{ '<|user|>\n' + message['content'] + eos_token }})"
              "\n{% elif message['role'] == 'system' %}\n"
              R"({{ '<|system|>\n' + message['content'] + eos_token }})"
              "\n{% elif message['role'] == 'assistant' %}\n"
              R"({{ '<|assistant|>\n'  + message['content'] + eos_token }})"
              "\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n"
              "{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"},
};

/// Longer ones, which write calls of tools too, by their checksum.
struct PublishedSum {
  ChatFormat format;
  bool begins_with_token;
  std::uint64_t sum;
};
constexpr std::array kPublished_sums = {
    PublishedSum{ChatFormat::qwen, false, 0xf9a29021c9d093ad},    // Qwen 2.5
    PublishedSum{ChatFormat::chatml, false, 0xa04c0d765923822c},  // Qwen 3 Instruct 2507
    PublishedSum{ChatFormat::gemma, true, 0xd9c620dcaf86f38d},    // Gemma 3
};

/// As a text in Jinja.
std::string quoted(std::string_view text) {
  std::string made = "'";
  for (const char c : text) {
    if (c == '\\' || c == '\'') made += '\\';
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c;
    }
  }
  made += '\'';
  return made;
}

/// What the text between two quotes says; nothing when it ends in it, or has an escape that is not
/// known.
std::optional<std::string> unquoted(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') return {};
    if (text[i] != '\\') {
      made += text[i];
      continue;
    }
    if (++i == text.size()) return {};
    if (text[i] != 'n' && text[i] != '\\' && text[i] != '\'') return {};
    made += text[i] == 'n' ? '\n' : text[i];
  }
  return made;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to);
}

/// What stands in the hole, if the template is `known` apart from that; empty where it has none.
std::optional<std::string> filled(std::string_view jinja, std::string_view known) {
  const std::size_t hole = known.find(kHole);
  if (hole == std::string_view::npos) {
    if (jinja == known) return std::string();
    return {};
  }
  const std::string_view before = known.substr(0, hole);
  const std::string_view after = known.substr(hole + kHole.size());
  if (jinja.size() < before.size() + after.size() || !jinja.starts_with(before) ||
      !jinja.ends_with(after)) {
    return {};
  }
  return unquoted(jinja.substr(before.size(), jinja.size() - before.size() - after.size()));
}

std::string template_of(ChatFormat format, std::string_view system, bool begins_with_token) {
  std::string text = begins_with_token ? "{{ bos_token }}" : "";
  text += kSystem_and_turns;
  text += body_of(format);
  replace_all(text, "%SYSTEM%", system);
  replace_all(text, "%BEGIN%", begins_with_token ? "bos_token" : "''");
  return text;
}

/// The format's own system's message as Jinja has it.
std::string own_system(ChatFormat format) {
  const std::string_view text = usual_system(format);
  return text.empty() ? std::string("none") : quoted(text);
}

/// One spelling for line breaks, which some files hold and others spell, and none at the ends.
std::string canonical(std::string_view jinja) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = jinja.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  std::string text(jinja.substr(first, jinja.find_last_not_of(kBlanks) - first + 1));
  replace_all(text, "\\n", "\n");
  return text;
}

std::optional<DetectedStyle> detect_own(std::string_view jinja) {
  // Qwen's is ChatML with a certain system's message, so what needs no filling comes first.
  for (const bool open : {false, true}) {
    for (std::size_t i = 1; i < names_of(ChatFormat{}).size(); ++i) {
      const auto format = static_cast<ChatFormat>(i);
      const std::string system = open ? quoted(kHole) : own_system(format);
      for (const bool begins : {false, true}) {
        if (const auto given = filled(jinja, template_of(format, system, begins)))
          return DetectedStyle{{.format = format, .system = *given}, begins};
      }
    }
  }
  return {};
}

}  // namespace

std::string jinja_of(const ChatStyle& style, bool begins_with_token) {
  if (style.format == ChatFormat::none) return {};
  const std::string system = style.system.empty() ? own_system(style.format) : quoted(style.system);
  return template_of(style.format, system, begins_with_token);
}

std::optional<DetectedStyle> detect_style(std::string_view jinja) {
  if (auto own = detect_own(jinja)) return own;
  const std::string text = canonical(jinja);
  for (const Published& known : kPublished) {
    const auto system = filled(text, canonical(known.jinja));
    if (system && system->find('\\') == std::string::npos)
      return DetectedStyle{{.format = known.format, .system = *system}, known.begins_with_token};
  }
  const std::uint64_t sum = checksum(std::as_bytes(std::span(text)));
  const auto* const known = std::ranges::find(kPublished_sums, sum, &PublishedSum::sum);
  if (known == kPublished_sums.end()) return {};
  return DetectedStyle{{.format = known->format, .system = {}}, known->begins_with_token};
}

}  // namespace athanor
