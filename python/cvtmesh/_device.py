"""Arrays on CUDA devices, of PyTorch or CuPy, and the order of work on their streams.

The library works on a stream of its own. ``follow`` makes this stream wait for the work on the
caller's current stream; ``lead`` makes the caller's current stream wait for the library.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Callable, Iterator

from . import _core

CUDA, CUDA_MANAGED = 2, 13  # of DLPack
# Of PyTorch, by device. They are kept because PyTorch keeps free memory for each stream. A thread must
# not enqueue on a stream that another one records.
SIDE_STREAMS = threading.local()


def ordinal_of(array: Any) -> int | None:
    """The number of the CUDA device that holds an array; None for any other array."""
    if hasattr(array, "__dlpack_device__"):
        kind, ordinal = array.__dlpack_device__()
        return int(ordinal) if int(kind) in (CUDA, CUDA_MANAGED) else None
    if hasattr(array, "__cuda_array_interface__"):
        return int(adopt(array).device.id)
    return None


class Torch:
    def __init__(self, ordinal: int) -> None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        self.torch, self.device = torch, torch.device("cuda", ordinal)

    def __reduce__(self) -> tuple[Any, ...]:
        return Torch, (self.device.index,)

    def array(self, value: Any, dtype: str, name: str) -> Any:
        """A contiguous array on the device; an array elsewhere is copied."""
        array = self.torch.as_tensor(value, device=self.device).detach()
        if array.is_complex():
            raise TypeError(f"{name}: an array of dtype {array.dtype} holds no real numbers")
        return array.to(getattr(self.torch, dtype)).contiguous()

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=self.device)

    def view(self, exporter: Any) -> Any:
        """The array of another library as an array of this framework, not copied."""
        return self.torch.from_dlpack(exporter)

    def copy(self, array: Any) -> Any:
        return array.clone()

    def repeat(self, array: Any, times: int) -> Any:
        """Several copies of a vector, one after another."""
        return array.repeat(times)

    def assign(self, to: Any, value: Any) -> None:
        to.copy_(value)

    def is_double(self, value: Any) -> bool:
        """A tensor of doubles on the device, without history."""
        double = is_torch(value) and value.dtype == self.torch.float64
        return double and value.is_cuda and not value.requires_grad

    @contextlib.contextmanager
    def side_stream(self) -> Iterator[Callable[[Any], Any]]:
        """Works on a stream that can be recorded, between what the caller's stream does before and
        after. Yields a function for the tensors among the results."""
        current = self.torch.cuda.current_stream(self.device)
        streams = SIDE_STREAMS.__dict__
        if self.device.index not in streams:
            streams[self.device.index] = self.torch.cuda.Stream(self.device)
        side = streams[self.device.index]

        def keep(results: Any) -> Any:
            for each in results.values():
                if is_torch(each):
                    each.record_stream(current)
            return results

        side.wait_stream(current)
        try:
            with self.torch.cuda.stream(side):
                yield keep
        finally:
            current.wait_stream(side)

    def stream(self) -> int:
        """The caller's current stream."""
        return int(self.torch.cuda.current_stream(self.device).cuda_stream)

    def record(self, work: Callable[[], Any]) -> Any:
        """What `work` enqueues on the current stream as a CUDA graph, whose `replay` enqueues it."""
        graph = self.torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            work()
        except BaseException as error:
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            raise RuntimeError(f"graph: fun cannot be recorded as a CUDA graph: {error}") from error
        graph.capture_end()
        return graph

    def is_density(self, array: Any) -> bool:
        """True for a contiguous float32 array of two axes."""
        return bool(
            array.ndim == 2 and array.dtype == self.torch.float32 and array.is_contiguous()
        )

    def is_finite(self, array: Any) -> bool:
        return bool(self.torch.isfinite(array).all())

    def range(self, array: Any) -> tuple[float, float]:
        """The smallest and the largest value; NaN if a value is NaN."""
        low, high = self.torch.stack(self.torch.aminmax(array)).tolist()
        return low, high

    def largest(self, array: Any) -> list[float]:
        """The largest value of each column."""
        values: list[float] = array.amax(dim=0).tolist()
        return values

    def _streams(self, stream: int) -> tuple[Any, Any]:
        cuda = self.torch.cuda
        return cuda.ExternalStream(stream, device=self.device), cuda.current_stream(self.device)

    def follow(self, stream: int) -> None:
        library, current = self._streams(stream)
        library.wait_stream(current)

    def lead(self, stream: int) -> None:
        library, current = self._streams(stream)
        current.wait_stream(library)

    def synchronize(self) -> None:
        self.torch.cuda.current_stream(self.device).synchronize()


class CuPy:
    def __init__(self, ordinal: int) -> None:
        import cupy  # type: ignore[import-not-found, unused-ignore]

        self.cupy, self.device = cupy, cupy.cuda.Device(ordinal)

    def __reduce__(self) -> tuple[Any, ...]:
        return CuPy, (self.device.id,)

    def array(self, value: Any, dtype: str, name: str) -> Any:
        with self.device:
            array = self.cupy.asarray(value)
            if array.dtype.kind not in "fiub":
                raise TypeError(f"{name}: an array of dtype {array.dtype} holds no real numbers")
            return self.cupy.ascontiguousarray(array, dtype=dtype)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        with self.device:
            return self.cupy.empty(shape, dtype)

    def view(self, exporter: Any) -> Any:
        with self.device:
            return self.cupy.from_dlpack(exporter)

    def copy(self, array: Any) -> Any:
        with self.device:
            return array.copy()

    def repeat(self, array: Any, times: int) -> Any:
        with self.device:
            return self.cupy.tile(array, times)

    def assign(self, to: Any, value: Any) -> None:
        with self.device:
            to[...] = value

    def is_double(self, value: Any) -> bool:
        return isinstance(value, self.cupy.ndarray) and value.dtype == "float64"

    def stream(self) -> int:
        with self.device:
            return int(self.cupy.cuda.get_current_stream().ptr)

    def is_density(self, array: Any) -> bool:
        return bool(array.ndim == 2 and array.dtype == "float32" and array.flags.c_contiguous)

    def is_finite(self, array: Any) -> bool:
        with self.device:
            return bool(self.cupy.isfinite(array).all())

    def range(self, array: Any) -> tuple[float, float]:
        with self.device:
            return float(array.min()), float(array.max())

    def largest(self, array: Any) -> list[float]:
        with self.device:
            values: list[float] = array.max(axis=0).tolist()
            return values

    def follow(self, stream: int) -> None:
        cuda = self.cupy.cuda
        with self.device:
            event = cuda.Event(disable_timing=True)
            event.record(cuda.get_current_stream())
            cuda.runtime.streamWaitEvent(stream, event.ptr)

    def lead(self, stream: int) -> None:
        cuda = self.cupy.cuda
        with self.device:
            event = cuda.Event(disable_timing=True)
            event.record(cuda.ExternalStream(stream))
            cuda.get_current_stream().wait_event(event)

    def synchronize(self) -> None:
        with self.device:
            self.cupy.cuda.get_current_stream().synchronize()


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_jax(array: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def adopt(array: Any) -> Any:
    """An array on a device as an array of PyTorch or CuPy, not copied. Arrays of other libraries
    become CuPy's, or PyTorch's if CuPy is not installed."""
    if is_torch(array):
        return array
    try:
        import cupy
    except ImportError:
        import torch

        return torch.from_dlpack(array) if hasattr(array, "__dlpack__") else torch.as_tensor(array)
    if isinstance(array, cupy.ndarray) or not hasattr(array, "__dlpack__"):
        return cupy.asarray(array)
    return cupy.from_dlpack(array)


def framework_of(array: Any, ordinal: int) -> Torch | CuPy:
    """The framework of an array that `adopt` returned."""
    return Torch(ordinal) if is_torch(array) else CuPy(ordinal)


def on_device(image: Any, options: dict[str, Any]) -> Torch | CuPy | None:
    """The framework of an image on a CUDA device, if `device` allows this device; then sets
    `device`."""
    ordinal = ordinal_of(image)
    if ordinal is None or _core.cuda_devices() == 0:
        return None
    if options.get("device") not in (None, "auto", "cuda", f"cuda:{ordinal}"):
        return None
    options["device"] = f"cuda:{ordinal}"
    return framework_of(image, ordinal)
