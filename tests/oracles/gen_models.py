# SPDX-License-Identifier: Apache-2.0
"""Writes models/ anew: tiny models that the real transformers saved, with their logits, and adapters that the real PEFT
saved, with their logits and the losses of a few steps of torch's AdamW.

    gen_models.py [--out DIR]

models/NAME/ holds config.json, model.safetensors and oracle.safetensors (tokens, logits). models/NAME/ADAPTER/ holds
PEFT's adapter_config.json and adapter_model.safetensors, and oracle.safetensors (tokens [step, row, place], logits
before and after the steps, losses). Written with the packages of packaging/requirements-deepspeed.txt.
"""
import argparse
import json
import os
import pathlib

os.environ["HF_HUB_OFFLINE"] = "1"
VOCABULARY, STEPS = 29, 4


def configs():
    from transformers import GPT2Config, LlamaConfig, MistralConfig, MixtralConfig, Qwen2Config

    common = dict(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                  max_position_embeddings=24, initializer_range=0.2, bos_token_id=None, eos_token_id=None)
    grouped = dict(common, num_key_value_heads=2)
    return {
        "gpt2": GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=4, n_positions=24, initializer_range=0.2,
                           bos_token_id=None, eos_token_id=None, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
        "llama": LlamaConfig(**common, rope_theta=123.0, rms_norm_eps=0.3),
        "llama-tied": LlamaConfig(**grouped, tie_word_embeddings=True, attention_bias=True, mlp_bias=True),
        "mistral": MistralConfig(**grouped, head_dim=6, sliding_window=None),
        "qwen2": Qwen2Config(**grouped),
        "mixtral": MixtralConfig(**grouped, num_local_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.0),
    }


def adapters():
    """By model: PEFT's settings. Each family, each way of naming matrices, each scale."""
    from peft import LoraConfig

    lora = dict(task_type="CAUSAL_LM", init_lora_weights=False)  # B is not 0 then
    return {
        "llama": LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", **lora),
        "qwen2": LoraConfig(r=4, lora_alpha=2, use_rslora=True, target_modules=["k_proj", "o_proj", "up_proj"], **lora),
        "gpt2": LoraConfig(r=2, lora_alpha=2, target_modules=["c_attn", "attn.c_proj"], fan_in_fan_out=True, **lora),
        "mixtral": LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], **lora),
    }


def write_model(folder, name, config):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # away from 0 and 1, where one could be left out unnoticed
                parameter.add_(0.3 * torch.randn_like(parameter))
        model.name_or_path = model.config.name_or_path = name
        model.save_pretrained(folder)
        tokens = torch.randint(VOCABULARY, (2, 20))
        save_file({"tokens": tokens, "logits": model(tokens).logits}, folder / "oracle.safetensors")
    for file in folder.glob("generation_config.json"):
        file.unlink()
    return model


def losses_of(model, tokens):
    import torch

    chosen = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(chosen, lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    losses = []
    for batch in tokens:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch[:, :-1]).logits.flatten(0, 1), batch[:, 1:].flatten())
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return torch.tensor(losses, dtype=torch.double)


def write_adapter(folder, model, lora):
    import torch
    from peft import get_peft_model
    from safetensors.torch import save_file

    adapted = get_peft_model(model, lora).eval()
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["target_modules"].sort()  # a set, in an order of its own each time
    (folder / "adapter_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    tokens = torch.randint(VOCABULARY, (STEPS, 2, 17))
    with torch.no_grad():
        before = adapted(tokens[0][:, :-1]).logits
    losses = losses_of(adapted, tokens)
    with torch.no_grad():
        after = adapted(tokens[0][:, :-1]).logits
    save_file({"tokens": tokens, "before": before, "losses": losses, "after": after}, folder / "oracle.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "models")
    options = parser.parse_args()
    chosen = adapters()
    for name, config in configs().items():
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        model = write_model(folder, name, config)
        if name in chosen:
            write_adapter(folder / "adapter", model, chosen[name])
        print(f"{name}: {sum(parameter.numel() for parameter in model.parameters())} parameters")


if __name__ == "__main__":
    main()
