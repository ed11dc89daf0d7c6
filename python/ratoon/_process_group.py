"""The process group of torch.distributed for the ranks of a session: made without an address, and ended when the world
changes, so that the next attempt of train() can make another one in the same process."""
import datetime
import threading

import torch
import torch.distributed

from ratoon._errors import RatoonError

_CANNOT_GO_ON = 81
_CONNECT_LIMIT_S = 5.0  # for a connect that was given up
_DESTROY_LIMIT_S = 10.0
_LOOK_S = 0.02
_TAG_OF_NO_MESSAGE = 0x7261746f


class _BoardStore(torch.distributed.Store):
    """The board of the attempt as a store of torch.distributed."""

    def __init__(self, board, limit: datetime.timedelta):
        super().__init__()
        self._board, self._limit = board, limit

    def set(self, key: str, value: bytes) -> None:
        self._ask(self._board.set, key, value)

    def get(self, key: str) -> bytes:
        return self.multi_get([key])[0]

    def multi_get(self, keys: list[str]) -> list[bytes]:
        return self._ask(self._board.get, keys, self._limit)

    def multi_set(self, keys: list[str], values: list[bytes]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def append(self, key: str, value: bytes) -> None:
        self._ask(self._board.append, key, value)

    def add(self, key: str, number: int) -> int:
        return int(self._ask(self._board.add, key, number))

    def check(self, keys: list[str]) -> bool:
        return self._ask(self._board.check, keys)

    def wait(self, keys: list[str], timeout: datetime.timedelta | None = None) -> None:
        self._ask(self._board.wait, keys, timeout or self._limit)

    def delete_key(self, key: str) -> bool:
        return self._ask(self._board.erase, key)

    def num_keys(self) -> int:
        return int(self._ask(self._board.count))

    def has_extended_api(self) -> bool:
        return True

    def clone(self) -> "_BoardStore":
        return self

    @staticmethod
    def _ask(call, *words):
        try:
            return call(*words)
        except RatoonError as error:
            raise torch.distributed.DistStoreError(str(error)) from error


class _Watch:
    """A thread that ends the waits of the group when the attempt is over: a collective waits for ranks that have left it,
    within PyTorch, which offers no way out."""

    def __init__(self, core, board):
        self._core, self._board = core, board
        self._thread = threading.Thread(target=self._run, name="ratoon.watch", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        if self._core.wait_for_end():
            self._board.give_up()
            _end_collectives()

    def end(self) -> None:
        self._core.stop_waiting()
        self._thread.join()


class _CallOnThread(threading.Thread):
    """Makes a call of torch.distributed that this process cannot end, on a thread of its own."""

    def __init__(self, call):
        super().__init__(name="ratoon.call", daemon=True)
        self._call = call
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.error = error


_store: torch.distributed.Store | None = None  # of the group: PyTorch does not keep the object of Python
_watch: _Watch | None = None
_stuck: _CallOnThread | None = None
_is_ours = False  # the group was made by init_process_group() in an attempt of train()


def init_process_group(session, backend: str = "gloo", timeout: datetime.timedelta | None = None) -> None:
    """Makes the process group of torch.distributed for the ranks of a session, which need no address of a master.

    Call it once on all ranks: after `with ratoon.Session(...)`, or at the beginning of the function of train(), where the
    session ends the group when the world changes. The ranks meet on rank 0's board, which takes only ranks that
    prove that they have the secret of the attempt. It is not encrypted.
    """
    global _is_ours, _store
    core, limit = session._core, timeout or datetime.timedelta(minutes=10)
    board = None if core.world_size == 1 else core.board_store()
    _store = torch.distributed.HashStore() if board is None else _BoardStore(board, limit)
    store = torch.distributed.PrefixStore(f"attempt {core.attempt}", _store)
    place = {"rank": core.rank, "world_size": core.world_size}

    def connect() -> None:
        # PyTorch's keys have the number of groups that this process has made, and a connection that failed
        # counts, too: a process that is new to the world would look for other keys.
        if not torch.distributed.is_initialized():
            torch.distributed.distributed_c10d._world.group_count = 0
        torch.distributed.init_process_group(backend, store=store, timeout=limit, **place)

    if not session._is_of_train or board is None or backend != "gloo":
        connect()
        _is_ours = session._is_of_train and (board is None or backend == "gloo")
        return
    with session._collective():
        _connect_watched(core, board, connect)


def _connect_watched(core, board, connect) -> None:
    global _watch, _stuck, _is_ours
    connecting = _CallOnThread(connect)
    try:
        while connecting.is_alive():
            core.check()
            connecting.join(_LOOK_S)
    except BaseException:
        board.give_up()
        connecting.join(_CONNECT_LIMIT_S)
        if connecting.is_alive():
            _stuck = connecting
        raise
    finally:
        _is_ours = torch.distributed.is_initialized()
    if connecting.error is not None:
        raise connecting.error
    _watch = _Watch(core, board)


def end_watch() -> None:
    """Before the session of an attempt is closed."""
    global _watch
    if _watch is not None:
        _watch.end()
        _watch = None


def leave() -> RatoonError | None:
    """Ends the group of an attempt that is over. Returns why this process cannot make another one, if it cannot."""
    global _is_ours
    if _stuck is not None and _stuck.is_alive():
        return RatoonError("the ranks were connecting when one of them was lost, and the call of torch.distributed does not "
                           "end: this process starts again", _CANNOT_GO_ON)
    if not torch.distributed.is_initialized():
        return None
    if not _is_ours:
        return RatoonError("the process group of torch.distributed cannot be made again in this process, because it was not "
                           "made by ratoon.torch.init_process_group(session) with Gloo: this process starts again",
                           _CANNOT_GO_ON)
    _is_ours = False
    _end_collectives()
    destroying = _CallOnThread(torch.distributed.destroy_process_group)
    destroying.join(_DESTROY_LIMIT_S)
    if destroying.is_alive() or torch.distributed.is_initialized():
        why = f": {destroying.error}" if destroying.error is not None else ""
        return RatoonError(f"the process group of torch.distributed does not end{why}; this process starts again", _CANNOT_GO_ON)
    return None


def _groups_of_gloo() -> list:
    world = torch.distributed.distributed_c10d._world
    return [group for group, (backend, _) in list(world.pg_map.items()) if "gloo" in backend and group.size() > 1]


def _end_collectives() -> None:
    """Gloo has no call that ends collectives. It closes all connections of a group, and what waits there fails, when a
    receive has waited for longer than it may. A receive from a rank whose connection is closed fails at once and closes
    nothing, so the receive is from any rank."""
    for group in _groups_of_gloo():
        try:
            nothing = torch.empty(1, dtype=torch.uint8)
            group.recv_anysource([nothing], _TAG_OF_NO_MESSAGE).wait(datetime.timedelta(milliseconds=1))
        except RuntimeError:
            pass  # the limit, as expected; or the connection had failed before
