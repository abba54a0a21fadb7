#!/usr/bin/env python3
"""Records tests/golden/tokenizers: small tokenizers that the peers trained, and what they make of some texts.

Run by the Python of compare_tokenizers.py's environment: <work>/venv/bin/python tests/golden/record_tokenizers.py
"""
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mixed_text import SAMPLES, SPECIAL, random_text  # noqa: E402
import peer_tokenizers as peers  # noqa: E402
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"


def record_hugging_face(name, tokenizer, texts):
    file = FOLDER / f"{name}.json"
    tokenizer.save(str(file), pretty=False)
    as_text = Tokenizer.from_file(str(file))
    as_text.encode_special_tokens = True
    return {"file": file.name,
            "ids": [as_text.encode(text, add_special_tokens=False).ids for text in texts],
            "special_ids": [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]}


def main():
    FOLDER.mkdir(exist_ok=True)
    draw = random.Random(7)
    texts = SAMPLES + SPECIAL + ["", " ", "\n", "a \n  ", "a\n \n b"] + [random_text(draw)[:150] for _ in range(4)]
    texts += ["-" * 70, " " * 60 + "x", "xy" * 50]
    corpus = SAMPLES * 20
    add = peers.special("<|im_start|>")
    made = {
        "llama3": peers.trained(peers.split_then_bytes(peers.LLAMA3), corpus, 500, ignore_merges=True),
        "qwen2": peers.trained(peers.split_then_bytes(peers.QWEN2), corpus, 500, normalizer=normalizers.NFC()),
        "qwen35": peers.trained(peers.split_then_bytes(peers.QWEN35), corpus, 500, normalizer=normalizers.NFC()),
        "o200k": peers.trained(peers.split_then_bytes(peers.O200K), corpus, 500),
        "gpt2": peers.trained(pre_tokenizers.ByteLevel(add_prefix_space=False), corpus, 500),
        "smollm": peers.trained(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                         pre_tokenizers.ByteLevel(add_prefix_space=False)]), corpus, 500),
        "stripping": peers.trained(pre_tokenizers.ByteLevel(add_prefix_space=True), corpus, 500,
                                   normalizer=normalizers.NFKC()),
        "split": peers.trained(pre_tokenizers.Sequence([
            pre_tokenizers.Split(peers.Regex(r"[,;]|\d"), "merged_with_next"),
            pre_tokenizers.Split("e", "merged_with_previous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), corpus, 400),
    }
    made["stripping"].add_tokens([AddedToken("<think>", lstrip=True),
                                  AddedToken("<tool_call>", rstrip=True, normalized=False)])
    made["qwen2"].add_tokens([AddedToken("<think>", normalized=False)])
    for tokenizer in made.values():
        tokenizer.add_special_tokens(add)
    processor = peers.sentence_piece(pathlib.Path("/tmp"), ["The quick brown fox can't jump, they'll say 12 of é.\n"] * 50,
                                     340)
    made["llama2"] = peers.llama2(processor)
    cases = [record_hugging_face(name, tokenizer, texts) for name, tokenizer in made.items()]

    back = {character: byte for byte, character in peers.alphabet().items()}
    vocabulary = made["llama3"].get_vocab()
    tokens = [token for token in sorted(vocabulary, key=vocabulary.get) if token not in ("<|endoftext|>", "<|im_start|>")]
    ranks = {bytes(back[c] for c in token): rank for rank, token in enumerate(tokens)}
    peers.write_ranks(FOLDER / "small.tiktoken", ranks)
    for name, pattern in [("cl100k", peers.CL100K), ("gpt2", peers.GPT2)]:
        encoding = peers.tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        cases.append({"file": "small.tiktoken", "pattern": name,
                      "ids": [encoding.encode_ordinary(text) for text in texts]})

    size = processor.get_piece_size()
    kinds = [2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else 1
             for i in range(size)]
    gguf = {"tokens": [processor.id_to_piece(i) for i in range(size)],
            "scores": [processor.get_score(i) for i in range(size)], "types": kinds,
            "ids": [processor.encode(text) for text in texts]}
    (FOLDER / "samples.json").write_text(
        json.dumps({"texts": texts, "cases": cases, "sentence_piece": gguf}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
