# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as the real PyTorch and DeepSpeed write them, each beside what it holds (expected.safetensors).

    write_checkpoints.py FOLDER [NAME...]           with sizes for check_checkpoints.py
    write_checkpoints.py --small FOLDER [NAME...]   a few hundred parameters each, as tests/oracles/checkpoints has them

Every kind is a function that gets an empty folder and gives the path that a person would name. One process a rank, on
gloo, where a kind needs ranks.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import socket
import sys

os.environ.update(DS_ACCELERATOR="cpu", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")


# Sizes that two ranks cannot halve, so that shards are uneven and padded.
SIZES = {"vocab_size": 61, "hidden_size": 20, "intermediate_size": 33}
SMALL_SIZES = {"vocab_size": 7, "hidden_size": 10, "intermediate_size": 7}


def is_small():
    """Ranks are processes of their own: the environment tells them."""
    return "PLIMSOLL_SMALL_CHECKPOINTS" in os.environ


def llama(tied=False):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(3)
    config = LlamaConfig(**(SMALL_SIZES if is_small() else SIZES), num_hidden_layers=2, num_attention_heads=5,
                         num_key_value_heads=5, max_position_embeddings=24, initializer_range=0.2, tie_word_embeddings=tied,
                         bos_token_id=1, eos_token_id=2, attn_implementation="eager")
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def expect(folder, tensors):
    from safetensors.torch import save_file
    save_file({name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()},
              folder / "expected.safetensors")


def one_step(model, optimizer, tokens=None):
    import torch
    tokens = torch.arange(40).view(2, 20) % model.config.vocab_size if tokens is None else tokens
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


# One process.

def bin_whole(folder):
    import torch
    model = llama(tied=True)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    expect(folder, model.state_dict())
    model.config.save_pretrained(folder)
    return folder


def bin_sharded(folder):
    import torch
    from huggingface_hub import split_torch_state_dict_into_shards
    model = llama()
    weights = model.state_dict()
    split = split_torch_state_dict_into_shards(weights, filename_pattern="pytorch_model{suffix}.bin", max_shard_size="1kB" if is_small() else "10kB")
    for file, names in split.filename_to_tensors.items():
        torch.save({name: weights[name] for name in names}, folder / file)
    index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    assert len(split.filename_to_tensors) > 3
    expect(folder, weights)
    model.config.save_pretrained(folder)
    return folder


def views_and_dtypes(folder):
    """Shared storage, offsets, strides, every dtype, parameters, tensors in dictionaries in dictionaries."""
    import torch
    base = torch.arange(60, dtype=torch.float32).view(6, 10)
    # A storage of its own for each, that no byte of another's serves in its place.
    kinds = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
             torch.bool, torch.float8_e4m3fn, torch.float8_e5m2]
    tensors = {"base": base, "transposed": base.t(), "part": base[2:5, 3:7], "every_third": base.flatten()[1::3],
               "scalar": torch.tensor(2.5), "empty": torch.empty(0, 7)}
    tensors |= {"of." + str(kind)[6:]: (torch.arange(-3, 9) % 7 - 2).to(torch.float32).to(kind) for kind in kinds}
    nested = {"model": {"part": torch.nn.Parameter(tensors["part"])} | {k: v for k, v in tensors.items() if k != "part"},
              "step": 7, "arguments": {"lr": 1e-3, "name": "run", "betas": (0.9, 0.95), "seeds": [1, 2**70, None]}}
    torch.save(nested, folder / "checkpoint.pt")
    expect(folder, {"model." + name: tensor for name, tensor in tensors.items()})
    return folder / "checkpoint.pt"


def without_checksums(folder):
    import torch
    model = llama()
    torch.serialization.set_crc32_options(False)
    torch.save(model.state_dict(), folder / "pytorch_model.bin", pickle_protocol=4)
    torch.serialization.set_crc32_options(True)
    expect(folder, model.state_dict())
    model.config.save_pretrained(folder)
    return folder


# Two processes.

def meta_names(model):
    """The model as torchtitan has it: Meta's names, and query and key rows in the order of their rotary pairs."""
    import torch
    names = {"model.embed_tokens.weight": "tok_embeddings.weight", "model.norm.weight": "norm.weight", "lm_head.weight": "output.weight"}
    parts = {"self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
             "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2",
             "mlp.up_proj": "feed_forward.w3", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm"}
    heads = model.config.num_attention_heads
    titan = {}
    for name, tensor in model.state_dict().items():
        renamed = names.get(name)
        if renamed is None:
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            renamed = f"layers.{layer}.{parts[part]}.weight"
            if part in ("self_attn.q_proj", "self_attn.k_proj"):
                rows, columns = tensor.shape
                tensor = tensor.view(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)
        titan[renamed] = tensor.detach().clone()
    return titan


def sharded(tensors, dim=0):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2,))
    return {name: distribute_tensor(tensor, mesh, [Shard(min(dim, tensor.dim() - 1))]) for name, tensor in tensors.items()}


def fsdp2(make_state):
    """dcp.save of a model sharded by FSDP2, after a step of AdamW."""
    def write(rank, folder):
        import torch
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
        from torch.distributed.fsdp import fully_shard
        model = llama()
        if rank == 0:
            model.config.save_pretrained(folder)
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        one_step(model, optimizer)
        dcp.save(make_state(get_model_state_dict(model), get_optimizer_state_dict(model, optimizer)), checkpoint_id=folder)
        whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        if rank == 0:
            expect(folder, whole)
    return write


def dcp_titan(rank, folder):
    import torch
    import torch.distributed.checkpoint as dcp
    model = llama()
    titan = sharded(meta_names(model))
    moments = {f"optimizer.state.{name}.exp_avg": tensor for name, tensor in titan.items()}
    dcp.save(titan | moments | {"train_state": {"step": torch.tensor(12, dtype=torch.int32)}}, checkpoint_id=folder)
    if rank == 0:
        model.config.save_pretrained(folder)
        expect(folder, model.state_dict())


def dcp_tensor_parallel(rank, folder):
    import torch.distributed.checkpoint as dcp
    model = llama()
    dcp.save({"state_dict": {"model": sharded(model.state_dict(), dim=1)}}, checkpoint_id=folder)
    if rank == 0:
        model.config.save_pretrained(folder)
        expect(folder, model.state_dict())


def deepspeed(stage, universal=False, dtype="fp32"):
    def write(rank, folder):
        import torch
        import deepspeed as ds
        model = llama()
        # Masters are fp32 also where the model is not.
        settings = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": stage},
                    "zero_force_ds_cpu_optimizer": False, "zero_allow_untested_optimizer": True}
        if dtype == "bf16":
            settings["bf16"] = {"enabled": True}
        if stage == 3:
            # Several sub-groups, so that a parameter's shard lies across two of them.
            settings["zero_optimization"] |= {"sub_group_size": 100 if is_small() else 1000, "stage3_param_persistence_threshold": 0}
        matrices = [p for p in model.parameters() if p.dim() > 1]
        vectors = [p for p in model.parameters() if p.dim() == 1]
        optimizer = torch.optim.AdamW([{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], lr=1e-2)
        config = model.config
        engine, *_ = ds.initialize(model=model, optimizer=optimizer, config=settings)
        for step in range(2):
            tokens = (torch.arange(20).view(1, 20) + rank + step) % config.vocab_size
            engine.backward(engine(tokens, labels=tokens).loss)
            engine.step()
        raw = folder / "raw" if universal else folder
        engine.save_checkpoint(raw)
        torch.distributed.barrier()
        if rank > 0:
            return
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
        config.save_pretrained(folder)
        expect(folder, get_fp32_state_dict_from_zero_checkpoint(str(raw)))
        if universal:
            from deepspeed.checkpoint.ds_to_universal import main
            from argparse import Namespace
            main(Namespace(input_folder=str(raw / "global_step2"), output_folder=str(folder / "global_step2_universal"),
                           num_extract_workers=1, num_merge_workers=1, keep_temp_folder=False, strict=True,
                           inject_missing_state=True))
            (folder / "latest_universal").write_text("global_step2_universal")
    return write


ONE = {"bin": bin_whole, "bin-sharded": bin_sharded, "views": views_and_dtypes, "no-checksums": without_checksums}
TWO = {
    "dcp": fsdp2(lambda model, optimizer: {"model": model, "optimizer": optimizer}),
    "dcp-module": fsdp2(lambda model, optimizer: {"module." + name: tensor for name, tensor in model.items()}),
    "dcp-hf": fsdp2(lambda model, optimizer: dict(model)),
    "dcp-titan": dcp_titan,
    "dcp-columns": dcp_tensor_parallel,
    "zero-1": deepspeed(1),
    "zero-2-bf16": deepspeed(2, dtype="bf16"),
    "zero-3": deepspeed(3),
    "universal-1": deepspeed(1, universal=True),
    "universal-3": deepspeed(3, universal=True),
}


def rank_main(rank, port, names, folder, report):
    import torch
    import torch.distributed as dist
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with (open(report, "a") if rank == 0 else io.StringIO()) as log, contextlib.redirect_stdout(log):
        for name in names:
            if rank == 0:
                (folder / name).mkdir()
            dist.barrier()
            TWO[name](rank, folder / name)
            dist.barrier()
    dist.destroy_process_group()


def write_all(folder, only=None):
    """Name -> path of each checkpoint."""
    import torch.multiprocessing as mp
    folder = pathlib.Path(folder)
    paths = {}
    for name, write in ONE.items():
        if only is None or name in only:
            (folder / name).mkdir()
            paths[name] = write(folder / name)
    two = [name for name in TWO if only is None or name in only]
    if two:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        mp.spawn(rank_main, args=(port, two, folder, folder / "log"), nprocs=2)
    return paths | {name: folder / name for name in two}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.small:
        os.environ["PLIMSOLL_SMALL_CHECKPOINTS"] = "1"
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, path in write_all(options.folder, options.names or None).items():
        print(f"{name}: {path}")


if __name__ == "__main__":
    main()
