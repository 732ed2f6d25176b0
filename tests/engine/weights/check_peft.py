# SPDX-License-Identifier: Apache-2.0
"""The real PEFT and ours: adapters that PEFT made give the same logits and losses in the engine, and go on training as
under torch's AdamW; the checkpoint loads with PeftModel.from_pretrained, the merged model with from_pretrained.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
STEPS = 5


def cases():
    """(name, model, LoraConfig): each family, each way of naming matrices, each scale."""
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MixtralConfig, Qwen2Config
    common = dict(vocab_size=61, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                  max_position_embeddings=24, initializer_range=0.2, num_key_value_heads=2)
    llama = LlamaConfig(**common)
    qwen = Qwen2Config(**common, tie_word_embeddings=True)
    gpt2 = GPT2Config(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=24, initializer_range=0.2,
                      bos_token_id=None, eos_token_id=None, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    mixtral = MixtralConfig(**common, num_local_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.0)
    lora = dict(task_type="CAUSAL_LM", init_lora_weights=False)  # B is not 0 then
    return {
        "llama-all": (llama, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", **lora)),
        "llama-qv": (llama, LoraConfig(r=2, lora_alpha=3.5, target_modules=["q_proj", "v_proj"], **lora)),
        "qwen2-rslora": (qwen, LoraConfig(r=4, lora_alpha=2, use_rslora=True, target_modules=["k_proj", "o_proj", "up_proj",
                                                                                              "down_proj"], **lora)),
        "gpt2": (gpt2, LoraConfig(r=4, lora_alpha=4, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True, **lora)),
        "gpt2-fc": (gpt2, LoraConfig(r=4, lora_alpha=4, target_modules=["c_fc", "attn.c_proj"], fan_in_fan_out=True,
                                     **lora)),
        "mixtral": (mixtral, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
                                        **lora)),
    }, AutoModelForCausalLM


def trained(model, tokens):
    import torch
    chosen = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(chosen, lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses = []
    for batch in tokens:
        optimizer.zero_grad()
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


def check(program, folder, name, config, lora, auto):
    import torch
    from peft import PeftModel, get_peft_model
    from safetensors.torch import load_file, save_file

    def difference(a, b):
        return ((a - b).abs().max() / b.abs().max()).item()

    torch.manual_seed(3)
    base = auto.from_config(config, attn_implementation="eager").eval()
    base.save_pretrained(folder / "base")
    model = get_peft_model(base, lora).eval()
    model.save_pretrained(folder / "adapter")
    tokens = torch.randint(61, (STEPS, 2, 17))
    save_file({"tokens": tokens}, folder / "tokens.safetensors")
    with torch.no_grad():
        before = model(tokens[0][:, :-1]).logits
    subprocess.run([program, folder / "base", folder / "adapter", folder / "tokens.safetensors", folder / "out"], check=True)
    losses = trained(model, tokens)
    with torch.no_grad():
        after = model(tokens[0][:, :-1]).logits
    probe = load_file(folder / "out/probe.safetensors")
    differences = {
        "logits before": difference(probe["before"], before),
        "losses": difference(probe["losses"], torch.tensor(losses, dtype=torch.double)),
        "logits after": difference(probe["after"], after),
    }
    fresh = auto.from_pretrained(folder / "base", attn_implementation="eager").eval()
    checkpoint = PeftModel.from_pretrained(fresh, folder / f"out/step-{STEPS:08d}").eval()
    merged = auto.from_pretrained(folder / "out/merged", attn_implementation="eager").eval()
    with torch.no_grad():
        differences["checkpoint in PEFT"] = difference(checkpoint(tokens[0][:, :-1]).logits, probe["after"])
        differences["merged"] = difference(merged(tokens[0][:, :-1]).logits, probe["after"])
        alone = auto.from_pretrained(folder / "base", attn_implementation="eager").eval()
        plain = difference(alone(tokens[0][:, :-1]).logits, probe["after"])
    print(f"{name}: " + ", ".join(f"{what} {value:.2g}" for what, value in differences.items()) +
          f"; the base alone {plain:.2g}")
    limits = {"logits after": 2e-4}
    problems = [f"{name}: {what} differ by {value:.3g}" for what, value in differences.items()
                if not value <= limits.get(what, 2e-5)]
    if plain < 0.01:
        problems.append(f"{name}: the adapter does nothing")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", required=True)
    options = parser.parse_args()
    if pathlib.Path(sys.executable) != pathlib.Path(options.python):
        if not os.access(options.python, os.X_OK):
            sys.exit(f"{options.python} is missing: run packaging/setup --peers")
        os.execv(options.python, [options.python, *sys.argv])
    all_cases, auto = cases()
    problems = []
    for name, (config, lora) in all_cases.items():
        with tempfile.TemporaryDirectory() as folder:
            problems += check(options.program, pathlib.Path(folder), name, config, lora, auto)
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
