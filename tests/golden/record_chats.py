#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records tests/golden/chats: conversations as transformers' apply_chat_template makes tokens of them, by models' own
chat templates and by those that Athanor exports.

Needs an environment with transformers, jinja2 and trl (for the templates of several models):
    <venv>/bin/python tests/golden/record_chats.py OWN.json
OWN.json is what test_chat_template writes where ATHANOR_RECORD_TEMPLATES names a file.
"""
import json
import pathlib
import sys

import transformers
import trl

FOLDER = pathlib.Path(__file__).resolve().parent
CHATS = FOLDER / "chats"
TRL = pathlib.Path(trl.__file__).parent / "chat_templates"

# Tokens that each of the small tokenizers of tests/golden/tokenizers gets besides its own.
TOKENIZERS = {
    "qwen2": ["<|im_end|>"],
    "llama3": ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
    "gpt2": ["<start_of_turn>", "<end_of_turn>", "<bos>"],
    "llama2": [],
}

CONVERSATIONS = {
    "one": [("user", "Where does the fox live?"), ("assistant", "The fox lives in a den.")],
    "system": [("system", "Answer briefly."), ("user", "hi"), ("assistant", "Hello! How can I help?")],
    "turns": [("user", "1 + 1?"), ("assistant", "2"), ("user", "Sure?\n"), ("assistant", "Yes, for\n\nsure."),
              ("user", "Größe — 日本語 😀"), ("assistant", "naïve café…")],
    "all": [("system", "You are {{name}}.\nBe kind."), ("user", "a"), ("assistant", "b c"), ("user", "d"),
            ("assistant", "e  f")],
    "blanks": [("user", "  two before, one after "), ("assistant", "\n a line break first")],
}

ALTERNATE = ("{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles "
             "must alternate user/assistant/user/assistant/...') }}{% endif %}")
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
          "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}"
          "{% endif %}{% for message in loop_messages %}" + ALTERNATE +
          "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + "
          "'\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
          "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
          "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}"
          "{% endfor %}")
MISTRAL = ("{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set "
           "loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}{{- bos_token }}"
           "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if loop.first and "
           "system_message is defined %}{{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}"
           "{%- else %}{{- ' [INST] ' + message['content'] + ' [/INST]' }}{%- endif %}"
           "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] + eos_token}}{%- endif %}"
           "{%- endfor %}")
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
          "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
QWEN2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\n"
         "You are a helpful assistant.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + "
         "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}"
         "{{ '<|im_start|>assistant\\n' }}{% endif %}")
ZEPHYR = ("{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + message['content'] + "
          "eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\\n' + message['content'] + eos_token "
          "}}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n"
          "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}")


def of_trl(name):
    return (TRL / f"{name}.jinja").read_text()


# Name: format, its system's message where that is not the format's own, tokenizer, token that begins a text, token
# that ends one, Jinja, whether Athanor knows the template to the letter, what the model writes in an answer, and
# conversations that the template refuses.
MODELS = {
    "chatml": ("chatml", "", "qwen2", None, "<|endoftext|>", CHATML, True, "{}<|im_end|>", ()),
    "qwen2": ("chatml", "You are a helpful assistant.", "qwen2", None, "<|endoftext|>", QWEN2, True, "{}<|im_end|>",
              ()),
    "qwen2.5": ("qwen", "", "qwen2", None, "<|endoftext|>", of_trl("qwen2_5"), True, "{}<|im_end|>", ()),
    "qwen3-2507": ("chatml", "", "qwen2", None, "<|endoftext|>", of_trl("qwen3_instruct_2507"), True, "{}<|im_end|>",
                   ()),
    "llama3": ("llama3", "", "llama3", "<|begin_of_text|>", "<|endoftext|>", of_trl("llama3"), True, "{}<|eot_id|>",
               ()),
    "gemma": ("gemma", "", "gpt2", "<bos>", "<|endoftext|>", of_trl("gemma"), True, "{}<end_of_turn>",
              ("system", "all")),
    "gemma3": ("gemma", "", "gpt2", "<bos>", "<|endoftext|>", of_trl("gemma3"), True, "{}<end_of_turn>", ()),
    "llama2": ("llama2", "", "llama2", "<s>", "</s>", LLAMA2, False, "{} </s>", ()),
    "mistral": ("mistral", "", "llama2", "<s>", "</s>", MISTRAL, False, "{}</s>", ()),
    "zephyr": ("zephyr", "", "llama2", None, "</s>", ZEPHYR, True, "{}</s>", ()),
}
STRIPPING = ("llama2", "llama3", "gemma")


def tokenizer_with(name, begin, end):
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(CHATS / f"{name}.json"), eos_token=end)
    if begin is not None:
        made.bos_token = begin
    return made


def answer_ranges(text, messages, written, strips):
    """Where in the whole text the model's own words stand."""
    ranges, at = [], 0
    for role, content in messages:
        content = content.strip() if strips else content
        content = written.format(content) if role == "assistant" else content
        first = text.index(content, at)
        at = first + len(content)
        if role == "assistant":
            ranges.append((first, at))
    return ranges


def record(name, model, messages):
    style, system, tokenizer_name, begin, end, jinja, known, written, _ = model
    tokenizer = tokenizer_with(tokenizer_name, begin, end)
    talk = [{"role": role, "content": content} for role, content in messages]
    text = tokenizer.apply_chat_template(talk, chat_template=jinja, tokenize=False)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    ids = tokenizer.apply_chat_template(talk, chat_template=jinja, tokenize=True, return_dict=True)["input_ids"]
    assert ids == encoded["input_ids"], name
    ranges = answer_ranges(text, messages, written, style in STRIPPING)
    mask = [int(any(first < b and a < last for a, b in ranges)) for first, last in encoded["offset_mapping"]]
    prompt = tokenizer.apply_chat_template(talk[:-1], chat_template=jinja, tokenize=True, add_generation_prompt=True,
                                           return_dict=True)["input_ids"]
    return {"messages": [list(message) for message in messages], "ids": ids, "mask": mask, "prompt": prompt}


def main():
    own = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for name, tokens in TOKENIZERS.items():
        made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(FOLDER / "tokenizers" / f"{name}.json"))
        made.add_special_tokens({"additional_special_tokens": tokens})
        made.backend_tokenizer.save(str(CHATS / f"{name}.json"), pretty=False)
    models = dict(MODELS)
    for entry in own:
        models["own " + entry["name"]] = (entry["format"], entry["system"], entry["tokenizer"], entry["begin"] or None,
                                          entry["end"], entry["jinja"], True, entry["written"], ())
    samples = []
    for name, model in models.items():
        style, system, tokenizer_name, begin, end, jinja, known, _, refused = model
        tokenizer = tokenizer_with(tokenizer_name, begin, end)
        samples.append({"name": name, "format": style, "system": system, "tokenizer": tokenizer_name,
                        "begin": -1 if begin is None else tokenizer.convert_tokens_to_ids(begin), "end": end,
                        "jinja": jinja, "known": known,
                        "chats": [record(name, model, messages) for key, messages in CONVERSATIONS.items()
                                  if key not in refused]})
    with open(CHATS / "samples.json", "w") as file:
        json.dump(samples, file, ensure_ascii=False, indent=None, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
