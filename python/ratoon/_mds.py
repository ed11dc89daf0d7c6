"""Data sets in the format of MosaicML Streaming."""
import decimal
import json
import operator
import os
import struct
from collections.abc import Iterator, Mapping, Sequence

from ratoon import _core
from ratoon._errors import RatoonError
from ratoon._store import StoreOptions
from ratoon._tensor import describe, make_array

_WHOLE = {"int", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"}
_FLOAT = {"float16", "float32", "float64"}
_WRITTEN = {"str", "str_int", "str_float", "str_decimal"}
_FROM_TEXT = {"json": json.loads, "str_int": int, "str_float": float, "str_decimal": decimal.Decimal}


def _value_of(value, from_text=None):
    if isinstance(value, tuple):
        dtype, shape, data = value
        return make_array(dtype, shape, data) if shape else struct.unpack("<e", data)[0]  # float16, a number alone
    if isinstance(value, list):
        return [_value_of(element) for element in value]
    return from_text(value) if from_text else value


class MdsDataset(Sequence):
    """Shards of MosaicML Streaming (MDS), in a folder, on a web server or in an S3-compatible store.

    >>> import tempfile, ratoon
    >>> folder = tempfile.mkdtemp()
    >>> with ratoon.MdsWriter(folder, {"text": "str", "label": "int"}) as writer:
    ...     for number in range(3):
    ...         writer.write({"text": f"number {number}", "label": number})
    >>> data = ratoon.MdsDataset(folder)
    >>> len(data), data[2]
    (3, {'label': 2, 'text': 'number 2'})

    Numbers become int and float, texts str, json what it says, arrays numpy arrays (without numpy a memoryview), all
    else bytes. What is read is a copy: it stays when the data set goes. Columns of pickles are refused.

    `uri` is a place or several, the samples of each behind those of the one before. A forked child opens the data set
    anew when it first reads; pickled for another process, it is opened there, with the attributes of a subclass. A
    subclass may override __getitem__(), or __getitems__() for several samples at once: loaders and the other method then
    use the override.
    """

    def __init__(self, uri: "str | os.PathLike | Sequence[str | os.PathLike]", *, split: str = "",
                 cache_folder: "str | os.PathLike" = "", cache_bytes_max: int = 0, fetch_threads: int = 4,
                 verifies_local_files: bool = True, maps_files: bool = True, memory_bytes_max: int = 2 << 30,
                 store: StoreOptions | None = None):
        uris = [uri] if isinstance(uri, (str, os.PathLike)) else list(uri)
        self._arguments = {"split": split, "cache_folder": os.fspath(cache_folder), "cache_bytes_max": cache_bytes_max,
                           "fetch_threads": fetch_threads, "verifies_local_files": verifies_local_files,
                           "maps_files": maps_files, "memory_bytes_max": memory_bytes_max, "store": store}
        self._uris = [os.fspath(one) for one in uris]
        self._open()

    def _open(self):
        self._shards = _core.Shards(self._uris, **self._arguments)
        self._size = self._shards.size()
        self._columns = dict(self._shards.columns())
        self._from_text = [_FROM_TEXT.get(encoding) for encoding in self._columns.values()]

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_shards"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> dict:
        is_slice = isinstance(index, slice)
        indices = range(*index.indices(self._size)) if is_slice else [index]
        # An override of __getitem__() that calls this one wants the sample as it was written.
        samples = self._samples_at(indices) if self._overrides("__getitem__") else self.__getitems__(indices)
        return samples if is_slice else samples[0]

    def __getitems__(self, indices: "Sequence[int]") -> list[dict]:
        """Several samples in one call, which is what torch's DataLoader asks for."""
        if self._overrides("__getitem__") and not self._overrides("__getitems__"):
            return [self[index] for index in indices]
        return self._samples_at(indices)

    def _overrides(self, method: str) -> bool:
        """Whether the class of this data set is a subclass with a method of its own."""
        return getattr(type(self), method) is not getattr(MdsDataset, method)

    def _samples_at(self, indices: "Sequence[int]") -> list[dict]:
        ids = [self._id_of(index) for index in indices]
        return [self._sample_of(id, row) for id, row in zip(ids, self._shards.read(ids))]

    def _sample_of(self, id: int, row: list) -> dict:
        sample = {}
        for name, value, from_text in zip(self._columns, row, self._from_text):
            try:
                sample[name] = _value_of(value, from_text)
            except (ValueError, ArithmeticError) as error:
                raise RatoonError(f"sample {id}: column '{name}' is encoded as {self._columns[name]}, and its text is "
                                  f"none: {error}", 84) from error
        return sample

    def _id_of(self, index) -> int:
        number = operator.index(index)
        if not -self._size <= number < self._size:
            raise IndexError(f"there is no sample {number}: the data set has {self._size}")
        return number if number >= 0 else number + self._size

    def __iter__(self) -> Iterator[dict]:
        return (self[index] for index in range(self._size))

    @property
    def columns(self) -> dict[str, str]:
        """The names of the columns and what each is encoded as, in Streaming's words."""
        return dict(self._columns)

    @property
    def digest(self) -> str:
        """Names the content, never the place."""
        return self._shards.digest()

    @property
    def shard_sizes(self) -> list[int]:
        """Samples of each shard."""
        return self._shards.shard_sizes()

    def source(self, weight: float = 1) -> "_core.Source":
        """What a Stream has to know of it; the digest is the name, so that a run goes on over the same data only."""
        return _core.Source(self.digest, self._size, weight=weight, shards=self.shard_sizes)

    def expect(self, indices: "Sequence[int]") -> None:
        """A hint that these are read next, in this order: what lies elsewhere is fetched."""
        self._shards.expect([self._id_of(index) for index in indices])

    def expect_no_more(self, indices: "Sequence[int]") -> None:
        """Takes the hint of one expect() with these very indices back."""
        self._shards.expect_no_more([self._id_of(index) for index in indices])

    def __repr__(self) -> str:
        return f"MdsDataset({', '.join(self._uris)}: {self._size} samples)"


def _field_of(value):
    return bytes(value) if isinstance(value, (bytes, bytearray)) else describe(value)


def _encoded(column: str, encoding: str, value):
    if encoding in _WHOLE:
        return operator.index(value)
    if encoding in _FLOAT:
        return float(value)
    if encoding == "json":
        return json.dumps(value)
    if encoding == "str" and not isinstance(value, str):
        raise RatoonError(f"column '{column}' takes a str, and was given a {type(value).__name__}")
    if encoding in _WRITTEN:
        return str(value)
    if encoding.startswith("list[") or encoding in ("jpeg_array", "jpegarray"):
        return [_field_of(element) for element in value]
    return _field_of(value)


class MdsWriter:
    """A folder of shards in MDS format. The same samples give the same bytes that Streaming's writer makes of them.

    A shard appears whole or not at all, and the index comes last, at the end of the with statement: a folder without
    index.json was not finished, and a new writer begins it anew. An example is at MdsDataset.

    `columns` names the columns and their encodings: "int", "str", "bytes", "json", "jpeg", "ndarray:float32:28,28" and
    others (docs/reference/mds.md). `compression` is "br", "bz2", "gz", "snappy" or "zstd", with a level as in "zstd:7".
    `hashes`, such as ["xxh3_128"], go into the index; MdsDataset checks them.
    """

    def __init__(self, folder: "str | os.PathLike", columns: Mapping[str, str], *, compression: str = "",
                 hashes: Sequence[str] = (), size_limit_bytes: int = 1 << 26):
        self._columns = dict(columns)
        self._writer = _core.ShardWriter(os.fspath(folder), list(self._columns.items()), compression=compression,
                                         hashes=list(hashes), size_limit_bytes=size_limit_bytes)

    def write(self, sample: Mapping[str, object]) -> None:
        """One value for each column, in any order."""
        values = []
        for column, value in sample.items():
            encoding = self._columns.get(column)
            if encoding is None:
                raise RatoonError(f"there is no column '{column}': there are {', '.join(self._columns)}")
            try:
                values.append((column, _encoded(column, encoding, value)))
            except (TypeError, ValueError, BufferError) as error:
                raise RatoonError(f"column '{column}' is encoded as {encoding} and cannot take a "
                                  f"{type(value).__name__}: {error}") from error
        self._writer.write(values)

    def finish(self) -> None:
        """Writes the last shard and the index: only now there is a data set."""
        self._writer.finish()

    def __enter__(self) -> "MdsWriter":
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self.finish()
