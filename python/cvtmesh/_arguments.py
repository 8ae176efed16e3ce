"""Turns keywords into options of the program. The names, types, defaults and ranges are those of the
program's own table (``_core.options``), so that an option added there is a keyword here."""

from __future__ import annotations

import difflib
import functools
import inspect
import io
import json
import os
import textwrap
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterable, Mapping, Sequence, TypeVar

from . import _core
from ._device import adopt, ordinal_of
from ._left_out import LEFT_OUT, PROGRAM_ALONE

if TYPE_CHECKING:
    import numpy as np

    Input = tuple[str, bytes]
    Source = str | tuple[str, Any]  # a path, or an array with its name (`lent`)
    Part = float | Source
    Value = bool | int | float | str | tuple[Part, ...]

F = TypeVar("F", bound=Callable[..., Any])


@functools.lru_cache(maxsize=None)
def table(command: str) -> dict[str, dict[str, Any]]:
    """The options of a command by their keywords."""
    rows = _core.options(command)
    return {
        row["name"].replace("-", "_"): row for row in rows if row["name"] not in PROGRAM_ALONE
    }


def host_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """A NumPy array in C order, without a copy if possible. Arrays on a device are copied to the
    host."""
    import numpy as np

    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu().numpy()
    elif hasattr(value, "__cuda_array_interface__"):
        if not hasattr(value, "get"):  # not CuPy
            return host_array(adopt(value), name)
        value = value.get()
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value) if ordinal_of(value) is None else np.asarray(value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        place = np.argwhere(np.ma.getmaskarray(value))[0].tolist()
        raise ValueError(f"{name}{place} is masked")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name}: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: an array of dtype {array.dtype} holds no real numbers")
    if array.dtype == np.longdouble:
        array = array.astype(np.float64)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def refuse_infinite(array: np.ndarray[Any, Any], name: str) -> None:
    import numpy as np

    finite = np.isfinite(array)
    if not finite.all():
        row, axis = map(int, np.argwhere(~finite)[0])
        raise ValueError(f"{name}[{row}, {axis}] is {array[row, axis]}")


def points_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Points as float64 of shape (n, 2)."""
    import numpy as np

    array = np.ascontiguousarray(host_array(value, name), dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name}: shape {array.shape} is not (n, 2)")
    if len(array) == 0:
        raise ValueError(f"{name}: there is no point")
    refuse_infinite(array, name)
    return array


def check_callback(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: {type(callback).__name__} is not callable")


def is_array(value: Any) -> bool:
    names = ("__array_interface__", "__cuda_array_interface__", "__dlpack__", "__array__")
    return any(hasattr(value, name) for name in names)


def lent(value: Any, name: str) -> tuple[str, Any]:
    """A name and an array in the form for the library: kind and bytes of an element, shape, and an
    object with a buffer or, for an empty array, None."""
    import numpy as np

    array = host_array(value, name)
    if name in ("init", "fixed") and array.ndim == 2:
        refuse_infinite(array, name)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    # An empty array has no buffer; a buffer of a single axis is never refused.
    memory = array.reshape(-1).data if array.size else None
    return name, (array.dtype.kind, array.itemsize, array.shape, memory)


def as_polygons(rings: Any, name: str) -> Input:
    """Rings of points (n, 2), by the even-odd rule, as a GeoJSON file in memory."""
    rings = [rings] if is_array(rings) else rings
    coordinates = [points_array(ring, f"{name}[{k}]").tolist() for k, ring in enumerate(rings)]
    closed = [ring if ring[0] == ring[-1] else [*ring, ring[0]] for ring in coordinates]
    text = json.dumps({"type": "Polygon", "coordinates": closed})
    return f"<{name}>.geojson", text.encode()


def operand(value: Any, name: str, inputs: list[Input]) -> Source:
    """As `file`, but a path must exist."""
    path = file(value, name, inputs)
    if isinstance(path, str) and not path.startswith("<") and path != "-":
        os.stat(path)  # raises FileNotFoundError
    return path


def on_disk(path: str, name: str) -> str:
    """The caller's path, changed if it could name a file in memory: such names begin with `<`."""
    if "\0" in path:
        raise ValueError(f"{name}: embedded null character")
    return f"./{path}" if path.startswith("<") else path


def file(value: Any, name: str, inputs: list[Input]) -> Source:
    """An array as `lent`, or the path of a file. The file may be in memory and is then added to
    `inputs`: bytes become a file of any format, a sparse matrix a Matrix Market file, a PIL image a
    PNG file."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if not isinstance(path, str):
            raise TypeError(f"{name}: a path of bytes is not supported")
        return on_disk(path, name)
    if isinstance(value, (bytes, bytearray)):
        inputs.append((f"<{name}>", bytes(value)))
    elif hasattr(value, "save") and hasattr(value, "mode"):
        png = io.BytesIO()
        value.save(png, "png")
        inputs.append((f"<{name}>", png.getvalue()))
    elif hasattr(value, "tocsr"):
        import scipy.io  # type: ignore[import-untyped, unused-ignore]

        market = io.BytesIO()
        scipy.io.mmwrite(market, value)
        inputs.append((f"<{name}>.mtx", market.getvalue()))
    elif is_array(value) or isinstance(value, (list, tuple)):
        if name != "polygon":
            return lent(value, name)
        inputs.append(as_polygons(value, name))
    else:
        raise TypeError(f"{name}: {type(value).__name__} is neither a path nor an array")
    return inputs[-1][0]


def output_path(value: Any, name: str) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: {type(value).__name__} is not a path")
    return str(file(value, name, []))


def part(value: Any) -> float | str:
    """A word or a real number; TypeError or ValueError for anything else."""
    if isinstance(value, str) and "\0" not in value:
        return value
    if isinstance(value, (str, bytes, bool)):
        raise TypeError
    return float(value)


def parts(value: Any) -> tuple[float | str, ...] | None:
    """The numbers and words of a sequence, or one number; None for any other value."""
    sequence = isinstance(value, (tuple, list))
    if not sequence and isinstance(value, str):
        return None
    try:
        return tuple(map(part, value if sequence else [value]))
    except (TypeError, ValueError):
        return None


def item(row: dict[str, Any], value: Any, name: str, inputs: list[Input]) -> Value:
    """A text, numbers and words, or a source, perhaps with its kind."""
    if "KIND" in (row["argument"] or "") and isinstance(value, tuple):
        kind, source = value if len(value) == 2 else (None, None)
        if not isinstance(kind, str):
            raise TypeError(f"{name}: {value!r} is not a pair of a kind and a file")
        return kind, file(source, kind, inputs)
    found = None
    if is_array(value) and not row["reads"]:
        value = host_array(value, name).tolist()
    if not is_array(value) and (not row["reads"] or row["argument"] in ("WHAT", "W", "INKS")):
        found = parts(value)
    if found is not None:
        return found
    source = file(value, name, inputs)
    return source if isinstance(source, str) else (source,)


def weighted(row: dict[str, Any], value: Any, name: str, inputs: list[Input]) -> Value:
    """A region and its factor."""
    if isinstance(value, str):
        return on_disk(value, name)
    try:
        region, factor = value
        factor = float(factor)
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise TypeError(f"{name}: {kind} is not a pair of a region and its factor") from None
    if not 0 <= factor < float("inf"):
        raise ValueError(f"{name}: the factor {factor} is not finite and at least 0")
    return file(region, name, inputs), factor


def is_one(value: tuple[Any, ...]) -> bool:
    """True if a tuple is one value with parts, such as (32, 32, 4) or (1, "plate")."""
    found = parts(value)
    return found is not None and not all(isinstance(each, str) for each in found)


def items(row: dict[str, Any], name: str, value: Any, inputs: list[Input]) -> list[Value]:
    """The values of a list option: one value, or a sequence; a dict is a sequence of pairs."""
    pairs = row["argument"] == "FILE=FACTOR"
    if isinstance(value, Mapping):
        value = list(value.items())
    if is_array(value) and not (row["reads"] or row["writes"]):
        value = host_array(value, name).tolist()  # numbers
    single = isinstance(value, (str, bytes)) or is_array(value) or not isinstance(value, Sequence)
    if single or (isinstance(value, tuple) and (pairs or is_one(value))):
        value = [value]
    names = [name if len(value) == 1 else f"{name}[{k}]" for k in range(len(value))]
    if row["writes"]:
        return [output_path(each, own) for each, own in zip(value, names)]
    make = weighted if pairs else item
    return [make(row, each, own, inputs) for each, own in zip(value, names)]


def typed(row: dict[str, Any], name: str, value: Any, inputs: list[Input]) -> list[Value]:
    """The values of an option in the type of its field: one value, or those of a list."""
    kind = row["type"]
    if kind == "switch":
        kind = "choice" if isinstance(value, str) else "flag"
    if kind == "flag":
        if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
            raise TypeError(f"{name}: {value!r} is neither True nor False")
        return [bool(value)]
    if kind == "integer" and isinstance(value, str) and "|" in row["argument"]:  # -n 2h
        return [value]
    if kind in ("integer", "real"):
        try:
            if isinstance(value, (str, bytes, bool)):
                raise TypeError
            given = index(value) if kind == "integer" else float(value)
        except (TypeError, ValueError):
            what = "an integer" if kind == "integer" else "a number"
            raise TypeError(f"{name}: {value!r} is not {what}") from None
        if kind == "integer" and given.bit_length() > 63:  # type: ignore[union-attr]
            raise ValueError(f"{name}: {given} is beyond 64 bits")
        return [given]
    if kind == "choice":
        if not isinstance(value, str) or "\0" in value:
            raise TypeError(f"{name}: {value!r} is not one of {', '.join(row['choices'])}")
        return [value]
    if kind == "list":
        return items(row, name, value, inputs)
    if row["writes"]:
        return [output_path(value, name)]
    return [item(row, value, name, inputs)]


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"there is no option {name!r}{hint}")


def convert(command: str, options: Mapping[str, Any]) -> tuple[list[tuple[str, Value]], list[Input]]:
    """The options by keywords, and the files in memory that these name. A value None: the
    default."""
    rows = table(command)
    values: list[tuple[str, Value]] = []
    inputs: list[Input] = []
    refuse_unknown(options, rows)
    for name, value in options.items():
        if value is not None:
            values += [(name, each) for each in typed(rows[name], name, value, inputs)]
    return values, inputs


# --- signatures and docstrings --------------------------------------------------------------------


def kind_of(row: dict[str, Any]) -> str:
    names = {"flag": "bool", "integer": "int", "real": "float", "list": "list"}
    if row["type"] in ("choice", "switch"):
        return ("bool or " if row["type"] == "switch" else "") + "{" + ", ".join(map(repr, row["choices"])) + "}"
    if row["type"] == "integer" and "|" in row["argument"]:
        return "int or str"
    return names.get(row["type"], "str") + (" or array" if row["reads"] else "")


def describe(rows: Mapping[str, dict[str, Any]]) -> str:
    lines = []
    for name, row in rows.items():
        default = row["default"] if row["default"] != () else None
        lines.append(f"{name} : {kind_of(row)}, default {default!r}")
        lines.append(textwrap.indent(" ".join(row["help"].split()), "    "))
    return "\n".join(lines)


def with_options(command: str, **defaults: str) -> Callable[[F], F]:
    """Gives a function the options of a command, in its signature in place of ``**options``, in its
    docstring in place of the line ``{options}``. Other keywords are refused. `defaults` are those
    of the function that differ from the program's."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {p.name for p in own}
        left_out = taken | LEFT_OUT[command]
        rows = {k: dict(v) for k, v in table(command).items() if k not in left_out}
        for name, value in defaults.items():
            rows[name]["default"] = value
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=row["default"])
            for name, row in rows.items()
        ]
        known = taken | rows.keys()

        @functools.wraps(function)
        def checked(*arguments: Any, **given: Any) -> Any:
            refuse_unknown(given, known)
            return function(*arguments, **given)

        checked.__signature__ = signature.replace(parameters=own + keywords)  # type: ignore[attr-defined]
        text = inspect.cleandoc(function.__doc__ or "")
        checked.__doc__ = text.replace("{options}", describe(rows))
        return checked  # type: ignore[return-value]

    return decorate
