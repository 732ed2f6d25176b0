# SPDX-License-Identifier: Apache-2.0
"""The real transformers reads our checkpoints and sharded exports, the real safetensors our files, and ours theirs.

Each checkpoint that --writer makes is loaded with AutoModelForCausalLM.from_pretrained; no weight may be missing or left
over, and the logits must be the ones that our engine computed. Random models that transformers saves are loaded by the
engine, which must compute the logits that transformers does.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"


def check_checkpoint(folder, checkpoint):
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    probe = load_file(folder / "probe.safetensors")
    model, info = AutoModelForCausalLM.from_pretrained(
        checkpoint, attn_implementation="eager", output_loading_info=True)
    problems = [f"{kind}: {info[kind]}" for kind in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[kind]]
    # transformers 5 keeps the file's dtype, 4 loads in fp32.
    model = model.to(probe["logits"].dtype).eval()
    with torch.no_grad():
        logits = model(probe["tokens"]).logits
    difference = (logits.double() - probe["logits"].double()).abs().max().item()
    scale = probe["logits"].double().abs().max().item()
    limit = 1e-5 if logits.dtype == torch.float32 else 0.05
    if not difference <= limit * scale:
        problems.append(f"logits differ by {difference:.3g} of {scale:.3g}")
    print(f"{folder.name}/{checkpoint.name}: {type(model).__name__}, {sum(p.numel() for p in model.parameters())} parameters, "
          f"logits differ by {difference:.2g} of {scale:.3g}")
    return [f"{folder.name}/{checkpoint.name}: {problem}" for problem in problems]


def check_sharded(writer, folder):
    subprocess.run([writer, "export", folder / "step-00000000", folder / "sharded", "20kB"], check=True)
    shards = len(list((folder / "sharded").glob("model-*.safetensors")))
    if shards < 3 or not (folder / "sharded/model.safetensors.index.json").exists():
        return [f"{folder.name}: the export has {shards} shards, or no index"]
    return check_checkpoint(folder, folder / "sharded")


def random_models():
    """(name, model, arguments of save_pretrained): each family whole and in shards, in each form that is written."""
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MistralConfig, MixtralConfig, Qwen2Config
    common = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                  max_position_embeddings=24, initializer_range=0.2)
    grouped = dict(common, num_key_value_heads=2)
    configs = {
        "gpt2": GPT2Config(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=24, initializer_range=0.2,
                           bos_token_id=None, eos_token_id=None),
        "llama": LlamaConfig(**common, rope_theta=123.0, rms_norm_eps=0.3),
        "llama-tied": LlamaConfig(**grouped, tie_word_embeddings=True, attention_bias=True, mlp_bias=True),
        "mistral": MistralConfig(**grouped, head_dim=6, sliding_window=None),
        # Up to the window, and up to max_position_embeddings, they compute what a model without them does.
        "mistral-window": MistralConfig(**grouped, sliding_window=20),
        "llama-dynamic": LlamaConfig(**common, rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 1e4}),
        "qwen2": Qwen2Config(**grouped),
        "qwen2-window": Qwen2Config(**grouped, use_sliding_window=True, sliding_window=20, max_window_layers=1),
        "mixtral": MixtralConfig(**grouped, num_local_experts=4, num_experts_per_tok=2),
    }
    forms = {"whole": {}, "sharded": {"max_shard_size": "10kB"}}
    fused = {"fused": {"save_original_format": False},
             "fused-sharded": {"save_original_format": False, "max_shard_size": "10kB"}}
    for name, config in configs.items():
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        for form, arguments in (forms | fused if name == "mixtral" else forms).items():
            yield f"{name}-{form}", model, arguments


def check_loading(writer, folder):
    import torch
    from safetensors.torch import load_file, save_file

    torch.manual_seed(3)
    problems, names = [], set()
    tokens = torch.randint(61, (2, 20))
    for name, model, arguments in random_models():
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:  # away from 0 and 1, where one could be left out unnoticed
                    parameter.add_(0.3 * torch.randn_like(parameter))
            expected = model(tokens).logits
        place = folder / name
        model.save_pretrained(place, **arguments)
        if ("sharded" in name) != (place / "model.safetensors.index.json").exists():
            problems.append(f"{name}: transformers wrote an index where none was wanted, or none")
        for file in place.glob("*.safetensors"):
            names |= set(load_file(file))
        save_file({"tokens": tokens}, place / "tokens.safetensors")
        done = subprocess.run([writer, "logits", place], capture_output=True, text=True)
        if done.returncode != 0:
            problems.append(f"{name}: {done.stderr.strip()}")
            continue
        logits = load_file(place / "logits.safetensors")["logits"]
        difference, scale = (logits - expected).abs().max().item(), expected.abs().max().item()
        print(f"{name} of transformers: logits differ by {difference:.2g} of {scale:.3g}")
        if logits.shape != expected.shape or not difference <= 1e-4 * scale:
            problems.append(f"{name}: logits differ by {difference:.3g} of {scale:.3g}")
    for needed in ("mlp.experts.gate_up_proj", "block_sparse_moe.experts.3.w1.weight"):
        if not any(name.endswith(needed) for name in names):
            problems.append(f"transformers wrote no {needed}: that form is untried")
    return problems


def check_safetensors(writer, folder):
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    def every(dtype):
        return torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype)

    tensors = {"bf16": every(torch.bfloat16), "fp16": every(torch.float16), "fp32": torch.randn(3, 4, 5),
               "fp64": torch.randn(7, dtype=torch.float64), "int64": torch.tensor([-2**63, 2**63 - 1]),
               "uint8": torch.arange(256, dtype=torch.uint8), "bool": torch.tensor([True, False]),
               "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3), "f8": every(torch.float8_e4m3fn),
               "ünicode": torch.ones(1, dtype=torch.int32), "complex": torch.randn(4, dtype=torch.complex64)}
    theirs, ours = folder / "theirs.safetensors", folder / "ours.safetensors"
    save_file(tensors, theirs, metadata={"format": "pt", "note": "é"})
    subprocess.run([writer, "copy", theirs, ours], check=True)
    problems = []
    back = load_file(ours)
    for name, tensor in tensors.items():
        same = (name in back and back[name].dtype == tensor.dtype and back[name].shape == tensor.shape
                and back[name].flatten().view(torch.uint8).equal(tensor.flatten().view(torch.uint8)))
        if not same:
            problems.append(f"safetensors: {name} came back changed")
    with safe_open(ours, "pt") as file:
        if file.metadata() != {"format": "pt", "note": "é"}:
            problems.append(f"safetensors: metadata came back as {file.metadata()}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", required=True, help="the write-checkpoints program")
    parser.add_argument("--python", required=True, help="interpreter with torch, transformers and safetensors")
    arguments = parser.parse_args()
    if pathlib.Path(sys.executable) != pathlib.Path(arguments.python):
        if not os.access(arguments.python, os.X_OK):
            sys.exit(f"{arguments.python} is missing: run packaging/setup --peers")
        os.execv(arguments.python, [arguments.python, *sys.argv])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.writer, folder], check=True)
        checkpoints = sorted(path for path in folder.iterdir() if path.is_dir())
        problems = [problem for path in checkpoints for problem in check_checkpoint(path, path / "step-00000000")]
        for name in ("llama-tied", "mixtral", "qwen2-bf16"):
            problems += check_sharded(arguments.writer, folder / name)
        problems += check_loading(arguments.writer, folder / "theirs")
        problems += check_safetensors(arguments.writer, folder)
    if len(checkpoints) < 5:
        problems.append(f"{arguments.writer} wrote {len(checkpoints)} checkpoints only")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
