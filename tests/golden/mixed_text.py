"""A mixed text to compare tokenizers on: prose, code, many scripts, emoji, white space, invalid UTF-8."""
import pathlib
import random
import sysconfig
import unicodedata

SAMPLES = [
    "The quick brown fox can't jump over the lazy dog's back; they'll say it's 1,234.56% SURE. I'M HERE, YOU'LL SEE'S\n",
    "Où est l'âne ? Der Bär läßt grüßen — „Straße“. El niño comió piñas. Příliš žluťoučký kůň úpěl ďábelské ódy.\n",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.\n",
    "猫が座った。東京都は日本の首都です。我爱北京天安门,天安门上太阳升。다람쥐 헌 쳇바퀴에 타고파.\n",
    "नमस्ते दुनिया, यह एक परीक्षण है। สวัสดีชาวโลก ภาษาไทย مرحبا بالعالم שלום עולם ﷺ\n",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 😀😃😄 🇩🇪🇫🇷 ❤️‍🔥 1️⃣2️⃣ ☕︎ 🧑🏿‍🚀\n",
    "def f(x):\n\tif x >= 10:\r\n\t\treturn {'a': [1, 2, 3], \"b\": x**2}  # what's this?\n\n\n    pass\n",
    "for (std::size_t i = 0; i < n; ++i) { a[i] += b[i] * 0x1F; }   // ---- ==== ////\n",
    "\u00a0\u2003\u3000 x\u0085y \u2028 z \u180e q\ufeff ſ 'ſ 'S 'LL 'Ve\u0301 e\u0301\u0301 A\u030a ﬁ ½ ² ① Ⅷ ٣ 𝟘\n",
]
BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x700), (0x900, 0xE00), (0x1E00, 0x2000),
          (0x2000, 0x2070), (0x2190, 0x2600), (0x3040, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xFB00, 0xFE00),
          (0x10000, 0x10900), (0x1D400, 0x1D800), (0x1F300, 0x1FA00), (0, 0xD800), (0xE000, 0x110000)]
SPACES = [" ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", " \n ", "   ", "\u3000", "\u00a0", " \r\n  \n"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "</s>", "<s>", "<think>", "<tool_call>", "<0x41>", "▁", "<|im_start|>x"]


def random_word(draw):
    low, high = draw.choice(BLOCKS)
    length = draw.choice([1, 1, 2, 3, 5, 8, 13])
    return "".join(chr(draw.randrange(low, high)) for _ in range(length))


def random_text(draw):
    parts = []
    for _ in range(draw.randrange(5, 200)):
        kind = draw.random()
        if kind < 0.45:
            parts.append(random_word(draw))
        elif kind < 0.75:
            parts.append(draw.choice(draw.choice(SAMPLES).split(" ")))
        elif kind < 0.8:
            parts.append(str(draw.randrange(10 ** draw.randrange(1, 15))))
        elif kind < 0.82:
            parts.append(draw.choice("-=*#a '\n") * draw.choice([2, 7, 100, 3000]))
        elif kind < 0.85:
            parts.append(draw.choice(SPECIAL))
        else:
            parts.append(draw.choice(SPACES))
        if draw.random() < 0.5:
            parts.append(" ")
    return "".join(parts)


def damaged(draw, text):
    data = bytearray(text.encode())
    for _ in range(draw.randrange(1, 20)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def source_files():
    """Code and prose that every Python has."""
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    yield from sorted(folder.glob("**/*.py"))
    yield from sorted(pathlib.Path("/usr/share/i18n/locales").glob("*"))
    yield from sorted(pathlib.Path("/usr/share/doc").glob("*/copyright"))
    yield from sorted(pathlib.Path("/usr/include").glob("**/*.h"))


def mixed_documents(size):
    """About `size` bytes, in documents; always the same on the same machine."""
    draw = random.Random(20240607)
    documents, total = [], 0
    files = list(source_files())
    draw.shuffle(files)
    for file in files:
        if total > size * 0.55:
            break
        data = file.read_bytes()[:200_000]
        try:
            data.decode()
        except UnicodeDecodeError:
            continue
        documents.append(data)
        total += len(data)
    documents += [sample.encode() for sample in SAMPLES] + [b"", b" ", b"\n", b"a", b"\xff", b"  \n  ", b"a \n  "]
    while total < size:
        text = random_text(draw)
        kind = draw.random()
        if kind < 0.2:
            text = unicodedata.normalize("NFD", text)
        data = damaged(draw, text) if kind > 0.9 else text.encode()
        documents.append(data)
        total += len(data)
    draw.shuffle(documents)
    return documents
