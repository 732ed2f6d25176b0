#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small tokenizers of every kind that core/tokenizer reads, trained by the `tokenizers` library (0.23) on the sentences
below, and what that library makes of texts that are hard to divide.

    make_tokenizers.py FOLDER     writes NAME.json for each tokenizer, and cases.json:
                                  {"texts": [...], "NAME": [{"ids": ids with special tokens, "text": the ids decoded}, ...]}
    make_tokenizers.py --check BIN_DIR   has bin/plimsoll tokenize these texts, 500 random ones and the documents of the
                                  repository, and compares the ids with the library's
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[3]
SENTENCES = [
    "The load line is a ship's mark: it shows how far she may be loaded before she sails. Don't load her deeper!",
    "We've seen 3 ships, 12 sailors and 1,234,567 barrels; they'll sail at 10:45 on 2026-12-01, I'm sure.",
    "for (int i = 0; i < 10; ++i) {\n\tif (x[i] != y) {\n\t\treturn -1;\n\t}\n}\n",
    "Привет, мир! Как дела? Ελληνικά γράμματα. Ça va très bien, naïve façade, Straße, İstanbul.",
    "日本語のテキスト、漢字とかな。 한국어 문장입니다. नमस्ते दुनिया। مرحبا بالعالم ١٢٣. שלום עולם.",
    "Emoji: 👩‍👩‍👧‍👦 👍🏽 🇩🇪. Mathematics: ∑ ∫ ≤ ½ ² ﬁ. Blanks:  two,   three,\u00a0one that does not break.",
] * 8
TEXTS = [
    "", " ", "  a  b ", "\n\n\n", "a\r\nb\r\n", "Hello, world! 12345 3.14 don't I'LL we've", "\t\tif (x) {\n\t\t\treturn;\n",
    "日本語のテキスト、漢字とかな。", "مرحبا بالعالم ١٢٣", "e\u0301\u0327 cafe\u0301 \u212b \u00c5", "👩\u200d👩\u200d👧\u200d👦👍🏽🇩🇪",
    "\u200b\u200d\ufeff\u00a0\u2028\u2029\x85\u3000\u180e x", "\x01\x02\x7f\x1b[0m", "İstanbul ſ ß ŉ ǰ ΑΣ Σ", "ﬁ ﬂ ½ ² ℌ ｶﾞ ﾊﾟ",
    "<s> hi </s> <mask> the them  x    y<unk>[CLS] [SEP]", "  <s>  ", "a" * 300, "ab " * 40, "₿ 𝔘𝔫𝔦 𐍈 \U0010ffff", "नमस्ते दुनिया",
    "한국어 ᄒ\u1161\u11ab", "x" * 120 + " y", "1234567890123", "'s 'S 'Ll", "_under_score-dash—em…", "…!!!???", "\u0300\u0301 leading mark",
]


def save(tokenizer, **model):
    """The tokenizer's JSON, with keys of the model that the library's trainers do not set."""
    data = json.loads(tokenizer.to_str())
    data["model"].update(model)
    return data


def trained(tokenizer, trainer):
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def byte_level(vocab_size):
    return trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)


def tokenizers():
    made = {}
    # Llama 3's form: words by an expression, whole words before merges, a token in front.
    t = Tokenizer(models.BPE(ignore_merges=True))
    words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
             r"\s+(?!\S)|\s+")
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    trained(t, byte_level(420))
    t.add_special_tokens(["<s>"])
    t.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))])])
    made["llama3"] = save(t)
    # RoBERTa's: GPT-2's words, tokens that take blanks along or stand alone.
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    trained(t, byte_level(400))
    t.add_tokens([AddedToken("the", single_word=True), AddedToken("  ", normalized=True), AddedToken("    ", normalized=True)])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("</s>"), AddedToken("<s>", rstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")))
    made["roberta"] = save(t)
    # Llama 2's: the text is one word, bytes where no token has a character.
    special = ["<unk>", "<s>", "</s>"]
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    trained(t, trainers.BpeTrainer(vocab_size=500, special_tokens=special + [f"<0x{i:02X}>" for i in range(256)],
                                   limit_alphabet=100, show_progress=False))
    data = save(t, byte_fallback=True, fuse_unk=True)
    data["pre_tokenizer"] = None
    data["decoder"] = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    made["llama2"] = data
    # Metaspace in front of the first word alone, unknown characters one by one.
    data = json.loads(json.dumps(data))
    data["normalizer"] = None
    data["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    data["model"].update(byte_fallback=False, fuse_unk=False)
    data["decoder"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    made["metaspace"] = data
    # T5's kind: the likeliest division.
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                                         normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    trained(t, trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False))
    made["unigram"] = save(t)
    # CLIP's: a mark at the end of a word, several splits in a row.
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.BPEDecoder("</w>")
    trained(t, trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made["clip"] = save(t)
    # BERT's.
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=50))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    trained(t, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    made["bert"] = save(t)
    # What is left: pieces that go on are marked, digits one by one, punctuation with what is before it.
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.Punctuation("merged_with_previous")])
    t.decoder = decoders.WordPiece(cleanup=False)
    trained(t, trainers.BpeTrainer(vocab_size=400, special_tokens=["[UNK]"], continuing_subword_prefix="##", show_progress=False))
    made["prefixed"] = save(t)
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("[a-z]"), "contiguous"),
        pre_tokenizers.Split("e", "merged_with_next"), pre_tokenizers.Digits()])
    trained(t, trainers.WordLevelTrainer(vocab_size=100, special_tokens=["[UNK]"], show_progress=False))
    made["words"] = save(t)
    return made


def random_texts():
    """Characters that Unicode 8 knows: later ones are classed by each library's own tables."""
    rng = random.Random(1)
    letters = [chr(c) for c in range(32, 127)] + list("\n\t\r \u00a0\u0301\u4e00\u3042\u0627\u05d0\u2581\u200d\ufe0f\u00ad\u0130é😀")
    ranges = [(0x20, 0x24f), (0x391, 0x3a1), (0x400, 0x44f), (0x905, 0x939), (0x3041, 0x3096), (0x4e00, 0x9fa5), (0xac00, 0xd7a3),
              (0x1f600, 0x1f640)]
    out = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 60))) for _ in range(300)]
    for _ in range(200):
        out.append("".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 40))))
    return out


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    cases = {"texts": TEXTS}
    for name, data in tokenizers().items():
        (folder / f"{name}.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")
        t = Tokenizer.from_str(json.dumps(data))
        ids = [t.encode(text).ids for text in TEXTS]
        cases[name] = [{"ids": each, "text": t.decode(each, skip_special_tokens=True)} for each in ids]
    (folder / "cases.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")


def check(bin_dir):
    texts = TEXTS + random_texts() + [page.read_text() for page in sorted((ROOT / "docs").glob("*.md"))]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for number, text in enumerate(texts):
            files.append(folder / f"{number:04}.txt")
            files[-1].write_bytes(text.encode())
        for name, data in tokenizers().items():
            (folder / f"{name}.json").write_text(json.dumps(data))
            t = Tokenizer.from_str(json.dumps(data))
            command = [f"{bin_dir}/plimsoll", "tokenize", "--tokenizer", str(folder / f"{name}.json"), "--special", "--ids"]
            done = subprocess.run(command + [str(file) for file in files], capture_output=True, text=True, check=True)
            ours = [[int(word) for word in line.split()] for line in done.stdout.split("\n")[:-1]]
            wrong = [text for text, ids in zip(texts, ours, strict=True) if t.encode(text).ids != ids]
            print(f"{name}: {sum(map(len, ours))} tokens of {len(texts)} texts, {len(wrong)} texts differ {wrong[:3]!r}")
            failed = failed or bool(wrong)
    return failed


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        sys.exit(check(sys.argv[2]))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]))
