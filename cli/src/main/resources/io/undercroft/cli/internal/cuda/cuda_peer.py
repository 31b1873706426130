"""Loads files to the first CUDA device with PyTorch and safetensors, as croft cuda-check asks for on standard input."""
import sys
import time


def say(*fields):
    print(*(str(field).replace("\n", " ").replace("\t", " ") for field in fields), sep="\t", flush=True)


try:
    import safetensors
    import safetensors.torch
    import torch
except ImportError as problem:
    say("no", problem)
    sys.exit()
if not torch.cuda.is_available():
    say("no", f"torch {torch.__version__} sees no CUDA device")
    sys.exit()

torch.zeros(1, device="cuda:0")
say("ok", f"torch {torch.__version__}", f"safetensors {safetensors.__version__}", torch.cuda.get_device_name(0))


def load(path):
    return torch.load(path, map_location="cuda:0", weights_only=True)


def load_mapped(path):
    state = torch.load(path, mmap=True, map_location="cpu", weights_only=True)
    return {name: tensor.to("cuda:0") for name, tensor in state.items()}


def load_safetensors(path):
    return safetensors.torch.load_file(path, device="cuda:0")


for line in sys.stdin:
    how, path = line.rstrip("\n").split("\t")
    try:
        torch.cuda.synchronize()
        start = time.perf_counter()
        state = {"load": load, "load_mapped": load_mapped, "load_safetensors": load_safetensors}[how](path)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        say("ok", seconds, sum(tensor.nbytes for tensor in state.values()))
        del state
        # What is cached is not free for the other process.
        torch.cuda.empty_cache()
    except Exception as problem:
        say("no", f"{type(problem).__name__}: {problem}")
